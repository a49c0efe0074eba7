"""From event structs to columns, and the join of verdicts to proposals within a segment.

This is the hot loop of the package: a few operations in C per chunk and column, none per event in Python. `struct.pack` of a whole tuple is
the fastest way from Python numbers to flat memory (measured against array.extend and numpy.fromiter).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, compress, repeat
from operator import not_
from struct import error as PackError  # noqa: N812
from struct import pack
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
from specdiag.trace.events import MAIN, Event, Proposal, Verdict
from specdiag.trace.notes import Notes

NAN = float("nan")
LONGEST_MS = 1e12  # 31 years: a time above is a placeholder for "no value"


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


class _Stops(dict[Any, int]):
    def __missing__(self, name: Any) -> int:
        code = self[name] = STOP_CODES.get(name or "", -1)
        return code


class _Flat:
    """A column of 64-bit numbers that grows."""

    __slots__ = ("data", "kind")

    def __init__(self, kind: str = "q") -> None:
        self.kind = kind
        self.data = bytearray()

    def extend(self, values: Sequence[Any]) -> None:
        self.data += pack(f"={len(values)}{self.kind}", *values)

    def extend_optional(self, values: Sequence[Any], missing: float) -> None:
        absent = values.count(None)
        if absent == len(values):
            self.data += pack("=" + self.kind, missing) * absent
        else:
            self.extend([missing if v is None else v for v in values] if absent else values)

    def array(self) -> Any:
        return np.frombuffer(self.data, np.int64 if self.kind == "q" else np.float64)


class _Runs:
    """A column of lists of numbers that grows."""

    __slots__ = ("lengths", "values")

    def __init__(self) -> None:
        self.values = _Flat("d")
        self.lengths = _Flat()

    def extend(self, lists: Sequence[list[Any] | None]) -> None:
        absent = lists.count(None)
        if absent == len(lists):
            self.lengths.data += bytes(8 * absent)
            return
        present = [run or () for run in lists] if absent else lists
        self.lengths.extend([*map(len, present)])  # type: ignore[arg-type]
        flat = [*chain.from_iterable(present)]  # type: ignore[arg-type]
        try:
            self.values.extend(flat)
        except PackError:
            self.values.extend([NAN if v is None else v for v in flat])

    def ragged(self) -> Ragged:
        return Ragged.of(self.values.array(), self.lengths.array())


class VerdictColumns:
    """Columns of verdicts that grow."""

    def __init__(self) -> None:
        self.stops = _Stops()
        self.column = {
            name: _Flat() for name in ("row", "judged_by", "accepted", "judged", "committed", "stop", "has_next")
        }
        self.verify_ms = _Flat("d")
        self.p, self.u = _Runs(), _Runs()

    def add(self, fields: list[tuple[Any, ...]], lines: Ints, rows: Sequence[int]) -> None:
        """Verdicts, given field by field, of the proposals in these rows."""
        _, _, _, _, _, accepted, judged, committed, stops, p, u, _, _, nexts, ms, *_ = fields
        column = self.column
        column["row"].extend(rows)
        column["judged_by"].data += lines.tobytes()
        column["accepted"].extend(accepted)
        column["judged"].extend_optional(judged, MISSING)
        column["committed"].extend_optional(committed, MISSING)
        column["stop"].extend_optional([*map(self.stops.__getitem__, stops)] if any(stops) else (None,) * len(stops), 0)
        column["has_next"].extend([*map(_is_there, nexts)])
        self.verify_ms.extend_optional(ms, NAN)
        self.p.extend(p)
        self.u.extend(u)

    def finish(self, notes: Notes) -> Verdicts:
        """The verdicts, in the order in which they came."""
        column = {name: flat.array() for name, flat in self.column.items()}
        for line in column["judged_by"][column["stop"] < 0].tolist():
            notes.add("unknown_stop", line, "$.stop")
        return Verdicts(
            row=column["row"],
            judged_by=column["judged_by"],
            accepted=column["accepted"],
            judged=column["judged"],
            committed=column["committed"],
            stop=np.maximum(column["stop"], 0),
            has_next=column["has_next"] > 0,
            verify_ns=_nanoseconds(self.verify_ms.array()),
            p=self.p.ragged(),
            u=self.u.ragged(),
        )


def fields_of(verdicts: list[Any]) -> list[tuple[Any, ...]]:
    """The verdicts field by field, in the order of the struct."""
    return [*zip(*map(msgspec.structs.astuple, verdicts), strict=False)]


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
        self.seen: set[str] = set()
        self.waiting: dict[str, int] = {}
        self.parents: dict[int, str] = {}
        self.parent_rows: dict[int, int] = {}
        self.early: list[Orphan] = []
        self.epoch = 0
        self.proposed = {name: _Flat() for name in _PROPOSED}
        self.draft_ms = _Flat("d")
        self.q, self.sizes = _Runs(), _Runs()
        self.verdicts = VerdictColumns()

    def add(self, events: list[Event], lines: Ints, epoch: int) -> None:
        """Proposals and verdicts of one epoch, in file order; Tangled where an id comes twice, or the epoch changes midway."""
        if epoch != self.epoch and self.ids:
            raise Tangled
        self.epoch = epoch
        kinds = set(map(type, events))
        of_proposals = {kind for kind in kinds if issubclass(kind, Proposal)}
        if len(of_proposals) == 1:
            (only,) = of_proposals
            mask = [type(event) is only for event in events]
        else:
            mask = [isinstance(event, Proposal) for event in events]
        is_proposal = np.frombuffer(bytes(mask), bool)
        self._propose([*compress(events, mask)], lines[is_proposal], epoch)
        others = [*compress(events, map(not_, mask))]
        verdict_lines = lines[~is_proposal]
        if not all(issubclass(kind, Verdict) for kind in kinds - of_proposals):
            is_verdict = [isinstance(event, Verdict) for event in others]
            others, verdict_lines = [*compress(others, is_verdict)], verdict_lines[is_verdict]
        self._judge(others, verdict_lines, epoch)

    def _propose(self, proposals: list[Any], lines: Ints, epoch: int) -> None:
        first = len(self.ids)
        self.add_proposals(proposals, lines, epoch)
        self.seen.update(self.ids[first:])
        if len(self.seen) != len(self.ids):
            raise Tangled
        if not self.in_order:
            self.waiting.update(zip(self.ids[first:], range(first, len(self.ids)), strict=True))

    def add_proposals(self, proposals: list[Any], lines: Ints, epoch: int) -> None:
        """Rows for these proposals."""
        if not proposals:
            return
        count, first = len(proposals), len(self.ids)
        _, _, ids, requests, rounds, branches, _, drafters, parents, starts, tokens, submitted, *more = zip(
            *map(msgspec.structs.astuple, proposals), strict=False
        )
        own_bytes, submitted_bytes, q, gated, _, ms, *_ = more
        self.ids.extend(ids)
        self.request_of.extend(requests)
        self.round_of.extend(rounds)
        column = self.proposed
        column["request"].extend([*map(self.requests.__getitem__, requests)])
        named = [branch or MAIN for branch in branches] if None in branches else branches
        column["branch"].extend([*map(self.branches.__getitem__, named)])
        column["drafter"].extend([*map(self.drafters.__getitem__, drafters)])
        column["round"].extend(rounds)
        column["start"].extend(starts)
        column["line"].data += lines.tobytes()
        column["epoch"].data += pack("=q", epoch) * count
        sent: Sequence[Any] = tokens
        sizes: Sequence[Any] = own_bytes
        if submitted.count(None) < count:
            sent = [t if s is None else s for s, t in zip(submitted, tokens, strict=True)]
            sizes = [b if s is None else c for s, b, c in zip(submitted, own_bytes, submitted_bytes, strict=True)]
        column["size"].extend([*map(len, sent)])
        column["gated"].extend_optional(gated, 0)
        if self.greedy:
            column["content"].extend([hash(tuple(run)) for run in sent])
        else:
            column["content"].data += bytes(8 * count)
        self.draft_ms.extend_optional(ms, NAN)
        self.q.extend(q)
        self.sizes.extend(sizes)
        if parents.count(None) < count:
            self.parents.update((first + i, parent) for i, parent in enumerate(parents) if parent is not None)

    def _judge(self, verdicts: list[Any], lines: Ints, epoch: int) -> None:
        """Find each verdict's proposal. Most logs judge in the order in which they propose: then no look-up is needed."""
        if not verdicts:
            return
        fields = fields_of(verdicts)
        ids = [*fields[2]]
        if self.in_order:
            first, behind = self.next_row, self.next_row + len(ids)
            if ids == self.ids[first:behind]:
                self.next_row = behind
                self._add_verdicts(fields, lines, [*range(first, behind)])
                return
            self.in_order = False
            self.waiting.update(zip(self.ids[first:], range(first, len(self.ids)), strict=True))
        rows = [*map(self.waiting.pop, ids, repeat(-1))]
        if -1 not in rows:
            self._add_verdicts(fields, lines, rows)
            return
        known = np.array(rows) >= 0
        for index in np.flatnonzero(~known).tolist():
            if ids[index] in self.seen:
                raise Tangled
            self.early.append(Orphan(epoch, int(lines[index]), verdicts[index]))
        self.add_verdicts([*compress(verdicts, known)], lines[known], [row for row in rows if row >= 0])

    def add_verdicts(self, verdicts: list[Any], lines: Ints, rows: list[int]) -> None:
        """Verdicts of the proposals in these rows."""
        if verdicts:
            self._add_verdicts(fields_of(verdicts), lines, rows)

    def _add_verdicts(self, fields: list[tuple[Any, ...]], lines: Ints, rows: list[int]) -> None:
        self.verdicts.add(fields, lines, rows)
        requests, rounds = fields[3], fields[4]
        first, behind = rows[0], rows[-1] + 1
        in_order = behind - first == len(rows) and self.in_order
        own_requests = self.request_of[first:behind] if in_order else [self.request_of[row] for row in rows]
        own_rounds = self.round_of[first:behind] if in_order else [self.round_of[row] for row in rows]
        if own_requests != [*requests]:
            raise Tangled
        if own_rounds != [*rounds]:
            wrong = (int(line) for line, a, b in zip(lines, rounds, own_rounds, strict=True) if a != b)
            self.disagree.extend(wrong)

    def _late(self) -> list[Orphan]:
        """Join the verdicts that stood before their proposals; what is left has none in this segment."""
        rows = [self.waiting.pop(orphan.verdict.proposal, -1) for orphan in self.early]
        late = [(orphan, row) for orphan, row in zip(self.early, rows, strict=True) if row >= 0]
        late_lines = np.array([orphan.line for orphan, _ in late], np.int64)
        self.add_verdicts([orphan.verdict for orphan, _ in late], late_lines, [row for _, row in late])
        left = [orphan for orphan, row in zip(self.early, rows, strict=True) if row < 0]
        if any(orphan.verdict.proposal in self.seen for orphan in left):
            raise Tangled
        return left

    def finish(self, notes: Notes) -> tuple[Blocks, list[Orphan]]:
        """The blocks of the segment, and the verdicts that belong to none of them."""
        orphans = self._late()
        for line in self.disagree:
            notes.add("verdict_disagrees", line, "$.round")
        column = {name: flat.array() for name, flat in self.proposed.items()}
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
            q=self.q.ragged(),
            p=none,
            u=none,
            sizes=self.sizes.ragged(),
            ids=self.ids,
            parent_ids=parent_ids,
            drafters=[*self.drafters],
            branches={key_of(name): name for name in self.branches},
        )
        blocks = blocks.judge(self.verdicts.finish(notes))
        for row in np.flatnonzero((blocks.judged_by > 0) & (blocks.judged_by < blocks.line)).tolist():
            notes.add("verdict_before_proposal", int(blocks.judged_by[row]), "$.proposal", blocks.ids[row])
        return blocks, orphans

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


def _is_there(value: object) -> bool:
    return value is not None


def _keys(names: Iterable[str]) -> Any:
    return np.array([key_of(name) for name in names], np.uint64)


def _nanoseconds(ms: Floats) -> Ints:
    good = (ms >= 0) & (ms < LONGEST_MS)
    return np.where(good, np.rint(np.where(good, ms, 0) * 1e6), -1).astype(np.int64)
