"""The careful join, for segments in which ids repeat: two ranks that log the same lines, or ids used again by a later request.

It holds the events of one segment and goes through them in file order; only segments that need it come here.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from specdiag.trace.blocks import Blocks, Ints
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


class Tangle:
    """Takes events as `Columns` does, and joins them at the end."""

    def __init__(self, greedy: bool) -> None:
        self.greedy = greedy
        self.kept: list[tuple[int, int, Proposal | Verdict]] = []
        self.rows: list[tuple[int, _Incarnation]] = []
        self.named: dict[tuple[int, str], list[_Incarnation]] = {}
        self.early: dict[tuple[int, str], list[Orphan]] = {}

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
                self.early.setdefault((epoch, event.proposal), []).append(Orphan(epoch, line, event))
        return self._columns().blocks(notes), [orphan for orphans in self.early.values() for orphan in orphans]

    def _propose(self, epoch: int, line: int, proposal: Proposal, notes: Notes) -> None:
        same_id = self.named.setdefault((epoch, proposal.id), [])
        if any(same_event(proposal, other.proposal) for other in same_id):
            notes.add("duplicate_line", line, "$.id", proposal.id)
            return
        if any(other.proposal.request == proposal.request for other in same_id):
            notes.add("id_reused", line, "$.id", proposal.id)
        incarnation = _Incarnation(len(self.rows), line, proposal)
        same_id.append(incarnation)
        self.rows.append((epoch, incarnation))
        early = self.early.pop((epoch, proposal.id), [])
        left = [orphan for orphan in early if not self._judge(epoch, orphan.line, orphan.verdict, notes)]
        if left:
            self.early[epoch, proposal.id] = left

    def _judge(self, epoch: int, line: int, verdict: Verdict, notes: Notes) -> bool:
        """Give the verdict to the newest proposal that waits for it. False where no proposal of that id came yet."""
        candidates = self._candidates(epoch, verdict)
        waiting = [c for c in candidates if c.verdict is None]
        if waiting:
            waiting[-1].verdict, waiting[-1].verdict_line = verdict, line
        elif candidates:
            same = any(c.verdict is not None and same_event(verdict, c.verdict) for c in candidates)
            notes.add("duplicate_line" if same else "verdict_conflict", line, "$.proposal", verdict.proposal)
        return bool(candidates)

    def _candidates(self, epoch: int, verdict: Verdict) -> list[_Incarnation]:
        """Proposals of that id and request that the verdict may be about: those of its round, if there are any."""
        named = [c for c in self.named.get((epoch, verdict.proposal), []) if c.proposal.request == verdict.request]
        return [c for c in named if c.proposal.round == verdict.round] or named

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
        named = self.named.get((epoch, own.parent or ""), [])
        near = [c for c in named if _round_of(c.proposal) == _round_of(own)]
        return near[-1].row if near else None


def _round_of(proposal: Proposal) -> tuple[str, int, str]:
    return proposal.request, proposal.round, proposal.branch or MAIN


def same_event(one: Event, other: Event) -> bool:
    """Whether two events say the same, whoever logged them and when."""
    ignored = {"source", "ts", "ms"}
    mine, theirs = msgspec.structs.asdict(one), msgspec.structs.asdict(other)
    return all(mine.get(name) == theirs.get(name) for name in (mine.keys() | theirs.keys()) - ignored)
