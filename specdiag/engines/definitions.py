"""What a figure of an engine is: a ratio of sums of counts, under the name that the engine gives it.

Symbols: A accepted drafts; R verify rounds with at least one draft; D proposed drafts; G output tokens as the engine counts them; K drafts of a full
block; n requests; M drafts that the verifier would have drawn, wherever they stand; S_i rounds that accepted at least i drafts.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from specdiag.engines.counting import PLAIN, Counting

Family = Literal["length", "rate", "reach", "hazard"]
"""`reach`: S_i / R, or S_i / N_i where that is the `bottom`; `hazard`: S_i / S_(i-1), with S_0 = R; of these two there is one figure for each
position."""

SYMBOLS = {
    "A": "accepted tokens",
    "R": "rounds",
    "D": "proposed tokens",
    "G": "output tokens",
    "K": "the length of a full block",
    "n": "the number of requests",
    "M": "matches behind a refusal",
    "S": "rounds by accepted tokens",
    "N": "rounds by proposed tokens",
}

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of some rounds, by symbol; None where they are not known."""

    A: int | None = None
    R: int | None = None
    D: int | None = None
    G: int | None = None
    K: int | None = None
    n: int | None = None
    M: int | None = None
    S: tuple[int, ...] | None = None
    N: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Ratio:
    """The value of a figure, with what it was made of."""

    numerator: Fraction
    denominator: Fraction

    @property
    def value(self) -> Fraction:
        """Numerator / denominator."""
        return self.numerator / self.denominator


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of an engine. `top` and `bottom`: sums of products of symbols, empty for `reach` and `hazard`. `per`: what the ratio is taken of;
    with `request` the figure is the mean over requests of their ratios. `where`: the field, log line or metric that holds it. `unverified`: what
    about it could not be confirmed. `counting`: how its rounds are counted, where that is not the engine's way."""

    name: str
    family: Family
    top: str = ""
    bottom: str = ""
    unit: Literal["", "%"] = ""
    per: Literal["all", "request"] = "all"
    where: str = ""
    unverified: str = ""
    counting: Counting | None = None

    @property
    def formula(self) -> str:
        """The formula, as one reads it."""
        plain = {"reach": "S_i / N_i" if self.bottom == "N" else "S_i / R", "hazard": "S_i / S_(i-1)"}
        ratio = plain.get(self.family) or f"{_side(self.top)} / {_side(self.bottom)}"
        return f"mean over requests of {ratio}" if self.per == "request" else ratio

    def of(self, counts: Counts, position: int = 0) -> Ratio | str:
        """The ratio for these counts; what is missing, where it cannot be formed. `position`, from 1: of `reach` and `hazard`."""
        if self.family in ("reach", "hazard"):
            return _at(self, counts, position)
        try:
            top, bottom = evaluate(self.top, counts), evaluate(self.bottom, counts)
        except LookupError as missing:
            return f"{SYMBOLS[missing.args[0]]} not known"
        return Ratio(top, bottom) if bottom else "its denominator is 0"


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine, or one of its releases: its figures, and how it counts. `prefill_token`: whether G holds the token that prefill samples.
    `title`: name and releases; `source`: where this is from; `counting`: what a round counts as."""

    id: str
    title: str
    figures: tuple[Figure, ...]
    prefill_token: bool = True
    source: str = ""
    counting: Counting = PLAIN

    def figure(self, name: str) -> Figure | None:
        """The figure of this name."""
        return next((figure for figure in self.figures if figure.name == name), None)


def evaluate(formula: str, counts: Counts) -> Fraction:
    """A sum of products of symbols and numbers; LookupError names the first symbol that is not known."""

    def of(symbol: str) -> Fraction:
        value = getattr(counts, symbol)
        if value is None:
            raise LookupError(symbol)
        return Fraction(value)

    result: Fraction = _value(_parsed(formula), of)
    return result


def evaluate_arrays(formula: str, known: Mapping[str, Any]) -> Any:
    """The same over arrays of counts; LookupError names the first symbol that is not known."""

    def of(symbol: str) -> Any:
        if known.get(symbol) is None:
            raise LookupError(symbol)
        return known[symbol]

    return _value(_parsed(formula), of)


def symbols_of(figure: Figure) -> set[str]:
    """The symbols in the formula of a figure."""
    if figure.family in ("reach", "hazard"):
        return {"S", "R"}
    sides = (_parsed(figure.top), _parsed(figure.bottom))
    return {node.id for side in sides for node in ast.walk(side) if isinstance(node, ast.Name)}


@functools.cache
def _parsed(formula: str) -> ast.expr:
    return ast.parse(formula, mode="eval").body


def _value(node: ast.expr, of: Callable[[str], Any]) -> Any:
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left, of), _value(node.right, of))
    if isinstance(node, ast.Constant):
        return node.value
    assert isinstance(node, ast.Name)
    return of(node.id)


def _at(figure: Figure, counts: Counts, position: int) -> Ratio | str:
    if counts.S is None or counts.R is None:
        return f"{SYMBOLS['S' if counts.S is None else 'R']} not known"
    survivors = (counts.R, *counts.S)
    if not 1 <= position < len(survivors):
        return "no round came that far"
    below = survivors[position - 1] if figure.family == "hazard" else counts.R
    if figure.bottom == "N" and counts.N is not None:  # else every block is taken to be full
        below = counts.N[position - 1]
    return Ratio(Fraction(survivors[position]), Fraction(below)) if below else "its denominator is 0"


def _side(formula: str) -> str:
    return f"({formula})" if " " in formula else formula
