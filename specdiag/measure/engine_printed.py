"""Figures that an engine printed without the counts they are made of: how many there were, the last one, and between what they lay.

Nothing is computed of them, since a mean of ratios is not the ratio of the sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from specdiag.engines.catalogue import ENGINES
from specdiag.engines.definitions import SYMBOLS
from specdiag.engines.printed import named, parsed
from specdiag.errors import cut
from specdiag.report import EnginePrinted
from specdiag.trace.consistency import counts_of
from specdiag.trace.events import TallyEvent

MOST_FIGURES = 64  # of one drafter
MOST_DRAFTERS = 1000
LONGEST_NUMBER = 40  # characters


@dataclass(slots=True)
class _Seen:
    """One figure: how often it came, and what it said."""

    reports: int
    last: str
    least: tuple[Fraction, str]
    most: tuple[Fraction, str]


class PrintedFigures:
    """Figures by drafter, and by definitions and name."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[tuple[str, str], _Seen]] = {}

    def add(self, event: TallyEvent) -> None:
        """The figures of one event, in file order, as far as its counts do not give them."""
        if not event.printed:
            return
        counts = counts_of(event)
        counted = frozenset(symbol for symbol in SYMBOLS if getattr(counts, symbol) is not None)
        definitions = event.definitions or ""
        for name, text in event.printed.items():
            needed = _needed(definitions, name) if len(name) <= LONGEST_NUMBER else None
            number = parsed(text) if len(text) <= LONGEST_NUMBER else None
            if number is not None and (needed is None or not needed <= counted):
                self._note(event.drafter, (cut(definitions), cut(name)), number.value, text)

    def _note(self, drafter: str, figure: tuple[str, str], value: Fraction, text: str) -> None:
        if len(self._seen) >= MOST_DRAFTERS and drafter not in self._seen:
            return
        mine = self._seen.setdefault(drafter, {})
        seen = mine.get(figure)
        if seen is not None:
            seen.reports, seen.last = seen.reports + 1, text
            seen.least = min(seen.least, (value, text), key=lambda found: found[0])
            seen.most = max(seen.most, (value, text), key=lambda found: found[0])
        elif len(mine) < MOST_FIGURES:
            mine[figure] = _Seen(1, text, (value, text), (value, text))

    def of(self, drafter: str) -> list[EnginePrinted]:
        """What was printed of one drafter, with the formula that the engine has for it."""
        out = []
        for (definitions, name), seen in self._seen.get(drafter, {}).items():
            engine = ENGINES.get(definitions)
            figure = engine.figure(named(name)[0]) if engine else None
            out.append(
                EnginePrinted(
                    name,
                    engine.title if engine else definitions,
                    figure.formula if figure else "",
                    seen.reports,
                    seen.last,
                    seen.least[1],
                    seen.most[1],
                )
            )
        return out


@lru_cache(maxsize=1024)
def _needed(definitions: str, name: str) -> frozenset[str] | None:
    """The counts that a figure is made of; None where its definition is not known."""
    engine = ENGINES.get(definitions)
    figure = engine.figure(named(name)[0]) if engine else None
    return frozenset(figure.symbols) if figure else None
