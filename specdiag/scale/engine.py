"""Counters that an engine keeps by itself (`tally` events), where it logs no rounds."""

from __future__ import annotations

from specdiag.measure.tables import MAX_POSITIONS
from specdiag.measure.tally import CountKind, Tally
from specdiag.trace.events import TallyEvent

LARGEST = 2**62  # that a tally holds


class EngineCounts:
    """Counts of `tally` events: intervals and requests add; a lifetime counter counts from its last reset, and resets add."""

    def __init__(self) -> None:
        self.total: dict[tuple[str, str, str], int] = {}
        self.running: dict[tuple[str, str], TallyEvent] = {}

    def add(self, event: TallyEvent) -> None:
        """One event, in file order."""
        if event.window != "lifetime":
            self._sum(event)
            return
        key = (event.source or "", event.drafter)
        before = self.running.get(key)
        if before is not None and (event.proposed or 0) < (before.proposed or 0):
            self._sum(before)
        self.running[key] = event

    def _sum(self, event: TallyEvent) -> None:
        counters = {name: getattr(event, name) for name in ("rounds", "proposed", "accepted", "completion_tokens")}
        counters |= {f"reached {i}": n for i, n in enumerate((event.reached or [])[:MAX_POSITIONS], 1)}
        for name, number in counters.items():
            if number is not None:
                key = (event.drafter, event.window, name)
                self.total[key] = self.total.get(key, 0) + number

    def count(self, tally: Tally) -> None:
        """Put the totals into a tally."""
        for event in self.running.values():
            self._sum(event)
        for (drafter, window, name), number in self.total.items():
            tally.count(CountKind((drafter, window), "engine", name), min(number, LARGEST))
