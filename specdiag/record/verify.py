"""Verdicts on a chain of proposed tokens. Each rule gives output distributed exactly as the verifier's own, whatever was proposed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np

from specdiag.record.laws import Law, draw, residual
from specdiag.record.protocols import Rows


class Rule(StrEnum):
    """How the verifier judges; the words are those of the trace's header."""

    rejection = "rejection"
    exact_match = "exact_match"
    greedy = "greedy"


@dataclass(frozen=True, slots=True)
class Ruling:
    """What became of a chain: its accepted prefix, one uniform for each judged token (None where the rule takes none), and the verifier's
    own token behind it with its probability."""

    accepted: int
    u: tuple[float | None, ...]
    token: int
    kind: Literal["correction", "bonus"]
    p: float


Judge = Callable[[Rule, Sequence[int], Sequence[Law | None], Rows, np.random.Generator], Ruling]


def judge(rule: Rule, tokens: Sequence[int], q: Sequence[Law | None], p: Rows, rng: np.random.Generator) -> Ruling:
    """Judge `tokens` in order, up to the first refusal. `q[i]` is the whole law that token i was drawn from: under `rejection` a token
    without one is kept if it equals the verifier's own draw."""
    uniforms: list[float | None] = []
    for place, (token, law) in enumerate(zip(tokens, q, strict=True)):
        uniform, instead = _judged(rule, token, law, p[place], rng)
        uniforms.append(uniform)
        if instead is not None:
            return Ruling(place, tuple(uniforms), instead, "correction", float(p[place, instead]))
    bonus = _own(rule, p[len(tokens)], rng)
    return Ruling(len(tokens), tuple(uniforms), bonus, "bonus", float(p[len(tokens), bonus]))


def _judged(rule: Rule, token: int, q: Law | None, p: Law, rng: np.random.Generator) -> tuple[float | None, int | None]:
    """The uniform of this verdict, and the token in place of a refused one."""
    if rule is not Rule.rejection or q is None:
        own = _own(rule, p, rng)
        return None, None if own == token else own
    uniform = 1 - rng.random()  # in (0, 1]: a token with p = 0 is never kept
    if uniform * q[token] <= p[token]:
        return uniform, None
    return uniform, draw(residual(p, q), rng.random())


def _own(rule: Rule, p: Law, rng: np.random.Generator) -> int:
    return int(p.argmax()) if rule is Rule.greedy else draw(p, rng.random())
