"""One input as an importer reads it: in pieces of whole lines, as places where a marker stands, as JSON values, or as rows.

All of it is from outside and may be anything: torn, interleaved, wrapped by a terminal or a mail, coloured, or of another kind altogether.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

import msgspec

from specdiag.errors import InputError, shown
from specdiag.trace.newlines import newlines
from specdiag.trace.notes import Notes
from specdiag.trace.sources import Piece

REACH = 4096  # bytes behind a marker that may belong to it, where lines were wrapped
HEAD = 1 << 12  # bytes that tell one kind of input from another
SMALL = 1 << 20  # inputs up to this size are searched for markers that were wrapped or lost their spaces, too
MAX_DOCUMENT = 128 << 20  # of a JSON value that is not on one line: it is held whole

_ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_BREAK = rb"\s*(?:\n[ \t>|]*)?"  # what a paste may have put between two characters, or lost
_STREAMED = b"data:"  # of server-sent events


class Sighting(NamedTuple):
    """A marker, on which line; what stands on its line before it; and what comes behind it, over line ends, up to the next one."""

    line: int
    marker: str
    before: str
    text: str


class Source:
    """One input, read once. `lines` and `size` say how far; `notes` is what was wrong with it up to there."""

    def __init__(self, name: str, pieces: Iterable[Piece]) -> None:
        self.name = name
        self.lines = self.size = 0
        self.cut = False  # whether what was read last has no line end: then its last line may go on
        self.opening = ""  # the first line that says anything, for messages
        self.notes = Notes()
        self._pieces: Iterator[Piece] = iter(pieces)

    def head(self) -> bytes:
        """The beginning of it, without escape sequences; it is read again by what comes."""
        first = [*islice(self._pieces, 1)]
        self._pieces = chain(first, self._pieces)
        return plain(first[0].head(HEAD)) if first else b""

    def chunks(self) -> Iterator[tuple[int, bytes, bool]]:
        """(number of its first line, whole lines without escape sequences, whether it is all of the input)."""
        first = True
        for piece in self._pieces:
            data = piece.read()
            start = self.lines + 1
            self.lines += newlines(data) + bool(data and not data.endswith(b"\n")) + piece.skipped
            self.size += len(data)
            for code, text in [*piece.notes, *([("too_long", "")] if piece.skipped else [])]:
                self.notes.add(code, max(self.lines, 1), "$", text)
            self.cut = not data.endswith(b"\n")
            data = plain(data)
            if not self.opening:
                self.opening = data.lstrip()[:1000].partition(b"\n")[0].decode(errors="replace").strip()
            yield start, data, first and piece.last and len(data) <= SMALL
            first = False

    def rows(self) -> Iterator[tuple[int, str]]:
        """Every line, with its number."""
        for start, data, _ in self.chunks():
            lines = data.decode(errors="replace").split("\n")
            yield from enumerate(lines if lines[-1] else lines[:-1], start)

    def sightings(self, *markers: str) -> Iterator[Sighting]:
        """Every place where one of these markers stands, in order."""
        wanted = [marker.encode() for marker in markers]
        loose = re.compile(b"|".join(b"(%s)" % broken(marker) for marker in markers))
        for start, data, small in self.chunks():
            hits = _loosely(data, loose) if small else _exactly(data, wanted)
            lines, counted = start, 0
            for i, (begin, end, number) in enumerate(hits):
                lines, counted = lines + newlines(data, counted, begin), begin
                head = data.rfind(b"\n", 0, begin) + 1
                following = hits[i + 1][0] if i + 1 < len(hits) else len(data)
                newline = data.rfind(b"\n", end, following)  # what is before the next marker on its line is not ours
                stop = newline if newline >= 0 else following
                before = data[max(head, begin - REACH) : begin].decode(errors="replace")
                text = data[end : min(stop, end + REACH)].decode(errors="replace")
                yield Sighting(lines, markers[number], before, text)

    def values(self) -> Iterator[tuple[int, Any]]:
        """Every JSON value, with the line on which it begins: one a line (behind `data:`, too), or one or several over many lines. The members
        of a list that is a value of its own are values. What is no JSON is trouble."""
        held: list[bytes] = []
        size = held_from = 0
        for number, line in self._lines():
            if held:
                size += len(line) + 1
                held.append(line)
                if size > MAX_DOCUMENT:
                    raise InputError(
                        f"{shown(self.name)}: a JSON value of more than {MAX_DOCUMENT >> 20} MiB",
                        "Write one record a line.",
                    )
                continue
            text = line.strip().removeprefix(_STREAMED).strip()
            if not text or text == b"[DONE]":
                continue
            try:
                value = _decoded(text)
            except (ValueError, RecursionError):
                goes_on = text.rstrip(b" ,")[-1:] in b"{[" or (text[:1] == b"[" and text[-1:] in b",}")
                if goes_on and text[:1] in b"{[":  # the rest is held
                    held, held_from, size = [line], number, len(line)
                elif not text.startswith((b"event:", b":", b"id:", b"retry:")):
                    self.notes.add("not_json", number, "$", text[:80].decode(errors="replace"))
                continue
            yield from ((number, member) for member in (value if isinstance(value, list) else [value]))
        if held:
            yield from self._document(b"\n".join(held).decode(errors="replace"), held_from)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        for start, data, _ in self.chunks():
            lines = data.split(b"\n")
            yield from enumerate(lines if lines[-1] else lines[:-1], start)

    def _document(self, text: str, line: int) -> Iterator[tuple[int, Any]]:
        decoder, at, counted = json.JSONDecoder(strict=False), 0, 0
        while at < len(text):
            if text[at] in " \t\r\n,":
                at += 1
                continue
            line, counted = line + text.count("\n", counted, at), at
            try:
                value, at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError) as error:
                self.notes.add("not_json", line, "$", str(error)[:120])
                return
            yield from ((line, member) for member in (value if isinstance(value, list) else [value]))


def plain(data: bytes) -> bytes:
    """Without the escape sequences of terminals, and without carriage returns at line ends."""
    if b"\x1b" in data:
        data = _ESCAPES.sub(b"", data)
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data


def broken(text: str) -> bytes:
    """A pattern for this text with its spaces lost, or wrapped anywhere."""
    return _BREAK.join(map(_one, text.replace(" ", "").encode()))


def _one(byte: int) -> bytes:
    return re.escape(bytes([byte]))


def _exactly(data: bytes, markers: list[bytes]) -> list[tuple[int, int, int]]:
    """(begin, end, which) of each marker, in order; of two that overlap the first."""
    hits = []
    for number, marker in enumerate(markers):
        at = data.find(marker)
        while at >= 0:
            hits.append((at, at + len(marker), number))
            at = data.find(marker, at + len(marker))
    return _apart(sorted(hits, key=lambda hit: (hit[0], -hit[1])))


def _loosely(data: bytes, pattern: re.Pattern[bytes]) -> list[tuple[int, int, int]]:
    return [(found.start(), found.end(), (found.lastindex or 1) - 1) for found in pattern.finditer(data)]


def _apart(hits: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    kept: list[tuple[int, int, int]] = []
    for hit in hits:
        if not kept or hit[0] >= kept[-1][1]:
            kept.append(hit)
    return kept


def _decoded(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return json.loads(text.decode(errors="replace"))  # which takes NaN, as Python writes it
