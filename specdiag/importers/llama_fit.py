"""The rounds of one task of llama-server, from what is printed beside its exact sums.

A accepted and D proposed drafts are counts. R follows from the mean length 1 + A / R (two decimals), from the rates S_i / R (three), or from the
output: G = 1 + A + R where every round had a draft and no stop cut the last one. One number is exact; several are an estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from specdiag.importers.rounded import MOST_POSITIONS, Bounds, bounds, fitted


class Fit(NamedTuple):
    """R and the S_i, None where nothing tells them; by how much each may be off."""

    rounds: int | None = None
    reached: list[int] | None = None
    estimated: dict[str, int] | None = None


def rounds_of(
    accepted: int, proposed: int, length: str | None, rates: Sequence[str], output: int | None, most: int | None
) -> Fit | str:
    """What the figures leave; a sentence where no whole number of rounds fits them. `most`: drafts of a full block, where the log says so."""
    if not proposed:
        return Fit(0)
    guess = None if output is None else output - 1 - accepted  # R, where every round had a draft
    if length is None:
        return _by_output(proposed, guess, most)
    per_round = bounds(length).less(1)
    if rates and accepted and len(rates) <= MOST_POSITIONS:
        found = fitted(accepted, proposed, [bounds(rate) for rate in rates], per_round)
        if found is None:
            return f"no number of rounds gives {length} and {', '.join(rates[:8])} for {accepted} / {proposed}"
        return Fit(found.rounds, [*found.reached], found.estimated)
    return _by_length(accepted, proposed, per_round, guess, most or len(rates) or proposed)


def _by_length(accepted: int, proposed: int, per_round: Bounds, guess: int | None, most: int) -> Fit | str:
    first, last = max(-(-proposed // most), 1), proposed
    if per_round.high < 0 or (per_round.low > 0 and not accepted):
        return f"{accepted} accepted, and another mean length"
    if accepted:
        first = max(first, -(-accepted * per_round.scale // per_round.high))
        last = min(last, accepted * per_round.scale // per_round.low) if per_round.low > 0 else last
    if first > last:
        return f"no number of rounds gives the mean length for {accepted} / {proposed}"
    if first == last:
        return Fit(first)
    if guess is not None and first <= guess <= last:
        return Fit(guess, None, {"rounds": max(guess - first, last - guess)})
    # Where nothing was accepted any number of rounds has the length 1; without an estimate the others alone would make a length that is too high.
    middle = (first + last) // 2
    return Fit(middle, None, {"rounds": last - middle})


def _by_output(proposed: int, guess: int | None, most: int | None) -> Fit:
    """Where no length is printed: rounds without a draft cannot be told from others, so R is only known if D needs as many rounds."""
    if guess is None or not most or not 0 < guess <= proposed:
        return Fit()
    least = -(-proposed // most)
    if guess < least:  # a stop cut the output: the last round gave more than is in it
        return Fit()
    return Fit(guess, None, {"rounds": guess - least} if guess > least else None)
