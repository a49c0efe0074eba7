"""Counters that an engine keeps by itself (`tally` events), where it logs no rounds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from specdiag.measure.engine_printed import PrintedFigures
from specdiag.measure.engine_symbols import COUNTERS, counters_of, drafted_of, drafted_whole, means_of
from specdiag.measure.tally import EngineKind, Tally
from specdiag.trace.blocks import key_of
from specdiag.trace.events import TallyEvent

Run = tuple[int, str, str]
"""Whose lifetime a counter is: trace, source, drafter."""


class EngineCounts:
    """Counts of `tally` events: intervals and requests add; a lifetime counter counts from its last reset, and resets add. `means`: sum the means
    over requests of every engine, too, which only `--as` shows."""

    def __init__(self, *, means: bool = False) -> None:
        self.means = means
        self._sums: dict[tuple[str, str, str], dict[tuple[str, int], int]] = {}  # by drafter, window and what is known
        self.running: dict[Run, TallyEvent] = {}
        self.printed = PrintedFigures()

    def add(self, event: TallyEvent, trace: int = 0) -> str:
        """One event, in file order; which counter fell, with both values, where one did. Traces are runs of their own, so their lifetimes add."""
        self.printed.add(event)
        if event.window != "lifetime":
            self._sum(event)
            return ""
        key = (trace, event.source or "", event.drafter)
        before = self.running.get(key)
        fallen = "" if before is None else _fallen(before, event)
        if before is not None and fallen:
            self._sum(before)
        self.running[key] = event
        return fallen

    def _sum(self, event: TallyEvent) -> None:
        found = counters_of(event)
        reached = event.reached
        # Who could come to a position: those of the position before, in reports that have the position at all. Blocks of others are shorter.
        behind = None if reached is None else [event.rounds, *reached][: len(reached)]
        came = None if reached is None or event.rounds is not None else [None, *reached[1:]]
        by_position = {"reached": reached, "came": came or reached, "behind": behind, "drafted": drafted_of(event)}
        known = ",".join([*found, *(name for name, numbers in by_position.items() if numbers is not None)])
        means = means_of(event, found) if self.means else {}
        counters = [(name, 0, number) for name, number in (found | means | {"events": 1}).items()]
        for name, numbers in by_position.items():
            counters += [(name, i, number) for i, number in enumerate(numbers or [], 1) if number is not None]
        if by_position["drafted"] is not None and not drafted_whole(event):
            counters.append(("undrafted", 0, 1))
        if event.max_draft_tokens is not None:
            counters.append(("full_block", event.max_draft_tokens, 1))
        if event.source is not None:
            counters.append(("source", key_of(event.source), 1))
        sums = self._sums.setdefault((event.drafter, event.window, known), {})
        for name, position, number in counters:
            sums[name, position] = sums.get((name, position), 0) + number

    def may_be_one_run(self) -> Iterator[str]:
        """Lifetime counters of one source and drafter in several traces, that rise from one to the next: they may be of one run."""
        runs: dict[tuple[str, str, str], list[TallyEvent]] = {}
        for (_, source, drafter), event in self.running.items():
            runs.setdefault((source, drafter, event.definitions or ""), []).append(event)
        for (source, drafter, _), events in runs.items():
            pairs = [*pairwise(events)]
            if pairs and not any(_fallen(before, after) for before, after in pairs):
                yield f"{source or drafter}: {len(events)} of them, and no counter falls from one to the next"

    def count(self, tally: Tally) -> None:
        """Put the totals into a tally."""
        for event in self.running.values():
            self._sum(event)
        for (drafter, window, known), sums in self._sums.items():
            tally.add_engine(
                {
                    EngineKind(drafter, window, name, position, known): number
                    for (name, position), number in sums.items()
                }
            )


def _fallen(before: TallyEvent, after: TallyEvent) -> str:
    """The first counter that is lower than it was: not every engine counts proposals. One that is no longer there says nothing, nor does a fall
    that rounding explains."""
    for name in COUNTERS:
        then, now = getattr(before, name), getattr(after, name)
        if then is not None and now is not None and then - now > _slack(name, before, after):
            return f"{name}: {then} before, {now} now"
    for name in ("reached", "drafted"):
        numbers = zip(getattr(before, name) or [], getattr(after, name) or [], strict=False)
        for i, (then, now) in enumerate(numbers):
            if then - now > _slack(name, before, after):
                return f"{name}[{i}]: {then} before, {now} now"
    return ""


def _slack(name: str, *events: TallyEvent) -> int:
    """By how much two values may differ where they are estimates."""
    return sum((event.estimated or {}).get(name, 0) for event in events)
