"""What an engine counted by itself: its totals per drafter, and their ratios."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from specdiag.engines.definitions import Counts
from specdiag.report import Rate

Windows = dict[str, dict[tuple[str, int], int]]
"""Counters by window, and by name and position."""

_SYMBOLS = {
    "A": "accepted",
    "R": "rounds",
    "D": "proposed",
    "G": "completion_tokens",
    "M": "matched",
    "n": "requests",
}
NOT_LOGGED = "the engine did not log these counts"
IN_PART = "not every window of the engine's log has these counts"
LARGEST = 1 << 63


@dataclass(frozen=True, slots=True)
class Counters:
    """Totals of one window, or of several drafters. `half`: by how much an estimated count may be off, by symbol. `prefill`: whether G holds
    the token that prefill samples; None where some of it does. `partial`: symbols that some windows have; `reach`: rounds by position, of the
    windows with positions, their rounds first."""

    counts: Counts
    half: dict[str, int] = field(default_factory=dict)
    prefill: bool | None = True
    partial: frozenset[str] = frozenset()
    reach: tuple[int, ...] = ()

    def of(self, name: str, top: str, bottom: str, offset: int = 0) -> Rate:
        """Ratio of two counts, plus an offset."""

        def ratio(counts: Counts) -> tuple[int, int] | str:
            above, below = getattr(counts, top), getattr(counts, bottom)
            if above is None or not below:
                return IN_PART if {top, bottom} & self.partial else NOT_LOGGED
            return above, below

        return self.rate(name, ratio, {top, bottom}, offset)

    def rate(
        self,
        name: str,
        ratio: Callable[[Counts], tuple[int, int] | str],
        symbols: Iterable[str],
        offset: int = 0,
    ) -> Rate:
        """The ratio of these counts, from a function of them. Where a count is estimated, the bounds that its rounding leaves."""
        found = ratio(self.counts)
        if isinstance(found, str):
            return Rate(name, None, absent=found)
        top, bottom = found
        value = plain(Fraction(top, bottom) + offset)
        loose = [symbol for symbol in sorted(symbols) if self.half.get(symbol)]
        if not loose:
            return Rate(name, value, number(top), number(bottom))
        # A ratio of sums of products is monotone in each count, so that its bounds are at corners.
        corners = [ratio(self._moved(dict(zip(loose, signs, strict=True)))) for signs in _signs(len(loose))]
        values = [plain(Fraction(*c) + offset) for c in corners if not isinstance(c, str)]
        low, high = min([value, *values]), max([value, *values])
        return Rate(name, value, number(top), number(bottom), low, high, "rounding", "estimated")

    def _moved(self, signs: dict[str, int]) -> Counts:
        moved = self.counts
        for symbol, sign in signs.items():
            by = sign * self.half[symbol]
            if symbol == "S":
                moved = replace(moved, S=tuple(max(n + by, 0) for n in moved.S or ()))
            else:
                changed: dict[str, Any] = {symbol: max((getattr(moved, symbol) or 0) + by, 0)}
                moved = replace(moved, **changed)
        return moved


def _signs(number: int) -> Iterable[tuple[int, ...]]:
    return itertools.product((-1, 1), repeat=number)


def of_drafter(windows: Windows) -> Counters | None:
    """The counts of the window that covers most rounds: windows overlap, so they are not added."""
    if not windows:
        return None
    return of_window(max(windows.values(), key=lambda c: (c.get(("rounds", 0), 0), c.get(("proposed", 0), 0))))


def of_window(found: dict[tuple[str, int], int]) -> Counters:
    """The counts of one window."""
    events = found.get(("events", 0), 0)

    def total(name: str) -> int | None:
        """A count that every event has: a sum over some of them would be held against one over all."""
        return found.get((name, 0), 0) if events and found.get((f"logged {name}", 0), 0) == events else None

    reached = sorted((position, n) for (name, position), n in found.items() if name == "reached")
    full = [position for name, position in found if name == "full"]
    prefill = found.get(("prefill", 0), 0)
    totals: dict[str, Any] = {symbol: total(name) for symbol, name in _SYMBOLS.items()}
    return Counters(
        Counts(
            **totals,
            K=max(full, default=None),
            S=tuple(n for _, n in reached) if total("reached") is not None else None,
        ),
        {
            symbol: half
            for symbol, name in (_SYMBOLS | {"S": "reached"}).items()
            if (half := found.get((f"half {name}", 0), 0))
        },
        None if 0 < prefill < events else prefill == events,
        frozenset(symbol for symbol, name in _SYMBOLS.items() if 0 < found.get((f"logged {name}", 0), 0) < events),
        (found.get(("rounds with reached", 0), 0), *(n for _, n in reached)),
    )


def engine_rates(counters: Counters | None) -> dict[str, Rate]:
    """Acceptance, length and reach of one drafter, from the engine's own counts."""
    if counters is None:
        return {}
    out = {
        "engine_draft_acceptance": counters.of("engine_draft_acceptance", "A", "D"),
        "engine_acceptance_length": counters.of("engine_acceptance_length", "A", "R", 1),
    }
    rounds, *reached = counters.reach or (0,)
    of_these = Counters(Counts(R=rounds), {"R": counters.half.get("R", 0), "A": counters.half.get("S", 0)})
    for position, number in enumerate(reached, 1):
        here = replace(of_these, counts=Counts(A=number, R=rounds))
        out[f"engine_position_reach_{position}"] = here.of("engine_position_reach", "A", "R")
    return out


def plain(value: Fraction) -> float:
    """Twelve digits, as of every figure."""
    return float(f"{float(value):.12g}")


def number(value: int) -> float:
    """A count as a report can carry it, which may be larger than a number in an array."""
    return value if abs(value) < LARGEST else float(value)
