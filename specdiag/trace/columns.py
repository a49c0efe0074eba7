"""From event structs to columns, and the join of verdicts to proposals within a segment.

This is the hot loop of the package: a few operations in C per chunk and column, none per event in Python. `struct.pack` of a whole tuple is
the fastest way from Python numbers to flat memory (measured against array.extend and numpy.fromiter).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, compress, repeat
from struct import Struct, pack
from struct import error as PackError  # noqa: N812
from typing import Any

import msgspec
import numpy as np

from specdiag.trace.blocks import (
    MISSING,
    NO_PARENT,
    STOP_CODES,
    UNKNOWN_PARENT,
    Blocks,
    Floats,
    Ints,
    Ragged,
    Verdicts,
    key_of,
)
from specdiag.trace.codec import LeanProposal, LeanVerdict, whole
from specdiag.trace.events import MAIN, Event, Proposal, Verdict
from specdiag.trace.lengths import Lengths, note_overlong
from specdiag.trace.notes import Notes

NAN = float("nan")
LONGEST_MS = 3.6e6  # an hour: a time above is a placeholder for "no value"


PROPOSALS, VERDICTS = (Proposal, LeanProposal), (Verdict, LeanVerdict)


class Tangled(Exception):
    """Ids repeat within the segment, so that the fast join does not apply."""


@dataclass(frozen=True, slots=True)
class Orphan:
    """A verdict whose proposal is not in this segment."""

    epoch: int
    line: int
    verdict: Verdict


class Numbering(dict[str, int]):
    """Numbers strings in the order in which they first come."""

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self)
        return number

    def of(self, names: Sequence[str]) -> Sequence[int]:
        """The numbers of these names."""
        first = names[0]
        if names.count(first) == len(names):
            return (self[first],) * len(names)
        return [*map(self.__getitem__, names)]


class _Stops(dict[Any, int]):
    def __missing__(self, name: Any) -> int:
        code = self[name] = STOP_CODES.get(name or "", -1)
        return code


class _Flat:
    """A column of 64-bit numbers that grows."""

    __slots__ = ("kind", "parts")

    def __init__(self, kind: str = "q") -> None:
        self.kind = kind
        self.parts: list[bytes] = []

    def extend(self, values: Sequence[Any]) -> None:
        self.parts.append(Struct(f"{len(values)}{self.kind}").pack(*values))

    def extend_optional(self, values: Sequence[Any], missing: float) -> None:
        absent = values.count(None)
        if absent == len(values):
            self.parts.append(pack(self.kind, missing) * absent)
        else:
            self.extend([missing if v is None else v for v in values] if absent else values)

    def array(self) -> Any:
        return np.frombuffer(b"".join(self.parts), np.int64 if self.kind == "q" else np.float64)


class _Runs:
    """A column of lists of numbers that grows."""

    __slots__ = ("floats", "lengths", "values")

    def __init__(self, *, floats: bool = True) -> None:
        self.floats = floats
        self.values = _Flat("d")
        self.lengths = _Flat()

    def extend(self, lists: Sequence[list[Any] | None]) -> None:
        absent = lists.count(None)
        if absent == len(lists):
            self.lengths.parts.append(bytes(8 * absent))
            return
        present: Sequence[Any] = [run or () for run in lists] if absent else lists
        lengths = [*map(len, present)]
        self.lengths.extend(lengths)
        if self.floats and lengths.count(lengths[0]) == len(lengths):
            alike = _alike(present, lengths[0])
            if alike is not None:
                self.values.parts.append(alike)
                return
        flat = (*chain.from_iterable(present),)
        try:
            self.values.extend(flat)
        except PackError:
            self.values.extend([NAN if v is None else v for v in flat])

    def ragged(self) -> Ragged:
        return Ragged.of(self.values.array(), self.lengths.array())


_packed = msgspec.msgpack.Encoder().encode


def _alike(lists: Sequence[Any], length: int) -> bytes | None:
    """The floats of lists of this length, where none is missing: MessagePack writes a float in 9 bytes, so that they stand in a grid."""
    count, grid = len(lists), 1 + 9 * length
    data = _packed(lists)
    begin = 1 if count < 16 else 3 if count < 1 << 16 else 5
    if not 0 < length < 16 or len(data) != begin + count * grid:
        return None
    return np.ndarray((count, length), ">f8", data, begin + 2, (grid, 9)).astype(np.float64).tobytes()


class VerdictColumns:
    """Columns of verdicts that grow."""

    def __init__(self) -> None:
        self.stops = _Stops()
        self.column = {name: _Flat() for name in ("row", "judged_by", "accepted", "judged", "committed", "stop")}
        self.has_next: list[bytes] = []
        self.verify_ms = _Flat("d")
        self.p, self.u, self.gap = _Runs(), _Runs(), _Runs()

    def add(self, fields: Fields, lines: Ints, rows: Ints) -> None:
        """Verdicts, given field by field, of the proposals in these rows."""
        column, stops = self.column, fields["stop"]
        column["row"].parts.append(rows.tobytes())
        column["judged_by"].parts.append(lines.tobytes())
        column["accepted"].extend(fields["accepted"])
        column["judged"].extend_optional(fields["judged"], MISSING)
        column["committed"].extend_optional(fields["committed"], MISSING)
        named = stops.count(None) < len(stops)
        column["stop"].extend_optional([*map(self.stops.__getitem__, stops)] if named else stops, 0)
        self.has_next.append(bytes([token is not None for token in fields["next"]]))
        self.verify_ms.extend_optional(fields["ms"], NAN)
        self.p.extend(fields["p"])
        self.u.extend(fields["u"])
        self.gap.extend(fields["gap"])

    def finish(self, notes: Notes) -> Verdicts:
        """The verdicts, in the order in which they came."""
        column = {name: flat.array() for name, flat in self.column.items()}
        for line in column["judged_by"][column["stop"] < 0].tolist():
            notes.add("unknown_stop", line, "$.stop")
        note_times(self.verify_ms.array(), column["judged_by"], notes)
        return Verdicts(
            row=column["row"],
            judged_by=column["judged_by"],
            accepted=column["accepted"],
            judged=column["judged"],
            committed=column["committed"],
            stop=np.maximum(column["stop"], 0),
            has_next=np.frombuffer(b"".join(self.has_next), bool),
            verify_ns=_nanoseconds(self.verify_ms.array()),
            p=self.p.ragged(),
            u=self.u.ragged(),
            gap=self.gap.ragged(),
        )


class Fields(dict[str, tuple[Any, ...]]):
    """Events field by field; a field that none of them has is None for each."""

    def __init__(self, events: list[Any]) -> None:
        names = type(events[0]).__struct_fields__
        super().__init__(zip(names, zip(*map(msgspec.structs.astuple, events), strict=False), strict=False))
        self.absent = (None,) * len(events)

    def __missing__(self, name: str) -> tuple[Any, ...]:
        return self.absent


class Columns:
    """Columns that grow by chunks of events; `finish` gives the blocks."""

    def __init__(self, greedy: bool) -> None:
        self.greedy = greedy
        self.requests, self.branches, self.drafters = Numbering(), Numbering(), Numbering()
        self.ids: list[str] = []
        self.request_of: list[str] = []
        self.round_of: list[int] = []
        self.in_order = True  # every verdict so far followed the order of the proposals
        self.next_row = 0  # then: the row whose verdict comes next
        self.disagree: list[int] = []
        self.row_of: dict[str, int] = {}  # else: the row of each id
        self.hashes = _Flat()
        self.parents: dict[int, str] = {}
        self.parent_rows: dict[int, int] = {}
        self.early: list[Orphan] = []
        self.epoch = 0
        self.proposed = {name: _Flat() for name in _PROPOSED}
        self.draft_ms = _Flat("d")
        self.q, self.sizes = _Runs(), _Runs(floats=False)
        self.lengths = Lengths()
        self.verdicts = VerdictColumns()

    def add(self, events: list[Event], types: list[type[Event]], lines: Ints, epoch: int) -> None:
        """Proposals and verdicts of one epoch, in file order; Tangled where the epoch changes midway. `types`: those of the events."""
        if epoch != self.epoch and self.ids:
            raise Tangled
        self.epoch = epoch
        kinds = {*types}
        of_proposals = {kind for kind in kinds if issubclass(kind, PROPOSALS)}
        is_proposal = [kind in of_proposals for kind in types]
        marks = np.frombuffer(bytes(is_proposal), bool)
        first = len(self.ids)
        self.add_proposals([*compress(events, is_proposal)], lines[marks], epoch)
        self.hashes.extend([*map(hash, self.ids[first:])])
        of_verdicts = {kind for kind in kinds if issubclass(kind, VERDICTS)}
        is_verdict = [kind in of_verdicts for kind in types]
        others = kinds - of_proposals - of_verdicts
        marks = np.frombuffer(bytes(is_verdict), bool) if others else ~marks
        self._judge([*compress(events, is_verdict)], lines[marks], epoch)

    def add_proposals(self, proposals: list[Any], lines: Ints, epoch: int) -> None:
        """Rows for these proposals."""
        if not proposals:
            return
        count, first = len(proposals), len(self.ids)
        fields = Fields(proposals)
        self.ids.extend(fields["id"])
        self.request_of.extend(fields["request"])
        self.round_of.extend(fields["round"])
        column, branches, submitted, parents = self.proposed, fields["branch"], fields["submitted"], fields["parent"]
        column["request"].extend(self.requests.of(fields["request"]))
        absent = branches.count(None)
        column["branch"].extend(self.branches.of([branch or MAIN for branch in branches] if absent else branches))
        column["drafter"].extend(self.drafters.of(fields["drafter"]))
        column["round"].extend(fields["round"])
        column["start"].extend(fields["start"])
        column["line"].parts.append(lines.tobytes())
        column["epoch"].parts.append(pack("=q", epoch) * count)
        sent: Sequence[Any] = fields["tokens"]
        sizes: Sequence[Any] = fields["bytes"]
        if submitted.count(None) < count or fields["submitted_bytes"].count(None) < count:
            sizes = self.lengths.sizes(first, lines, fields)
            sent = [t if s is None else s for s, t in zip(submitted, sent, strict=True)]
        column["size"].extend([*map(len, sent)])
        column["gated"].extend_optional(fields["gated"], 0)
        if self.greedy:
            column["content"].extend([hash(tuple(run)) for run in sent])
        else:
            column["content"].parts.append(bytes(8 * count))
        self.draft_ms.extend_optional(fields["ms"], NAN)
        self.q.extend(fields["q"])
        self.sizes.extend(sizes)
        if parents.count(None) < count:
            self.parents.update((first + i, parent) for i, parent in enumerate(parents) if parent is not None)

    def _judge(self, verdicts: list[Any], lines: Ints, epoch: int) -> None:
        """Find each verdict's proposal. Most logs judge in the order in which they propose: then no look-up is needed."""
        if self.in_order and not self.next_row:
            skip = self._of_the_segment_before(verdicts)
            self._wait(verdicts[:skip], lines[:skip], epoch)
            verdicts, lines = verdicts[skip:], lines[skip:]
        if not verdicts:
            return
        fields = Fields(verdicts)
        ids = [*fields["proposal"]]
        first, behind = self.next_row, self.next_row + len(ids)
        if self.in_order and ids == self.ids[first:behind]:
            self.next_row = behind
            own = self.request_of[first:behind], self.round_of[first:behind]
            self._add_verdicts(fields, lines, np.arange(first, behind), *own)
            return
        self.in_order = False
        self._look_up()
        rows = [*map(self.row_of.get, ids, repeat(-1))]
        if -1 in rows:
            known = [row >= 0 for row in rows]
            marks = np.array(known)
            self._wait([v for v, there in zip(verdicts, known, strict=True) if not there], lines[~marks], epoch)
            self.add_verdicts([*compress(verdicts, known)], lines[marks], [*compress(rows, known)])
        else:
            self._add_verdicts(fields, lines, np.array(rows), *self._said(rows))

    def _of_the_segment_before(self, verdicts: list[Any]) -> int:
        """How many verdicts stand before the one on the first proposal."""
        if not self.ids:
            return len(verdicts)
        first = self.ids[0]
        return next((i for i, verdict in enumerate(verdicts) if verdict.proposal == first), 0)

    def _wait(self, verdicts: list[Any], lines: Ints, epoch: int) -> None:
        self.early += [
            Orphan(epoch, line, whole(verdict)) for verdict, line in zip(verdicts, lines.tolist(), strict=True)
        ]

    def _look_up(self) -> None:
        """Bring `row_of` up to date; Tangled where an id comes twice."""
        known = len(self.row_of)
        self.row_of.update(zip(self.ids[known:], range(known, len(self.ids)), strict=True))
        if len(self.row_of) != len(self.ids):
            raise Tangled

    def _said(self, rows: list[int]) -> tuple[list[str], list[int]]:
        """Request and round of the proposals in these rows."""
        return [self.request_of[row] for row in rows], [self.round_of[row] for row in rows]

    def add_verdicts(self, verdicts: list[Any], lines: Ints, rows: list[int]) -> None:
        """Verdicts of the proposals in these rows."""
        if verdicts:
            self._add_verdicts(Fields(verdicts), lines, np.array(rows), *self._said(rows))

    def _add_verdicts(self, fields: Fields, lines: Ints, rows: Ints, requests: list[str], rounds: list[int]) -> None:
        self.verdicts.add(fields, lines, rows)
        if requests != [*fields["request"]]:
            raise Tangled
        if rounds != [*fields["round"]]:
            wrong = (int(line) for line, a, b in zip(lines, fields["round"], rounds, strict=True) if a != b)
            self.disagree.extend(wrong)

    def join(self) -> list[Orphan]:
        """Join the verdicts that stood before their proposals: what is left has none in this segment. Tangled where an id, or the verdict
        on one, comes twice."""
        if self.early or not self.in_order:
            self._look_up()
        elif not _differ(self.hashes.array()) and len({*self.ids}) != len(self.ids):
            raise Tangled
        rows = [self.row_of.get(orphan.verdict.proposal, -1) for orphan in self.early]
        late = [(orphan, row) for orphan, row in zip(self.early, rows, strict=True) if row >= 0]
        late_lines = np.array([orphan.line for orphan, _ in late], np.int64)
        self.add_verdicts([orphan.verdict for orphan, _ in late], late_lines, [row for _, row in late])
        judged = self.verdicts.column["row"].array()
        if len(judged) and np.bincount(judged).max() > 1:
            raise Tangled
        return [orphan for orphan, row in zip(self.early, rows, strict=True) if row < 0]

    def finish(self, notes: Notes) -> tuple[Blocks, list[Orphan]]:
        """The blocks of the segment, and the verdicts that belong to none of them."""
        orphans = self.join()
        return self.blocks(notes), orphans

    def blocks(self, notes: Notes) -> Blocks:
        """The blocks of the segment."""
        for line in self.disagree:
            notes.add("verdict_disagrees", line, "$.round")
        column = {name: flat.array() for name, flat in self.proposed.items()}
        note_times(self.draft_ms.array(), column["line"], notes)
        q, sizes, verdicts = self.q.ragged(), self.sizes.ragged(), self.verdicts.finish(notes)
        self.lengths.note(column["size"], column["line"], q, sizes, notes)
        note_overlong(verdicts, column["size"], notes)
        count = len(self.ids)
        zeros, none = np.zeros(count, np.int64), Ragged.of(np.empty(0), np.zeros(count, np.int64))
        parent, parent_ids = self._parents(count)
        blocks = Blocks(
            request=_keys(self.requests)[column["request"]],
            branch=_keys(self.branches)[column["branch"]],
            epoch=column["epoch"],
            born=zeros,
            round=column["round"],
            drafter=column["drafter"],
            parent=parent,
            start=column["start"],
            size=column["size"],
            gated=column["gated"],
            line=column["line"],
            draft_ns=_nanoseconds(self.draft_ms.array()),
            content=column["content"],
            judged_by=zeros,
            accepted=zeros,
            judged=zeros + MISSING,
            committed=zeros + MISSING,
            stop=zeros,
            has_next=zeros > 0,
            verify_ns=zeros - 1,
            q=q,
            p=none,
            u=none,
            gap=none,
            sizes=sizes,
            ids=self.ids,
            parent_ids=parent_ids,
            drafters=[*self.drafters],
            branches={key_of(name): name for name in self.branches},
        )
        blocks = blocks.judge(verdicts)
        for row in np.flatnonzero((blocks.judged_by > 0) & (blocks.judged_by < blocks.line)).tolist():
            notes.add("verdict_before_proposal", int(blocks.judged_by[row]), "$.proposal", blocks.ids[row])
        return blocks

    def _parents(self, count: int) -> tuple[Ints, dict[int, str]]:
        parent = np.full(count, NO_PARENT, np.int64)
        unknown: dict[int, str] = {}
        if self.parents:
            row_of = dict(zip(self.ids, range(count), strict=True))
            for row, name in self.parents.items():
                found = row_of.get(name, UNKNOWN_PARENT)
                parent[row] = found
                if found == UNKNOWN_PARENT:
                    unknown[row] = name
        parent[[*self.parent_rows]] = [*self.parent_rows.values()]
        return parent, unknown


_PROPOSED = ("request", "branch", "drafter", "round", "start", "line", "epoch", "size", "gated", "content")


def _differ(numbers: Ints) -> bool:
    ordered = np.sort(numbers)
    return not (ordered[1:] == ordered[:-1]).any()


def _keys(names: Iterable[str]) -> Any:
    return np.array([key_of(name) for name in names], np.uint64)


def note_times(ms: Floats, lines: Ints, notes: Notes) -> None:
    """Note the times that are no times."""
    for row in np.flatnonzero((ms < 0) | (ms >= LONGEST_MS)).tolist():
        notes.add("not_finite", int(lines[row]), "$.ms", f"{ms[row]:.4g}")


def _nanoseconds(ms: Floats) -> Ints:
    good = (ms >= 0) & (ms < LONGEST_MS)
    return np.where(good, np.rint(np.where(good, ms, 0) * 1e6), -1).astype(np.int64)
