"""Rounds, and rounds by position, from exact sums beside rounded figures: every whole number that would be printed so.

Given A accepted and D proposed drafts, exactly, and the rates S_i / R of each of K positions, rounded: R and S_i are whole numbers, S_1 ≥ S_2 ≥ …,
ΣS_i = A, D ≤ K·R, and each rounds to what stands there. The mean length, where it is printed, narrows R further. In most windows one number is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MOST_TRIED = 1000  # numbers of rounds; of a window that leaves more, so many of them are tried, evenly spaced
MOST_POSITIONS = 1024


class Bounds(NamedTuple):
    """What a printed number may stand for: from `low` to `high`, over `scale`."""

    low: int
    high: int
    scale: int

    def less(self, whole: int) -> Bounds:
        """With this whole number taken off."""
        return Bounds(self.low - whole * self.scale, self.high - whole * self.scale, self.scale)


class Rounds(NamedTuple):
    """R and the S_i, and by how much each may be off."""

    rounds: int
    spread: int
    reached: tuple[int, ...]
    reached_spread: int

    @property
    def estimated(self) -> dict[str, int] | None:
        """For a tally: which of its counts follow from rounded figures only."""
        spread = {"rounds": self.spread, "reached": self.reached_spread}
        return {name: width for name, width in spread.items() if width} or None


def bounds(text: str) -> Bounds:
    """Of a number as printed, digits and a point, a percentage as a fraction. Half a unit of the last place, and a little for how it was computed."""
    number = text.rstrip("%")
    decimals = len(number.partition(".")[2])
    digits = int(number.replace(".", ""))
    scale = 100 * 10**decimals * (100 if text.endswith("%") else 1)
    return Bounds(100 * digits - 51, 100 * digits + 51, scale)


def may_be(top: int, bottom: int, printed: Bounds) -> bool:
    """Whether top / bottom may be printed so."""
    return bottom > 0 and printed.low * bottom <= top * printed.scale <= printed.high * bottom


def fitted(
    accepted: int, proposed: int, rates: Sequence[Bounds], per_round: Bounds | None = None, rounds: int | None = None
) -> Rounds | None:
    """What these figures leave. None where no whole number fits them. `per_round`: A / R, where it is printed. `rounds`: R, where it is known.
    Where several fit, the one of full blocks, D / K, if it is among them, else the middle one."""
    most = len(rates)
    if not 0 < most <= MOST_POSITIONS or not 0 <= accepted <= proposed:
        return None
    first, last = _range(accepted, proposed, rates, per_round)
    if rounds is not None:
        first, last = (rounds, rounds) if first <= rounds <= last else (1, 0)
    full = proposed // most if proposed % most == 0 else 0
    if accepted == 0:
        idle = all(rate.low <= 0 for rate in rates) and (per_round is None or per_round.low <= 0 <= per_round.high)
        return Rounds(first, last - first, (0,) * most, 0) if idle and first <= last else None
    if first > last:
        return None
    step = (last - first) // MOST_TRIED + 1
    tried = sorted({*range(first, last + 1, step), *([full] if first <= full <= last else [])})
    fitting = {number: found for number in tried if (found := _positions(accepted, number, rates)) is not None}
    if not fitting:
        return None
    chosen = full if full in fitting else [*fitting][len(fitting) // 2]
    reached = _chosen(accepted, chosen, rates, fitting[chosen])
    ends = [*fitting] if step == 1 else [first, last]  # between those that were tried others may fit
    spread = max(abs(number - chosen) for number in ends)
    return Rounds(
        chosen,
        spread,
        reached,
        spread
        if step > 1
        else max(
            max(high - at, at - low)
            for lows, highs in fitting.values()
            for low, high, at in zip(lows, highs, reached, strict=True)
        ),
    )


def _range(accepted: int, proposed: int, rates: Sequence[Bounds], per_round: Bounds | None) -> tuple[int, int]:
    """The least and the largest number of rounds: A / R is the sum of the rates, and a round has K drafts at most. That it has one at least bounds
    them only where the rates do not: drafts that a grammar rules out are taken from D, and their rounds count all the same."""
    first, last = max(-(-proposed // len(rates)), 1), max(proposed, 1)
    if not accepted:
        return first, last
    upper = []
    scale = max(rate.scale for rate in rates)
    low = sum(max(rate.low, 0) * (scale // rate.scale) for rate in rates)
    high = sum(rate.high * (scale // rate.scale) for rate in rates)
    for bound in (Bounds(low, high, scale), per_round):
        if bound is not None:
            if bound.high <= 0:
                return 1, 0
            first = max(first, -(-accepted * bound.scale // bound.high))
            if bound.low > 0:
                upper.append(accepted * bound.scale // bound.low)
    return first, min(upper, default=last)


def _positions(accepted: int, rounds: int, rates: Sequence[Bounds]) -> tuple[list[int], list[int]] | None:
    """The least and the largest S_i for this R; None where the rates cannot be those of so many rounds."""
    lows = [max(-(-rate.low * rounds // rate.scale), 0) for rate in rates]
    highs = [min(rate.high * rounds // rate.scale, rounds) for rate in rates]
    for i in range(1, len(rates)):
        highs[i] = min(highs[i], highs[i - 1])
        lows[-i - 1] = max(lows[-i - 1], lows[-i])
    below, above = sum(lows), sum(highs)
    if not below <= accepted <= above or any(low > high for low, high in zip(lows, highs, strict=True)):
        return None
    return (
        [max(low, accepted - (above - high)) for low, high in zip(lows, highs, strict=True)],
        [min(high, accepted - (below - low)) for low, high in zip(lows, highs, strict=True)],
    )


def _chosen(accepted: int, rounds: int, rates: Sequence[Bounds], found: tuple[list[int], list[int]]) -> tuple[int, ...]:
    """S_i that fall and add up to A: the nearest to what is printed, moved within their bounds."""
    lows, highs = found
    reached: list[int] = []
    for rate, low, high in zip(rates, lows, highs, strict=True):
        near = ((rate.low + rate.high) * rounds + rate.scale) // (2 * rate.scale)
        reached.append(min(max(near, low), high, reached[-1] if reached else high))
    missing = accepted - sum(reached)
    for i in range(len(reached)) if missing > 0 else reversed(range(len(reached))):
        moved = min(max(missing, lows[i] - reached[i]), highs[i] - reached[i])
        reached[i] += moved
        missing -= moved
    return tuple(reached)
