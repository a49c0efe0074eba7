"""The careful join, for segments in which ids repeat: two ranks that log the same lines, or ids used again by a later request.

It holds the events of one segment and goes through them in file order; only segments that need it come here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import numpy as np

from specdiag.trace.blocks import Blocks, Ints
from specdiag.trace.codec import whole
from specdiag.trace.columns import Columns, Orphan
from specdiag.trace.events import MAIN, Event, Proposal, Verdict
from specdiag.trace.notes import Notes


@dataclass(slots=True)
class _Incarnation:
    """One proposal among those that share an id."""

    row: int
    line: int
    proposal: Proposal
    verdict: Verdict | None = None
    verdict_line: int = 0


@dataclass(slots=True)
class _SameId:
    """The proposals of one request under one id: what they and their verdicts said, and which of them wait, by round."""

    incarnations: list[_Incarnation] = field(default_factory=list)
    waiting: dict[int, list[_Incarnation]] = field(default_factory=dict)
    rows: dict[tuple[int, str], int] = field(default_factory=dict)
    prints: set[bytes] = field(default_factory=set)
    verdicts: set[bytes] = field(default_factory=set)

    def add(self, print_: bytes, incarnation: _Incarnation) -> None:
        """One more."""
        own = incarnation.proposal
        self.prints.add(print_)
        self.incarnations.append(incarnation)
        self.waiting.setdefault(own.round, []).append(incarnation)
        self.rows[own.round, own.branch or MAIN] = incarnation.row

    def take(self, round_: int) -> _Incarnation | None:
        """The newest one that waits: of this round, or, where the id never was of this round, of any."""
        if round_ in self.waiting:
            return self.waiting[round_].pop() if self.waiting[round_] else None
        some = [r for r, left in self.waiting.items() if left]
        return self.waiting[some[-1]].pop() if some else None


class Tangle:
    """Takes events as `Columns` does, and joins them at the end."""

    def __init__(self, greedy: bool) -> None:
        self.greedy = greedy
        self.kept: list[tuple[int, int, Proposal | Verdict]] = []
        self.rows: list[tuple[int, _Incarnation]] = []
        self.named: dict[tuple[int, str, str], _SameId] = {}
        self.early: dict[tuple[int, str, str], list[Orphan]] = {}

    def add(self, events: list[Event], types: list[type[Event]], lines: Ints, epoch: int) -> None:
        """Keep the proposals and verdicts among these events."""
        self.kept.extend(
            (epoch, line, e)
            for e, line in zip(events, lines.tolist(), strict=True)
            if isinstance(e, (Proposal, Verdict))
        )

    def finish(self, notes: Notes) -> tuple[Blocks, list[Orphan]]:
        """The blocks of the segment, and the verdicts that belong to none of them."""
        for epoch, line, event in self.kept:
            if isinstance(event, Proposal):
                self._propose(epoch, line, event, notes)
            elif not self._judge(epoch, line, event, notes):
                self.early.setdefault((epoch, event.request, event.proposal), []).append(
                    Orphan(epoch, line, whole(event))
                )
        return self._columns().blocks(notes), [orphan for orphans in self.early.values() for orphan in orphans]

    def _propose(self, epoch: int, line: int, proposal: Proposal, notes: Notes) -> None:
        same = self.named.setdefault((epoch, proposal.request, proposal.id), _SameId())
        print_ = said(proposal)
        if print_ in same.prints:
            notes.add("duplicate_line", line, "$.id", proposal.id)
            return
        if same.incarnations:
            notes.add("id_reused", line, "$.id", proposal.id)
        same.add(print_, _Incarnation(len(self.rows), line, proposal))
        self.rows.append((epoch, same.incarnations[-1]))
        early = self.early.pop((epoch, proposal.request, proposal.id), [])
        left = [orphan for orphan in early if not self._judge(epoch, orphan.line, orphan.verdict, notes)]
        if left:
            self.early[epoch, proposal.request, proposal.id] = left

    def _judge(self, epoch: int, line: int, verdict: Verdict, notes: Notes) -> bool:
        """Give the verdict to the newest proposal that waits for it, of its round if there was any. False where none came yet."""
        same = self.named.get((epoch, verdict.request, verdict.proposal))
        if same is None:
            return False
        incarnation = same.take(verdict.round)
        print_ = said(verdict)
        if incarnation is not None:
            incarnation.verdict, incarnation.verdict_line = verdict, line
            same.verdicts.add(print_)
        else:
            code = "duplicate_line" if print_ in same.verdicts else "verdict_conflict"
            notes.add(code, line, "$.proposal", verdict.proposal)
        return True

    def _columns(self) -> Columns:
        columns = Columns(self.greedy)
        for epoch, incarnation in self.rows:
            columns.add_proposals([incarnation.proposal], np.array([incarnation.line]), epoch)
        for _, incarnation in self.rows:
            if incarnation.verdict is not None:
                columns.add_verdicts([incarnation.verdict], np.array([incarnation.verdict_line]), [incarnation.row])
        for row in list(columns.parents):
            found = self._parent(*self.rows[row])
            if found is not None:
                columns.parent_rows[row] = found
                del columns.parents[row]
        return columns

    def _parent(self, epoch: int, child: _Incarnation) -> int | None:
        own = child.proposal
        same = self.named.get((epoch, own.request, own.parent or ""))
        return None if same is None else same.rows.get((own.round, own.branch or MAIN))


def said(event: Proposal | Verdict) -> bytes:
    """What an event says, whoever logged it and when: the same for two events that say the same."""
    return _encode(msgspec.structs.replace(event, source=None, ts=None, ms=None))


_encode = msgspec.json.Encoder().encode
