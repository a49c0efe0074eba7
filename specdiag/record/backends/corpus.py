"""Text that every Python brings along: the modules of its standard library, the language reference in its help, its licence.

Every 17th text is held out: models do not see it, prompts come from it.
"""

from __future__ import annotations

import hashlib
import re
import sysconfig
from functools import cache
from pathlib import Path

from specdiag.errors import UsageError, shown
from specdiag.record.lines import Prompt

HELD_OUT_EVERY = 17
_OTHERS = ("LICENSE.txt", "pydoc_data/topics.py")
_PROMPT_BYTES = 240
_MOST = 24_000  # characters of one text: enough for models that are trained in seconds


@cache
def texts() -> tuple[tuple[str, str], ...]:
    """Name and content of every text, by name; the order does not depend on the file system."""
    root = Path(sysconfig.get_path("stdlib"))
    names = sorted({path.name for path in root.glob("*.py")} | {name for name in _OTHERS if (root / name).is_file()})
    if len(names) < 2 * HELD_OUT_EVERY:
        raise UsageError(
            "this Python has no sources of its standard library to train on", "Use a Python that brings its .py files."
        )
    return tuple((name, (root / name).read_text(encoding="utf-8", errors="replace")[:_MOST]) for name in names)


def training(part: str = "all") -> list[str]:
    """The texts to train on: `all`, or `I/N` for every Nth from the Ith, so that 0/2 and 1/2 are two halves without overlap; or a file."""
    if not _is_part(part):
        return [_of_file(part)]
    seen = [text for number, (_, text) in enumerate(texts()) if number % HELD_OUT_EVERY]
    if part == "all":
        return seen
    index, _, every = part.partition("/")
    if not int(index) < int(every) <= len(seen):
        raise UsageError(f"corpus={part}: no such part", "Give all, or I/N with I below N, for example 0/2.")
    return seen[int(index) :: int(every)]


def title(part: str) -> str:
    """What a text is called in a trace: no path of this machine is in it."""
    return f"standard library, {part}" if _is_part(part) else Path(part).name


def _is_part(part: str) -> bool:
    return part == "all" or re.fullmatch(r"\d{1,9}/\d{1,9}", part) is not None


@cache
def _of_file(path: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"corpus={shown(path)}: {getattr(error, 'strerror', None) or 'not UTF-8'}",
            "Give all, I/N for a part of Python's own library, or a text file.",
        ) from error
    if not text.strip():
        raise UsageError(f"corpus={shown(path)}: no text in it", "Give a file with some text to train on.")
    return text


def digest(part: str = "all") -> str:
    """sha256 of the texts of a part: another version of Python has others."""
    whole = hashlib.sha256()
    for text in training(part):
        whole.update(hashlib.sha256(text.encode()).digest())
    return whole.hexdigest()


def prompts(count: int) -> list[Prompt]:
    """Beginnings out of the held-out texts: whole lines, from places spread evenly over each."""
    held = [(name, text) for number, (name, text) in enumerate(texts()) if not number % HELD_OUT_EVERY]
    return [_prompt(number, *held[number % len(held)], number // len(held)) for number in range(count)]


def _prompt(number: int, name: str, text: str, turn: int) -> Prompt:
    lines = text.splitlines(keepends=True)
    place = (turn * 7919 + len(lines) // 3) % max(len(lines), 1)
    said = "".join(lines[place:])[:_PROMPT_BYTES] or text[:_PROMPT_BYTES]
    cut = said.rfind("\n") + 1
    return Prompt(f"{number}:{name}", (said[:cut] if cut > 1 else said).encode())
