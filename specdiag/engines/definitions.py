"""What a figure of an engine is: a ratio of sums of counts, under the name that the engine gives it.

Symbols: A accepted drafts; R verify rounds with at least one draft; D proposed drafts; G output tokens as the engine counts them; K drafts of a full
block; n requests; P passes of the verifier: rounds with or without a draft, and one of prefill for each request; M drafts that the verifier would
have drawn, wherever they stand; F rounds accepted in full; S_i rounds that accepted at least i drafts; N_i rounds with at least i drafts.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

Family = Literal["length", "rate", "reach", "hazard"]
"""`reach`: S_i / R; `hazard`: S_i / S_(i-1), with S_0 = R; of these two there is one figure for each position. A `bottom` stands for R: `N` for
N_i, or a formula."""

SYMBOLS = {
    "A": "accepted tokens",
    "R": "rounds",
    "D": "proposed tokens",
    "G": "output tokens",
    "K": "the length of a full block",
    "n": "the number of requests",
    "P": "passes of the verifier",
    "M": "matches behind a refusal",
    "F": "rounds accepted in full",
    "S": "rounds by accepted tokens",
    "N": "rounds by their number of drafts",
}

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
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
    P: int | None = None
    M: int | None = None
    F: int | None = None
    S: tuple[int, ...] | None = None
    N: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Ratio:
    """The value of a figure, with what it was made of."""

    numerator: int
    denominator: int

    @property
    def value(self) -> Fraction:
        """Numerator / denominator."""
        return Fraction(self.numerator, self.denominator)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of an engine.

    `top` and `bottom`: sums of products of symbols; `reach` and `hazard` have no `top`. `per`: what the ratio is taken of;
    with `request` the figure is the mean over requests of their ratios. `where`: the field, log line or metric that holds it. `exact`:
    whether the engine writes it with all its digits, so that 0.5 is no rounded 0.507.
    """

    name: str
    family: Family
    top: str = ""
    bottom: str = ""
    unit: Literal["", "%"] = ""
    per: Literal["all", "request"] = "all"
    where: str = ""
    exact: bool = False

    @property
    def formula(self) -> str:
        """The formula, as one reads it."""
        first = _side(self.bottom) if self.bottom else "R"
        by_position = {
            "reach": f"S_i / {'N_i' if first == 'N' else first}",
            "hazard": "S_i / S_(i-1)" + ("" if first == "R" else f", S_0 = {self.bottom}"),
        }
        ratio = by_position.get(self.family) or f"{_side(self.top)} / {_side(self.bottom)}"
        return f"mean over requests of {ratio}" if self.per == "request" else ratio

    @property
    def symbols(self) -> set[str]:
        """The counts that it is made of."""
        found = self.symbols_of(self.top) | self.symbols_of(self.bottom)
        return found if self.family in ("length", "rate") else found | {"R", "S"}

    @staticmethod
    def symbols_of(formula: str) -> set[str]:
        """The symbols of a formula."""
        return {part.id for part in ast.walk(_parsed(formula)) if isinstance(part, ast.Name)} if formula else set()

    def of(self, counts: Counts, position: int = 0) -> Ratio | str:
        """The ratio for these counts; what is missing, where it cannot be formed. `position`, from 1: of `reach` and `hazard`."""
        if self.family in ("reach", "hazard"):
            return _at(self, counts, position)
        known = {name: getattr(counts, name) for name in SYMBOLS}
        try:
            top, bottom = evaluate(self.top, known), evaluate(self.bottom, known)
        except LookupError as missing:
            return f"{SYMBOLS[missing.args[0]]} not known"
        if top < 0 <= bottom:
            return "its numerator is below 0"
        return Ratio(top, bottom) if bottom else "its denominator is 0"

    def counts_in(self, prefill_token: bool) -> list[str]:
        """What the figure counts that another of its family may not, in words. `prefill_token`: whether G holds the token of prefill."""
        if self.family in ("reach", "hazard"):
            said_of = "of all rounds" if self.family == "reach" else "of the rounds that came to the position"
            said_of = "of the rounds with a draft there" if self.bottom == "N" else said_of
            return [said_of, *(["prefill as a round"] if "n" in self.symbols_of(self.bottom) else [])]
        top, bottom = self.symbols_of(self.top), self.symbols_of(self.bottom)
        # What one more round that is accepted in full, or one more request, adds to the counts. A replayed round (R - F) brings no token of its own.
        own, first = {"R": 1, "F": 1, "G": 1, "P": 1}, {"n": 1, "G": int(prefill_token), "P": 1}
        said = {
            "the verifier's own token": _moves(self.top, own) > 0,
            "the token of prefill": _moves(self.top, first) > 0,
            "prefill as a round": _moves(self.bottom, first) > 0 and bool({"R", "P"} & bottom),
            "passes without a draft": "P" in bottom,
            "a round less for each request": _moves(self.bottom, first) < 0,
            "proposed drafts": "D" in top,
            "drafts that match behind a refusal": "M" in top,
            "every block as a full one": "K" in bottom,
            "drafts and the verifier's own tokens as denominator": {"D", "R"} <= bottom,
            "output tokens as denominator": bottom == {"G"} or {"A", "R"} <= bottom,
            "replayed rounds once more": "F" in top,
            "each request alike": self.per == "request",
        }
        return [words for words, holds in said.items() if holds] or ["accepted drafts alone"]


