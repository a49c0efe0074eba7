"""Counters of speculation as vLLM exposes them to Prometheus, under the names of other engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from specdiag.importers.fields import LONGEST, count, digits
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Output
from specdiag.importers.prometheus import Sample, scrapes
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

Samples = dict[str, list[Sample]]


@dataclass(frozen=True, slots=True)
class Counters:
    """The names of an engine. `labels`: of the processes that count each for itself; `whole`: whether every position has a sample, zeros too, so that
    their number is the length of a full block. `printed`: figures that stand beside the counters."""

    prefix: str
    definitions: str
    rounds: str
    proposed: str
    accepted: str
    by_position: str
    labels: tuple[str, ...] = ()
    whole: bool = False
    printed: Callable[[Samples], dict[str, str]] = lambda samples: {}

    def read(self, source: Source) -> Iterator[Output]:
        """One tally a scrape and process."""
        for scrape in scrapes(source, self.prefix):
            for key, samples in scrape.by(*self.labels).items():
                event = self._tally(samples)
                if event is not None:
                    event.source = " ".join(part for part in key if part) or None
                    yield from told(samples[self.accepted][0].line, event)

    def _tally(self, samples: Samples) -> TallyEvent | None:
        accepted, proposed = total(samples.get(self.accepted)), total(samples.get(self.proposed))
        if accepted is None or proposed is None:
            return None
        reached = positions(samples.get(self.by_position))
        if sum(reached or []) != accepted:  # part of a scrape: every accepted token has a position
            return None
        return TallyEvent(
            drafter=DRAFTER,
            window="lifetime",
            rounds=total(samples.get(self.rounds)),
            proposed=proposed,
            accepted=accepted,
            reached=reached,
            max_draft_tokens=len(reached) if reached and self.whole else None,
            definitions=self.definitions,
            printed=self.printed(samples) or None,
        )


def total(samples: list[Sample] | None) -> int | None:
    """The sum of these samples; None where there are none, or one is no count."""
    values = [count(sample.value) for sample in samples or []]
    found = [value for value in values if value is not None]
    return count(sum(found)) if found and len(found) == len(values) else None


def positions(samples: list[Sample] | None) -> list[int] | None:
    """Accepted tokens by position, which is a label and counts from 0. A position without a sample was never reached."""
    by: dict[int, int] = {}
    for sample in samples or []:
        position, value = digits(sample.labels.get("position", "")), count(sample.value)
        if position is None or value is None or position >= LONGEST:
            return None
        by[position] = by.get(position, 0) + value
    return [by.get(position, 0) for position in range(max(by) + 1)] if by else None
