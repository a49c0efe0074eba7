"""Policies: which of the three measures are taken. A policy says who drafts how much in which order; the parameters say how it fares.

* **partition**: drafters of different tokenizers never share a prefix; one that is not on the prefix has a one-token branch of its own.
* **attribution**: acceptance is charged to the drafter of the refused position alone; that estimate orders the prefix and sets its length.
* **reproposal**: a step without a quorum proposes again, up to its budget, before it falls back to the verifier.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specdiag.simulate.parameters import Parameters

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

CERTAIN = 0.98  # an estimate is kept this far from 0 and 1


@dataclass(frozen=True, slots=True)
class Policy:
    """Which measures are taken."""

    partition: bool = False
    attribution: bool = False
    reproposal: bool = False

    @property
    def measures(self) -> str:
        """The measures, in words."""
        names = [name for name in ("partition", "attribution", "reproposal") if getattr(self, name)]
        return " + ".join(names) or "none"


NAIVE = Policy()
ENFORCED = Policy(partition=True, attribution=True, reproposal=True)
EVERY = tuple(Policy(p, a, r) for p in (False, True) for a in (False, True) for r in (False, True))


@dataclass(frozen=True, slots=True)
class Plan:
    """The leading chain of each request: `drafter[i, k]` proposes `size[i, k]` tokens behind the k blocks before it. A size of 0: no block."""

    drafter: Ints
    size: Ints


def plan(parameters: Parameters, policy: Policy, domain: int, estimate: Reals) -> Plan:
    """The chains of these requests. `estimate[i, d]`: what was learned of drafter d's acceptance in request i."""
    if not policy.attribution:
        fixed = _static_order(parameters, policy, domain)
        tokens = _static_tokens(parameters, len(fixed))
        return Plan(*(np.tile(np.array(row, np.int64), (len(estimate), 1)) for row in (fixed, tokens)))
    order: Ints = np.argsort(-estimate, axis=1, kind="stable").astype(np.int64)
    size = np.full(order.shape, parameters.second_tokens, np.int64)
    size[:, 0] = best_length(parameters, order[:, 0], np.take_along_axis(estimate, order, 1)[:, 0])
    if policy.partition:
        group = tokenizer_groups(parameters)
        size[group[order] != group[order[:, :1]]] = 0
        kept = np.argsort(size == 0, axis=1, kind="stable")
        order, size = np.take_along_axis(order, kept, 1), np.take_along_axis(size, kept, 1)
    return Plan(order, size)


def tokenizer_groups(parameters: Parameters) -> Ints:
    """A number for each drafter's tokenizer."""
    names = [drafter.tokenizer for drafter in parameters.drafters]
    return np.array([names.index(name) for name in names], np.int64)


def _static_order(parameters: Parameters, policy: Policy, domain: int) -> list[int]:
    """The planner, then the router's choice (the domain's own drafter), then the others from the last to the first; with partition, those
    of the router's choice's tokenizer only."""
    planner = parameters.ids.index(parameters.planner)
    others = [d for d in reversed(range(len(parameters.drafters))) if d != planner]
    routed = sorted(others, key=lambda d: d != domain)
    if not policy.partition:
        return [planner, *routed]
    group = tokenizer_groups(parameters)
    return [d for d in routed if group[d] == group[routed[0]]]


def _static_tokens(parameters: Parameters, blocks: int) -> list[int]:
    """As many tokens in all as without partition, spread evenly."""
    total = parameters.static_tokens * len(parameters.drafters)
    return [total // blocks + (k < total % blocks) for k in range(blocks)]


def best_length(parameters: Parameters, drafter: Ints, acceptance: Reals) -> Ints:
    """The block length with most tokens per time, if each token is accepted with this chance (Leviathan, Kalman and Matias 2023, 3.5)."""
    lengths = np.arange(1, parameters.longest + 1)
    cost = parameters.token_cost + np.array([parameters.cost(d) for d in range(len(parameters.drafters))])[drafter]
    a = np.clip(acceptance, 1 - CERTAIN, CERTAIN)[:, None]
    rate = (1 - a ** (lengths + 1)) / (1 - a) / (1 + lengths * cost[:, None])
    best: Ints = np.argmax(rate, axis=1).astype(np.int64) + 1
    return best
