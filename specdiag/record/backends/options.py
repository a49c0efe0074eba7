"""Options of a backend, as words of a command line."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from specdiag.errors import UsageError


def only(options: Mapping[str, str], backend: str, *names: str) -> None:
    """UsageError for an option that the backend does not have."""
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise UsageError(f"{backend}: no option {', '.join(unknown)}", f"It has {', '.join(names)}.")


def number(options: Mapping[str, str], key: str, default: int, least: int, most: int) -> int:
    """A whole number."""
    text = options.get(key, str(default))
    if not text.isdecimal() or not least <= int(text) <= most:
        raise UsageError(f"{key}={text}: not possible", f"Give a whole number from {least} to {most}.")
    return int(text)


def sha256(paths: Iterable[Path]) -> str:
    """Of the bytes of these files, one behind the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                digest.update(part)
    return digest.hexdigest()


def common(left: Iterable[int], right: Iterable[int]) -> int:
    """Length of the common prefix."""
    length = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        length += 1
    return length
