"""Reading one segment of a trace, a few MB of whole lines, into columns.

The segment is decoded in chunks small enough that the structs of one chunk stay in the processor's cache, and each chunk is flattened into
columns at once, so that its objects die young: measured, that is twice as fast as collecting the objects of the whole segment first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from specdiag.trace.blocks import Blocks, Ints
from specdiag.trace.codec import Codec, Surplus, UnknownEvent, learned_of, tag_of, whole
from specdiag.trace.columns import PROPOSALS, VERDICTS, Columns, Orphan, Tangled
from specdiag.trace.consistency import check_header, contradictions, misprints
from specdiag.trace.events import Consensus, Effect, Event, TallyEvent, Trace
from specdiag.trace.newlines import newlines
from specdiag.trace.notes import Notes, Where
from specdiag.trace.salvage import Problem, salvage, schema_trouble, unlearned
from specdiag.trace.tangle import Tangle

CHUNK = 128 * 1024
MAX_LINE = 16 << 20


@dataclass(slots=True)
class Segment:
    """What a segment held. Lines count from 1 within the segment; epochs from 0, one more at each header."""

    blocks: Blocks | None = None
    orphans: list[Orphan] = field(default_factory=list)
    headers: list[tuple[int, Trace]] = field(default_factory=list)  # line, header; the i-th begins epoch i + 1
    consensus: list[tuple[int, Consensus]] = field(default_factory=list)
    effects: list[tuple[int, Effect]] = field(default_factory=list)
    tallies: list[tuple[int, int, TallyEvent]] = field(default_factory=list)  # epoch, line, event
    events: dict[str, int] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)
    lines: int = 0
    size: int = 0
    stopped: bool = False  # strict mode met a bad line
    unreadable: tuple[int, str, str] | None = None  # line, what, advice: a header that this release cannot read

    @property
    def epoch(self) -> int:
        """Headers seen so far."""
        return len(self.headers)

    def begin_epoch(self, header: Trace, line: int) -> None:
        """A header: what follows is under it."""
        trouble = schema_trouble(header.schema)
        if trouble and self.unreadable is None:
            self.unreadable = (line, *trouble)
        check_header(header, line, self.notes)
        self.headers.append((line, header))

    def add_tally(self, counts: TallyEvent, line: int) -> None:
        """Counts of an engine; those that contradict each other are left out."""
        wrong = [Where(line, *found) for found in contradictions(counts)]
        self.notes.add_many("counts_contradict", wrong)
        if not wrong:
            self.notes.add_many("printed_differs", [Where(line, *found) for found in misprints(counts)])
            self.tallies.append((self.epoch, line, counts))


@dataclass(frozen=True, slots=True)
class How:
    """How to read: `strict` stops at the first bad line; `last`: the input ends with this segment; `greedy`: digest the tokens."""

    strict: bool = False
    last: bool = True
    greedy: bool = False
    chunk: int = CHUNK


def read_segment(data: bytes, codec: Codec, how: How) -> Segment:
    """Decode a segment. Problems are in its notes; in strict mode it ends behind the first bad line."""
    try:
        return _read(data, codec, how, keep_all=False)
    except Tangled:  # ids that repeat need the whole segment at once
        return _read(data, codec, how, keep_all=True)


def _read(data: bytes, codec: Codec, how: How, *, keep_all: bool) -> Segment:
    columns = Tangle(how.greedy) if keep_all else Columns(how.greedy)
    segment = Segment(size=len(data))
    for events, lines in _decoded(data, codec, how, segment, lean=not keep_all):
        _account(events, lines, segment, codec, columns)
        events.clear()  # before the next chunk is decoded: its objects then take the same memory, still in the processor's cache
        if segment.stopped:
            break
    segment.blocks, segment.orphans = columns.finish(segment.notes)
    return segment


def _decoded(data: bytes, codec: Codec, how: How, segment: Segment, *, lean: bool) -> Iterator[tuple[list[Any], Ints]]:
    """(events, their lines) of each chunk."""
    position = 0
    while position < len(data):
        end = _chunk_end(data, position, how.chunk)
        chunk = data[position:end]
        count = _lines(chunk)
        first = segment.lines + 1
        segment.lines += count
        try:
            events = codec.decode_lean(chunk) if lean else codec.decode_lines(chunk)
        except (msgspec.DecodeError, RecursionError):
            events = None
        surplus: Surplus = []
        if events is None and codec.surplus:
            with suppress(msgspec.DecodeError, RecursionError):
                events, surplus = codec.decode_surplus(chunk)
        if events is not None and len(events) == count and len(chunk) < MAX_LINE and _begins(chunk) == count:
            for place, names in surplus:
                _note(unlearned(names), first + place, segment)
            yield events, np.arange(first, first + count)
        else:
            yield _line_by_line(chunk, first, codec, how, segment, at_end=end == len(data))
        position = end


def _lines(chunk: bytes) -> int:
    return newlines(chunk) + (not chunk.endswith(b"\n"))


def _begins(chunk: bytes) -> int:
    """Lines that begin with an object. The decoder takes several on a line, and one over several lines: then the counts may agree by chance."""
    values = np.frombuffer(chunk, np.uint8)
    return int(np.count_nonzero((values[:-1] == 10) & (values[1:] == 123))) + chunk.startswith(b"{")


def _chunk_end(data: bytes, position: int, chunk: int) -> int:
    end = data.rfind(b"\n", position, position + chunk) + 1
    if not end and position + chunk < len(data):
        end = data.find(b"\n", position + chunk) + 1
    return end or len(data)


def _line_by_line(
    chunk: bytes, first: int, codec: Codec, how: How, segment: Segment, *, at_end: bool
) -> tuple[list[Event], Ints]:
    events: list[Event] = []
    places: list[int] = []
    lines = chunk.split(b"\n")
    for number, line in enumerate(lines, first):
        found = _one_line(line, number, codec, segment, torn=how.last and at_end and number == first + len(lines) - 1)
        events.extend(found)
        places.extend([number] * len(found))
        if how.strict and segment.notes.first_problem():
            segment.stopped = True
            break
    return events, np.array(places, np.int64)


def _one_line(line: bytes, number: int, codec: Codec, segment: Segment, *, torn: bool) -> list[Event]:
    if not line or line.isspace():
        return []
    if len(line) > MAX_LINE:
        segment.notes.add("too_long", number)
        return []
    try:
        return [codec.decode(line)]
    except (msgspec.DecodeError, RecursionError):
        salvaged = salvage(line, codec, last=torn)
    for problem in salvaged.problems:
        _note(problem, number, segment)
    return salvaged.events


def _note(problem: Problem, line: int, segment: Segment) -> None:
    segment.notes.add(problem.code, line, problem.path, problem.text, problem.times)


def _account(events: list[Event], lines: Ints, segment: Segment, codec: Codec, columns: Columns | Tangle) -> None:
    """Count the events, file away all but proposals and verdicts, and hand those to the columns, epoch by epoch."""
    types = [*map(type, events)]
    kinds = {*types}
    for kind in kinds:
        tag = tag_of(kind)
        segment.events[tag] = segment.events.get(tag, 0) + types.count(kind)
    if codec.learned:
        _count_unknown(events, lines, segment.notes, codec)
    start = 0
    if not all(issubclass(kind, PROPOSALS + VERDICTS) for kind in kinds):
        for i, event in enumerate(events):
            if isinstance(event, Trace):
                columns.add(events[start:i], types[start:i], lines[start:i], segment.epoch)
                segment.begin_epoch(whole(event), int(lines[i]))
                start = i
            elif isinstance(event, Consensus):
                segment.consensus.append((segment.epoch, whole(event)))
            elif isinstance(event, Effect):
                segment.effects.append((segment.epoch, whole(event)))
            elif isinstance(event, TallyEvent):
                segment.add_tally(whole(event), int(lines[i]))
    if start:
        events, types, lines = events[start:], types[start:], lines[start:]
    columns.add(events, types, lines, segment.epoch)


def _count_unknown(events: list[Any], lines: Ints, notes: Notes, codec: Codec) -> None:
    for line, event in zip(lines.tolist(), events, strict=True):
        tag = tag_of(type(event))
        if type(event) is UnknownEvent:
            continue  # not learned, and noted when it was read
        if isinstance(event, UnknownEvent):
            notes.add("unknown_type", line, "$.type", tag)
        elif tag in codec.learned:
            names = learned_of(type(event))
            notes.add_many(
                "unknown_field",
                [Where(line, f"$.{name}") for a, name in names if getattr(event, a) is not msgspec.UNSET],
            )
