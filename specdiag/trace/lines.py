"""Reading a trace event by event, for people's own scripts, and writing it back with nothing lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from specdiag.errors import InputError, TraceError, shown
from specdiag.trace.codec import Codec
from specdiag.trace.events import Event, Trace
from specdiag.trace.notes import CATALOGUE, Notes
from specdiag.trace.salvage import salvage, schema_trouble
from specdiag.trace.sources import Piece, expand, pieces


@dataclass(frozen=True, slots=True)
class Line:
    """One event, where it stands, and the line as it was read."""

    file: str
    number: int
    event: Event
    raw: bytes

    def rewritten(self, **changes: Any) -> bytes:
        """The line with some fields changed and every other one, known or not, as it was; None leaves a field out."""
        fields: dict[str, Any] = msgspec.json.decode(self.raw, type=dict[str, msgspec.Raw]) if changes else {}
        if not fields:
            return self.raw
        fields |= changes
        return msgspec.json.encode({name: value for name, value in fields.items() if value is not None})


def read(inputs: str | Sequence[str], *, strict: bool = True, notes: Notes | None = None) -> Iterator[Line]:
    """Every event of these inputs, in file order, as the struct of its type.

    A line that breaks the format raises TraceError, or, with `strict=False`, gives what can be made of it and is counted in `notes`. Fields and
    types that this release does not know are kept.
    """
    notes = notes if notes is not None else Notes()
    codec = Codec()
    for name in expand([inputs] if isinstance(inputs, str) else list(inputs)):
        number = 0
        for piece in pieces(name):
            _trouble(name, number + 1, piece, strict, notes)
            number += piece.skipped
            lines = piece.read().split(b"\n")
            for raw in lines if lines[-1] else lines[:-1]:
                number += 1
                yield from _events(name, number, raw, codec, strict, notes)


def _trouble(name: str, number: int, piece: Piece, strict: bool, notes: Notes) -> None:
    """What was wrong with the input itself: a stream that ends early, a line too long to be held."""
    for code, text in [*piece.notes, *([("too_long", "")] if piece.skipped else [])]:
        notes.add(code, number, "$", text)
        if strict and CATALOGUE[code].severity == "problem":
            raise TraceError(
                [f"{shown(name)}:{number}: {CATALOGUE[code].message} ({shown(text)})"], CATALOGUE[code].advice
            )


def _events(name: str, number: int, raw: bytes, codec: Codec, strict: bool, notes: Notes) -> Iterator[Line]:
    if not raw.strip():
        return
    try:
        found, texts, clean = [codec.decode(raw)], [raw], True
    except (msgspec.DecodeError, RecursionError):
        salvaged = salvage(raw, codec)
        found, texts = salvaged.events, salvaged.texts
        for problem in salvaged.problems:
            notes.add(problem.code, number, problem.path, problem.text, problem.times)
        worst = [p for p in salvaged.problems if CATALOGUE[p.code].severity == "problem"]
        clean = not worst
        if strict and worst:
            raise TraceError(
                [
                    f"{shown(name)}:{number}: {shown(p.path)}: {CATALOGUE[p.code].message} ({shown(p.text)})"
                    for p in worst
                ]
            ) from None
    for event, text in zip(found, texts, strict=True):
        trouble = schema_trouble(event.schema) if isinstance(event, Trace) else None
        if trouble:
            raise InputError(f"{shown(name)}:{number}: {trouble[0]}", trouble[1])
        yield Line(name, number, event, raw if clean and len(found) == 1 else text)
