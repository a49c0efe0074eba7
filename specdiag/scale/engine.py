"""Counters that an engine keeps by itself (`tally` events), where it logs no rounds."""

from __future__ import annotations

from collections.abc import Iterator

from specdiag.engines.catalogue import ENGINES
from specdiag.measure.tally import EngineKind, Tally
from specdiag.trace.events import TallyEvent

FALLING = ("rounds", "proposed", "accepted", "completion_tokens")
COUNTERS = (*FALLING, "matched", "requests")


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
        for name, position, number in _counters(event):
            kind = EngineKind(event.drafter, event.window, name, position)
            self.total[kind] = self.total.get(kind, 0) + number

    def count(self, tally: Tally) -> None:
        """Put the totals into a tally."""
        for event in self.running.values():
            self._sum(event)
        tally.add_engine(self.total)


def _fell(before: TallyEvent, after: TallyEvent) -> bool:
    """Whether a counter is lower than it was: not every engine counts proposals. One that is no longer there says nothing."""
    pairs = ((getattr(before, name), getattr(after, name)) for name in FALLING)
    return any(then is not None and now is not None and now < then for then, now in pairs)


def _counters(event: TallyEvent) -> Iterator[tuple[str, int, int]]:
    """(name, position, number) of everything in an event that adds.

    Its counts; how many events have each of them (`logged`), and the rounds of those with positions; by how much estimated ones may be off
    (`half`); how often a full block had so many drafts (`full`), and the output a token of prefill (`prefill`).
    """
    yield "events", 0, 1
    for name in COUNTERS:
        number = getattr(event, name)
        if name == "requests" and number is None and event.window == "request":
            number = 1
        if number is not None:
            yield name, 0, number
            yield f"logged {name}", 0, 1
    if event.reached is not None:
        yield "logged reached", 0, 1
        yield "rounds with reached", 0, event.rounds or 0
        yield from (("reached", position, number) for position, number in enumerate(event.reached, 1))
    yield from ((f"half {name}", 0, number) for name, number in (event.estimated or {}).items())
    if event.max_draft_tokens is not None:
        yield "full", event.max_draft_tokens, 1
    engine = ENGINES.get(event.definitions or "")
    if event.completion_tokens is not None and (engine is None or engine.prefill_token):
        yield "prefill", 0, 1
