"""Counters that an engine keeps by itself (`tally` events), where it logs no rounds."""

from __future__ import annotations

from specdiag.measure.tally import EngineKind, Tally
from specdiag.trace.events import TallyEvent

COUNTERS = ("rounds", "proposed", "accepted", "completion_tokens")


class EngineCounts:
    """Counts of `tally` events: intervals and requests add; a lifetime counter counts from its last reset, and resets add."""

    def __init__(self) -> None:
        self.total: dict[EngineKind, int] = {}
        self.running: dict[tuple[str, str], TallyEvent] = {}

    def add(self, event: TallyEvent) -> None:
        """One event, in file order."""
        if event.window != "lifetime":
            self._sum(event)
            return
        key = (event.source or "", event.drafter)
        before = self.running.get(key)
        if before is not None and _fell(before, event):
            self._sum(before)
        self.running[key] = event

    def _sum(self, event: TallyEvent) -> None:
        counters = [(name, 0, getattr(event, name)) for name in COUNTERS]
        counters += [("reached", position, number) for position, number in enumerate(event.reached or [], 1)]
        for name, position, number in counters:
            if number is not None:
                kind = EngineKind(event.drafter, event.window, name, position)
                self.total[kind] = self.total.get(kind, 0) + number

    def count(self, tally: Tally) -> None:
        """Put the totals into a tally."""
        for event in self.running.values():
            self._sum(event)
        tally.add_engine(self.total)


def _fell(before: TallyEvent, after: TallyEvent) -> bool:
    """Whether a counter is lower than it was: not every engine counts proposals. One that is no longer there says nothing."""
    pairs = ((getattr(before, name), getattr(after, name)) for name in COUNTERS)
    return any(then is not None and now is not None and now < then for then, now in pairs)
