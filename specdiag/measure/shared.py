"""Shared prefixes: joint acceptance, what composition alone explains, what each drafter is worth, and its Shapley share of the loss.

Sources: docs/metrics.md; the Shapley value of the expected loss in closed form is derived in docs/method.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from specdiag.measure.drafters import first_rounds, position
from specdiag.measure.intervals import Rates
from specdiag.measure.survival import Survival, Walk, times
from specdiag.measure.tables import MAX_POSITIONS, Blocks, Row, Tables
from specdiag.measure.tally import BlockKind, RoundKind
from specdiag.report import Marginal, Position, Rate, Shared, Source
from specdiag.trace.chains import MAX_ANCESTORS, NONE

Reals = NDArray[np.float64]
MAX_POOL = 16  # drafters on shared chains: beyond, leaving each out in turn says nothing and costs much
TOO_DEEP = f"a chain has more than {MAX_ANCESTORS} blocks before the last: it is not followed to its end"


def shared(tables: Tables, rates: Rates) -> Shared | None:
    """Figures over shared chains; None where there was no shared round."""
    rounds = tables.rounds(_counts)
    if not rounds[0]:
        return None
    blocks = tables.blocks.where(tables.blocks.shared)
    everything = np.ones(len(blocks.kinds), bool)
    truncating = tables.rounds(lambda key: _counts(key) and key.truncated)
    depth = blocks.total("depth")
    joint = joint_acceptance(tables, rates)
    composed, reason = composition(tables)
    inherited, unseen = inheritance(tables)
    independent = tables.blocks.view("independent")
    figures = {
        "joint_acceptance": joint,
        "inherited_acceptance": rates.rate(
            "inherited_acceptance",
            inherited,
            blocks.total("size"),
            rounds=int(rounds[0]),
            source="estimated",
            absent=unseen,
        ),
        "inheritance_gap": _less(blocks, inherited, rates, "inheritance_gap", unseen),
        "composition_acceptance": rates.rate(
            "composition_acceptance",
            composed,
            blocks.total("size"),
            rounds=int(rounds[0]),
            source="estimated",
            absent=reason,
        ),
        "interaction": _less(blocks, composed, rates, "interaction", reason),
        "independent_acceptance": rates.rate(
            "independent_acceptance",
            tables.blocks.total("accepted", independent),
            tables.blocks.total("size", independent),
            rounds=first_rounds(tables.blocks, independent),
            absent="no round verified the block of one drafter only",
        ),
        "committed_per_round_shared": rates.rate(
            "committed_per_round_shared",
            blocks.total("accepted") + tables.rounds(lambda key: _counts(key) and key.verifier_token),
            rounds,
            proportion=False,
        ),
        "truncation_rate": rates.rate("truncation_rate", truncating, rounds, rounds=int(rounds[0])),
        "truncation_depth": rates.rate("truncation_depth", depth, rounds, proportion=False),
        "truncation_depth_when_truncated": rates.rate(
            "truncation_depth_when_truncated",
            depth,
            truncating,
            proportion=False,
            absent="no shared round was truncated",
        ),
    }
    return Shared(
        int(rounds[0]),
        int(truncating[0]),
        blocks.fates(everything),
        int(depth[0]),
        figures,
        chain_positions(blocks, rates),
    )


def _counts(round: RoundKind) -> bool:
    """Shared, and judged: a round that was aborted, or whose verdicts are lost, is no evidence of sharing."""
    return round.shared and round.judged


def joint_acceptance(tables: Tables, rates: Rates) -> Rate:
    """Accepted / submitted tokens on shared chains."""
    rounds = int(tables.rounds(_counts)[0])
    mask = tables.blocks.shared & (rounds > 0)
    absent = "not observed: no round verified blocks of two or more drafters on one chain"
    return rates.rate(
        "joint_acceptance",
        tables.blocks.total("accepted", mask),
        tables.blocks.total("size", mask),
        rounds=rounds,
        absent=absent,
    )


def composition(tables: Tables) -> tuple[Reals, str]:
    """Expected accepted tokens on the shared chains if each drafter kept its alone acceptance per position; why not, where it cannot be said."""
    blocks = tables.blocks.where(tables.blocks.shared)
    if not _followed(blocks):
        return np.full(1 + tables.replicates, np.nan), TOO_DEEP
    alone = Survival.of(tables.blocks.where(tables.blocks.view("solo")), blocks.drafters)
    walk = alone.walk()
    total = np.zeros(1 + tables.replicates)
    for kind, seen in zip(blocks.kinds, blocks.counts.T, strict=True):
        expected = times(walk.along(kind.path), alone.accepted(kind.drafter, kind.size))
        if np.isnan(expected[0]):
            return np.full(1 + tables.replicates, np.nan), _unseen(alone, (*kind.path, _last(kind)), "alone")
        total = total + np.where(seen > 0, seen * expected, 0)
    return total, ""


def _followed(blocks: Blocks) -> bool:
    return all(kind.followed for kind in blocks.kinds)


def _last(kind: BlockKind) -> tuple[str, int]:
    return kind.drafter, kind.size


def _unseen(survival: Survival, steps: Iterable[tuple[str, int]], where: str) -> str:
    """Whose acceptance at which position is not known; nothing, where all of these are."""
    for name, tokens in steps:
        if np.isnan(survival.reach(name, tokens)[0]):
            known = int(np.isfinite(survival.through[name][0]).sum()) - 1
            return f"{name} was never judged {where} at position {known + 1}"
    return ""


def inheritance(tables: Tables) -> tuple[Reals, str]:
    """Accepted tokens on the shared chains if each drafter's submitted tokens there were accepted as often as those of its blocks alone: what
    is assumed where drafters are tuned one by one. Why not, where it cannot be said."""
    blocks = tables.blocks.where(tables.blocks.shared)
    total = np.zeros(1 + tables.replicates)
    for drafter in blocks.drafters:
        alone = tables.blocks.of_drafter(drafter)
        submitted = alone.total("size", alone.view("solo"))
        if not submitted[0]:
            return np.full(1 + tables.replicates, np.nan), f"{drafter} was never seen alone"
        with np.errstate(divide="ignore", invalid="ignore"):
            share = alone.total("accepted", alone.view("solo")) / submitted
        total = total + times(blocks.of_drafter(drafter).total("size").astype(np.float64), share)
    return total, ""


def _less(blocks: Blocks, expected: Reals, rates: Rates, name: str, reason: str) -> Rate:
    """Joint acceptance less an expectation of it, on the same replicates."""
    size = blocks.total("size")
    with np.errstate(divide="ignore", invalid="ignore"):
        return rates.value(name, (blocks.total("accepted") - expected) / size, absent=reason)


def chain_positions(blocks: Blocks, rates: Rates) -> list[Position]:
    """Acceptance by position along the shared chain, over all blocks of it."""
    before = np.array([sum(tokens for _, tokens in kind.path) for kind in blocks.kinds], np.int64)
    longest = int(min(MAX_POSITIONS, (before + blocks.column["size"]).max(initial=0)))
    heads = blocks.counts[:, before == 0].sum(axis=1)
    out = []
    for i in range(1, longest + 1):
        here = {
            name: blocks.counts[:, (before < i) & (i <= before + blocks.column[name])].sum(axis=1)
            for name in ("size", "judged", "accepted")
        }
        out.append(position(rates, i, here["judged"], here["accepted"], here["size"], heads))
    return out


def marginals(tables: Tables, rates: Rates) -> list[Marginal]:
    """The shared prefixes without each drafter in turn."""
    blocks = tables.blocks.where(tables.blocks.shared)
    drafters = blocks.drafters
    if not 1 < len(drafters) <= MAX_POOL:
        return []
    inside = Survival.of(blocks, drafters)
    loss = shapley(blocks, inside, drafters)
    rounds = tables.rounds(_counts)
    added = tables.rounds(lambda key: _counts(key) and key.verifier_token)
    return [_marginal(drafter, blocks, inside, loss, rounds, added, rates) for drafter in drafters]


def _marginal(
    drafter: str, blocks: Blocks, inside: Survival, loss: dict[str, Reals], rounds: Row, added: Row, rates: Rates
) -> Marginal:
    without = _without(drafter, blocks, inside)
    size = without.decided + without.estimated
    others = [kind for kind in blocks.kinds if kind.drafter != drafter]
    reason = _why(blocks, inside, others, drafter) if others else f"every shared token is {drafter}'s"
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = blocks.total("accepted") / blocks.total("size")
        change = without.accepted / size - joint
    source: Source = "estimated" if without.estimated[0] else "recomputed"
    total = sum(loss.values(), np.zeros(inside.rows))
    return Marginal(
        drafter,
        rates.rate("joint_without", without.accepted, size, rounds=int(rounds[0]), source=source, absent=reason),
        rates.value("joint_change", change, source, absent=reason),
        rates.rate(
            "committed_per_round_without",
            without.accepted + added,
            rounds,
            proportion=False,
            source=source,
            absent=reason,
        ),
        rates.rate("decided_share", without.decided, size, rounds=int(rounds[0]), absent=reason),
        rates.rate(
            "shapley_share",
            loss[drafter],
            total,
            proportion=False,
            source="estimated",
            absent=_why(blocks, inside, blocks.kinds) or "no expected loss",
        ),
    )


def _why(blocks: Blocks, inside: Survival, kinds: Iterable[BlockKind], without: str | None = None) -> str:
    """Why the log cannot say what would come through these chains."""
    if not _followed(blocks):
        return TOO_DEEP
    steps = (step for kind in kinds for step in (*kind.path, _last(kind)) if step[0] != without)
    return _unseen(inside, steps, "on a shared chain")


@dataclass(frozen=True, slots=True)
class _Without:
    accepted: Reals
    decided: Reals
    estimated: Reals


def _without(drafter: str, blocks: Blocks, inside: Survival) -> _Without:
    """Accepted tokens of the others without this drafter: as recorded where its block stood behind, or where the chain ended before it;
    else estimated from the conditional acceptance on shared chains."""
    if not _followed(blocks):
        unknown = np.full(inside.rows, np.nan)
        return _Without(unknown, unknown, unknown)
    accepted, decided, estimated = np.zeros(inside.rows), np.zeros(inside.rows), np.zeros(inside.rows)
    walk = inside.walk()
    for kind, seen in zip(blocks.kinds, blocks.counts.T, strict=True):
        if kind.drafter == drafter:
            continue
        first = next((i for i, (name, _) in enumerate(kind.path) if name == drafter), None)
        if first is None or NONE < kind.cut < first:
            accepted, decided = accepted + seen * kind.accepted, decided + seen * kind.size
            continue
        rest = tuple(step for step in kind.path[first:] if step[0] != drafter)
        expected = times(walk.along(rest), inside.accepted(kind.drafter, kind.size))
        accepted, estimated = accepted + np.where(seen > 0, seen * expected, 0), estimated + seen * kind.size
    return _Without(accepted, decided, estimated)


def shapley(blocks: Blocks, inside: Survival, drafters: list[str]) -> dict[str, Reals]:
    """Each drafter's Shapley value of the expected loss on shared chains, in tokens (positive: tokens lost)."""
    if not _followed(blocks):
        return {drafter: np.full(inside.rows, np.nan) for drafter in drafters}
    loss = {drafter: np.zeros(inside.rows) for drafter in drafters}
    one = np.ones(inside.rows)

    def step(reach: dict[str, Reals], name: str, tokens: int) -> dict[str, Reals]:
        return reach | {name: times(reach.get(name, one), inside.reach(name, tokens))}

    walk: Walk[dict[str, Reals]] = Walk({}, step)
    for kind, seen in zip(blocks.kinds, blocks.counts.T, strict=True):
        reach = walk.along(kind.path)
        # The values are linear in what the drafter itself reaches, so the sum over its tokens is their number times the value at the mean.
        mean = times(reach.get(kind.drafter, one), inside.accepted(kind.drafter, kind.size) / kind.size)
        for name, value in _shares(reach | {kind.drafter: mean}).items():
            loss[name] = loss[name] - np.where(seen > 0, seen * kind.size * value, 0)
    return loss


def _shares(reach: dict[str, Reals]) -> dict[str, Reals]:
    """Shapley values of the game v(S) = product of x_d over d in S: (x_d - 1) ∫ Π over the others of (1 - t + t x) dt for t from 0 to 1, a
    polynomial of degree m - 1, which Gauss and Legendre's rule of m / 2 nodes integrates exactly."""
    nodes, weights = _nodes(len(reach))
    factors = [1 - nodes + nodes * x for x in reach.values()]
    ones = np.ones_like(factors[0])
    before = [*itertools.accumulate(factors[:-1], np.multiply, initial=ones)]
    behind = [*itertools.accumulate(factors[:0:-1], np.multiply, initial=ones)][::-1]
    return {
        name: (x - 1) * (weights @ (first * last))
        for (name, x), first, last in zip(reach.items(), before, behind, strict=True)
    }


@cache
def _nodes(players: int) -> tuple[Reals, Reals]:
    """Nodes, in a column, and weights of the rule on [0, 1]."""
    from numpy.polynomial.legendre import leggauss  # here, since importing it takes as long as a small trace

    nodes, weights = leggauss((players + 1) // 2)
    return (nodes[:, None] + 1) / 2, weights / 2
