"""A figure as an engine printed it, against what the counts beside it give; and where they differ, which definition would give it.

A number that was printed with k decimals stands for all that round to it: half a unit of the last one either way.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from specdiag.engines.catalogue import ENGINES
from specdiag.engines.definitions import Counts, Engine, Figure, Ratio

LAST_BITS = Fraction(1, 2**51)  # of a float, relative to it: what two or three operations on it may lose
FLOAT32 = Fraction(1, 2**22)
MOST_EXPLAINED = 3  # definitions that a note names
_NUMBER = re.compile(r"(-?\d+(?:\.(\d+))?(?:[eE]([+-]?\d+))?)(%?)")


class Printed(NamedTuple):
    """A printed number, and how far the true one may lie from it."""

    value: Fraction
    slack: Fraction

    def is_(self, ratio: Ratio | str) -> bool:
        """Whether this ratio would be printed so."""
        if not isinstance(ratio, Ratio):
            return False
        # Crosswise, since making a fraction of every ratio of a long log takes longer than reading it.
        value, slack = self.value, self.slack
        off = abs(ratio.numerator * value.denominator - value.numerator * ratio.denominator) * slack.denominator
        return off <= slack.numerator * abs(ratio.denominator) * value.denominator

    @property
    def unrounded(self) -> Printed:
        """The same, of an engine that writes all digits: off by those of a 32-bit float at most."""
        return Printed(self.value, min(self.slack, max(abs(self.value) * FLOAT32, LAST_BITS)))


@functools.lru_cache(1024)
def parsed(text: str) -> Printed | None:
    """A number as printed, a percentage as a fraction; None for what is none (nan)."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None or (found[3] and abs(int(found[3])) > 300):
        return None
    decimals = len(found[2] or "") - int(found[3] or 0)
    unit = Fraction(1, 100) if found[4] else Fraction(1)
    # A float that was printed whole is off by its own last bits, too, which may be more than half of its last digit.
    value = Fraction(found[1])
    slack = max(Fraction(51, 100) / Fraction(10) ** decimals, abs(value) * LAST_BITS)
    return Printed(value * unit, slack * unit)


class Differs(NamedTuple):
    """A printed figure that the counts do not give: a sentence with both values, and the definitions that would give it."""

    figure: str
    sentence: str


def differing(definitions: str, printed: dict[str, str], counts: Counts) -> Iterator[Differs]:
    """Each printed figure, of an engine's definitions, that its counts do not give. What they cannot decide is passed over."""
    engine = ENGINES.get(definitions)
    for name, text in printed.items():
        base, position = named(name)
        figure = engine.figure(base) if engine else None
        said = parsed(text)
        if said is not None and figure is not None and figure.exact:
            said = said.unrounded
        ratio = figure.of(counts, position) if figure else ""
        if engine is None or figure is None or said is None or not isinstance(ratio, Ratio) or said.is_(ratio):
            continue
        if figure.per == "request" and counts.n != 1:
            continue  # a mean of means, which pooled counts cannot give: whoever read the file may know more
        sentence = f"{name} {text} printed, {_shown(ratio, figure)} by {figure.formula} = {ratio.numerator} / {ratio.denominator}"
        why = "; ".join(_explained(said, figure, position, counts, engine)) or "no definition known here gives it"
        yield Differs(name, f"{sentence}: {why}")


def named(name: str) -> tuple[str, int]:
    """`Per-position acceptance rate[2]` → the name of the figure, and the position, from 1."""
    found = re.fullmatch(r"(.*)\[(\d+)\]", name)
    return (found[1], int(found[2])) if found else (name, 0)


def _shown(ratio: Ratio, figure: Figure) -> str:
    value = float(ratio.value)
    return f"{value:.2%}" if figure.unit else f"{value:.4g}"


def _explained(said: Printed, figure: Figure, position: int, counts: Counts, engine: Engine) -> Iterator[str]:
    """The definitions and other ways to count that give the printed figure, the plainest first."""
    told = 0
    seen: set[str] = set()
    for what, changed in _other_ways(counts):
        for other in (engine, *(e for e in ENGINES.values() if e is not engine)):
            for candidate in other.figures:
                if told == MOST_EXPLAINED or candidate.family not in _KIN[figure.family] or candidate.per != "all":
                    continue
                formula = f"{candidate.formula}{what}"
                if formula not in seen and said.is_(candidate.of(changed, position)):
                    seen.add(formula)
                    told += 1
                    yield f"{formula} would give it" + (f" ({other.title})" if other is not engine else "")
        if told:
            return


_KIN = {
    "length": ("length",),
    "rate": ("rate",),
    "reach": ("reach", "hazard"),
    "hazard": ("reach", "hazard"),
}


def _other_ways(counts: Counts) -> Iterator[tuple[str, Counts]]:
    """(what is counted otherwise, the counts then): as they are; with the token of prefill; replayed; with blocks taken to be full."""
    yield "", counts
    if counts.A is not None and counts.R is not None:
        if counts.n is not None:
            yield ", with prefill as a round", replace(counts, R=counts.R + counts.n)
            yield ", with the token of prefill", replace(counts, A=counts.A + counts.n)
        if counts.K is not None:
            yield ", with every block taken to be full", replace(counts, D=counts.R * counts.K)
        full = counts.S[counts.K - 1] if counts.S and counts.K and len(counts.S) >= counts.K else None
        if full is not None:
            yield ", with cut rounds replayed and counted again", replace(counts, A=counts.A + counts.R - full)
        yield ", with the verifier's own token as a draft", replace(counts, A=counts.A + counts.R)