@dataclass(frozen=True, slots=True)
class Counting:
    """How an engine counts a round. `draftless`: whether one without a draft is a round; `padding`: whether one of placeholders is; `stop`: which
    accepted drafts count in a round that ends the output: those before the stop is looked for, those that are kept, those before the token that
    ends it and no refused one (ExLlama), or the kept tokens less one (Hugging Face)."""

    draftless: bool = False
    padding: bool = False
    stop: Literal["before", "kept", "exllama", "less_one"] = "before"


PLAIN = Counting()


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine, or one of its releases: its figures, and how it counts. `prefill_token`: whether G holds the token that prefill samples.
    `title`: name and releases; `source`: where this is from; `unverified`: what of it could not be confirmed."""

    id: str
    title: str
    figures: tuple[Figure, ...]
    prefill_token: bool = True
    source: str = ""
    counting: Counting = PLAIN
    unverified: str = ""

    def figure(self, name: str) -> Figure | None:
        """The figure of this name."""
        return next((figure for figure in self.figures if figure.name == name), None)


def evaluate(formula: str, known: Mapping[str, Any]) -> Any:
    """A sum of products of symbols and whole numbers, over numbers or arrays of them; LookupError names the first symbol that is not known."""
    return _compiled(formula)(known)


@functools.cache
def _parsed(formula: str) -> ast.expr:
    return ast.parse(formula, mode="eval").body


@functools.cache
def _compiled(formula: str) -> Callable[[Mapping[str, Any]], Any]:
    return _made(_parsed(formula))


def _made(node: ast.expr) -> Callable[[Mapping[str, Any]], Any]:
    if isinstance(node, ast.BinOp):
        operator, left, right = _OPERATORS[type(node.op)], _made(node.left), _made(node.right)
        return lambda known: operator(left(known), right(known))
    if isinstance(node, ast.Constant):
        number = node.value
        return lambda known: number
    assert isinstance(node, ast.Name)
    name = node.id

    def value(known: Mapping[str, Any]) -> Any:
        found = known.get(name)
        if found is None:
            raise LookupError(name)
        return found

    return value


def _moves(formula: str, added: Mapping[str, int]) -> int:
    """By how much a formula grows where these are added to its symbols."""
    before = dict.fromkeys(SYMBOLS, 10)
    return int(
        evaluate(formula, {name: n + added.get(name, 0) for name, n in before.items()}) - evaluate(formula, before)
    )


def _at(figure: Figure, counts: Counts, position: int) -> Ratio | str:
    if counts.S is None or counts.R is None:
        return f"{SYMBOLS['S' if counts.S is None else 'R']} not known"
    if not 1 <= position <= len(counts.S):
        return "no round came that far"
    try:
        below = evaluate(figure.bottom or "R", {name: getattr(counts, name) for name in SYMBOLS} | {"N": counts.R})
    except LookupError as missing:
        return f"{SYMBOLS[missing.args[0]]} not known"
    if figure.bottom == "N" and position > 1:
        if counts.N is None or len(counts.N) < position:
            return f"{SYMBOLS['N']} not known"
        below = counts.N[position - 1]
    if figure.family == "hazard" and position > 1:
        below = counts.S[position - 2]
    return Ratio(counts.S[position - 1], below) if below else "its denominator is 0"


def _side(formula: str) -> str:
    return f"({formula})" if " " in formula else formula
