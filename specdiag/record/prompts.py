"""Prompts from a file: one a line, or JSON lines with `prompt` and perhaps `id`; or `corpus:N`, from texts that no n-gram model saw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from specdiag.errors import InputError, UsageError, shown
from specdiag.record.lines import Prompt


def load(source: str) -> list[Prompt]:
    """The prompts that a `--prompts` argument names, each with an id of its own."""
    if source.startswith("corpus:"):
        return _of_the_corpus(source.removeprefix("corpus:"))
    try:
        data = Path(source).read_bytes()
    except OSError as error:
        raise InputError(
            f"{shown(source)}: {error.strerror or error}", "Give a file of prompts, or corpus:N for N of our own."
        ) from error
    lines = [line for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    read = _json_line if lines and lines[0].lstrip().startswith(b"{") else _plain_line
    prompts = [read(number, line.rstrip(b"\r"), source) for number, line in enumerate(lines)]
    if not prompts:
        raise InputError(f"{shown(source)}: no prompt in it", "Write one prompt a line.")
    if len({prompt.id for prompt in prompts}) < len(prompts):
        raise InputError(f"{shown(source)}: two prompts have the same id", "Give each its own.")
    return prompts


def _of_the_corpus(count: str) -> list[Prompt]:
    from specdiag.record.backends import corpus

    if not count.isdecimal() or not 0 < int(count) <= 10_000:
        raise UsageError(f"--prompts corpus:{count}: no such number", "Give 1 to 10000.")
    return corpus.prompts(int(count))


def _plain_line(number: int, line: bytes, source: str) -> Prompt:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{shown(source)}: line {number + 1} is not UTF-8", "Write prompts in UTF-8.") from error
    return Prompt(f"r{number}", line)


def _json_line(number: int, line: bytes, source: str) -> Prompt:
    try:
        value: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{shown(source)}: prompt {number + 1} is not JSON", "Write one object a line.") from error
    if not isinstance(value, dict) or not isinstance(value.get("prompt"), str):
        raise InputError(
            f"{shown(source)}: prompt {number + 1} has no text `prompt`", 'Write {"id": ..., "prompt": ...}.'
        )
    return Prompt(str(value.get("id", f"r{number}")), value["prompt"].encode())
