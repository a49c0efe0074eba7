"""How a figure is written: its value, its interval, its numerator and denominator, and where it comes from.

The rule for values is that of coverage.py: what is shown as 0 is 0 and what is shown as 1 is 1. A missing value is a
dash, never a zero. A mark before the value tells the sources apart: `~` for an estimated one, `*` for one that was
recomputed from logged probabilities.
"""

from __future__ import annotations

from math import copysign

from specdiag.render.bars import UNICODE, Glyphs
from specdiag.report import Rate

# Differences: shown with their sign, since a gain and a loss must not look alike.
SIGNED = frozenset({"interaction", "joint_change"})
# Sums of probabilities carry rounding errors of about 1e-16 a term.
_SAME = 1e-9
_EXACT_BELOW = 100
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))

INTERVALS = {
    "poisson_bootstrap": ("", "Poisson bootstrap over requests"),
    "poisson_bootstrap_repeats": ("r", "the same, widened because requests repeat"),
    "wilson_rounds": ("w", "Wilson on rounds, because there are too few requests; too narrow"),
    "rounding": ("", "what rounded figures of the engine leave"),
    "exact_one_sided": ("", "exact one-sided bound, where all or none of n were accepted"),
}
SOURCES = {"estimated": "~ estimated", "recomputed": "* recomputed from logged probabilities"}


def number(value: float, *, signed: bool = False) -> str:
    """Three decimals, fewer from 10 on; never 0 or 1 for a value that is not exactly that."""
    digits = 3 if abs(value) < 10 else 2 if abs(value) < 100 else 1
    for edge in (0.0, 1.0, -1.0):
        if abs(value - edge) < _SAME:
            value = edge
        elif float(f"{value:.{digits}f}") == edge:
            value = edge + copysign(10.0**-digits, value - edge)
    return f"{value + 0.0:+,.{digits}f}" if signed else f"{value + 0.0:,.{digits}f}"


def count(n: float) -> str:
    """A numerator or denominator, with thousands separators; small sums of probabilities or seconds keep a decimal."""
    return f"{n:,.0f}" if float(n).is_integer() or abs(n) >= _EXACT_BELOW else f"{n:,.1f}"


def counted(number: int, noun: str) -> str:
    """A number and its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(level: float) -> str:
    """A confidence level: 95%, 99.9%."""
    return f"{level * 100:g}%"


def short(n: float) -> str:
    """A count in at most five characters, where the exact one does not fit."""
    for size, unit in _UNITS:
        if abs(n) >= size * 0.9995:
            return f"{n / size:.3g}{unit}" if abs(n) < size * 999.5 else f"{n / size:,.0f}{unit}"
    return f"{n:.3g}" if abs(n) >= 1 or n == 0 else f"{n:.1f}"


def ratio(rate: Rate, width: int = 99) -> str:
    """numerator/denominator: exact where that fits into `width`, else to three digits; empty where there are none."""
    if rate.numerator is None or rate.denominator is None:
        return ""
    exact = f"{count(rate.numerator)}/{count(rate.denominator)}"
    bare = exact.replace(",", "")
    rounded = f"{short(rate.numerator)}/{short(rate.denominator)}"
    return next((text for text in (exact, bare) if len(text) <= width), rounded)


def figure(rate: Rate | None, glyphs: Glyphs = UNICODE) -> str:
    """The value with the mark of its source; a dash where it is missing."""
    if rate is None or rate.value is None:
        return glyphs.dash
    value = number(rate.value, signed=rate.name in SIGNED)
    return {"estimated": f"~{value}", "recomputed": f"*{value}"}.get(rate.source, value)


def interval(rate: Rate, glyphs: Glyphs = UNICODE) -> str:
    """The interval, with the mark of a method that is not the usual one. Empty where there is none."""
    mark = INTERVALS.get(rate.interval or "", ("", ""))[0]
    if rate.interval == "exact_one_sided":
        return _one_sided(rate, glyphs)
    if rate.low is None or rate.high is None:
        return ""
    signed = rate.name in SIGNED
    low, high = number(rate.low, signed=signed), number(rate.high, signed=signed)
    # A dash between signed numbers would read as a minus.
    return f"{low}{' to ' if signed or rate.low < 0 else glyphs.span}{high}{mark}"


def _one_sided(rate: Rate, glyphs: Glyphs) -> str:
    if rate.high is not None and (rate.value is None or rate.high > rate.value):
        return f"{glyphs.at_most}{number(rate.high)}"
    return f"{glyphs.at_least}{number(rate.low)}" if rate.low is not None else ""
