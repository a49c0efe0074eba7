"""Shared prefixes: joint acceptance, what composition alone explains, what each drafter is worth, and its Shapley share of the loss.

Sources: docs/metrics.md; the Shapley value of the expected loss in closed form is derived in docs/method.md.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specdiag.measure.drafters import first_rounds, hazards, position
from specdiag.measure.intervals import Rates
from specdiag.measure.tables import MAX_POSITIONS, Blocks, Row, Tables
from specdiag.measure.tally import BlockKind
from specdiag.report import Marginal, Position, Rate, Shared, Source
from specdiag.trace.chains import NONE

Reals = NDArray[np.float64]
MAX_POOL = 16  # drafters on shared chains: beyond, leaving each out in turn says nothing and costs much


@dataclass(frozen=True, slots=True)
class Survival:
    """Per drafter: S[:, i] = chance that i tokens in a row are accepted (S[:, 0] = 1), and its running sum. Shape (1 + replicates, i)."""

    through: dict[str, Reals]
    summed: dict[str, Reals]
    rows: int

    @staticmethod
    def of(blocks: Blocks, mask: NDArray[np.bool_], drafters: list[str]) -> Survival:
        """From the conditional acceptance per position over these blocks."""
        through, summed = {}, {}
        rows = blocks.counts.shape[0]
        for drafter in drafters:
            survive = _survival(hazards(blocks, mask, drafter))
            through[drafter] = survive
            summed[drafter] = np.concatenate([np.zeros((rows, 1)), np.cumsum(survive[:, 1:], axis=1)], axis=1)
        return Survival(through, summed, rows)

    def reach(self, drafter: str, tokens: int) -> Reals:
        """Chance that this many tokens in a row pass; NaN where the evidence ends earlier."""
        return self._at(self.through[drafter], drafter, tokens)

    def accepted(self, drafter: str, tokens: int) -> Reals:
        """Expected accepted tokens of a block of this many."""
        return self._at(self.summed[drafter], drafter, tokens)

    def expected(self, path: tuple[tuple[str, int], ...], drafter: str, size: int) -> Reals:
        """Expected accepted tokens of a block behind these ancestors."""
        reach = np.ones(self.rows)
        for name, tokens in path:
            reach = _times(reach, self.reach(name, tokens))
        return _times(reach, self.accepted(drafter, size))

    def _at(self, table: Reals, drafter: str, column: int) -> Reals:
        if column < table.shape[1]:
            return table[:, column]
        # Behind a position that nothing passes, no evidence is needed: nothing more comes through.
        end = np.where(self.through[drafter][:, -1] == 0, table[:, -1], np.nan)
        return end.astype(np.float64)


def _survival(h: Reals) -> Reals:
    """Running product of the conditional acceptances, from 1. Nothing comes through behind a 0, whatever is not known there."""
    columns = [np.ones(h.shape[0])]
    for i in range(h.shape[1]):
        columns.append(_times(columns[-1], h[:, i]))
    return np.stack(columns, axis=1)


def _times(reach: Reals, factor: Reals) -> Reals:
    return np.where(reach == 0, 0, reach * factor)


def shared(tables: Tables, rates: Rates) -> Shared | None:
    """Figures over shared chains; None where there was no shared round."""
    rounds = tables.rounds(lambda key: key.shared)
    if not rounds[0]:
        return None
    blocks = tables.blocks.where(tables.blocks.shared)
    everything = np.ones(len(blocks.kinds), bool)
    truncating = tables.rounds(lambda key: key.shared and key.truncated)
    depth = blocks.total("depth")
    joint = joint_acceptance(tables, rates)
    composed, reason = composition(tables)
    independent = tables.blocks.view("independent")
    figures = {
        "joint_acceptance": joint,
        "composition_acceptance": rates.rate(
            "composition_acceptance",
            composed,
            blocks.total("size"),
            rounds=int(rounds[0]),
            source="estimated",
            absent=reason,
        ),
        "interaction": _interaction(blocks, composed, rates, reason),
        "independent_acceptance": rates.rate(
            "independent_acceptance",
            tables.blocks.total("accepted", independent),
            tables.blocks.total("size", independent),
            rounds=first_rounds(tables.blocks, independent),
            absent="no round verified the block of one drafter only",
        ),
        "committed_per_round_shared": rates.rate(
            "committed_per_round_shared",
            blocks.total("accepted") + tables.rounds(lambda key: key.shared and key.verifier_token),
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


def joint_acceptance(tables: Tables, rates: Rates) -> Rate:
    """Accepted / submitted tokens on shared chains."""
    mask = tables.blocks.shared
    rounds = int(tables.rounds(lambda key: key.shared)[0])
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
    blocks = tables.blocks
    drafters = blocks.where(blocks.shared).drafters
    alone = Survival.of(blocks, blocks.view("solo"), drafters)
    total = np.zeros(1 + tables.replicates)
    for index in np.flatnonzero(blocks.shared).tolist():
        kind, seen = blocks.kinds[index], blocks.counts[:, index]
        expected = alone.expected(kind.path, kind.drafter, kind.size)
        if np.isnan(expected[0]):
            return np.full(1 + tables.replicates, np.nan), _missing_hazard(alone, kind)
        total = total + np.where(seen > 0, seen * expected, 0)
    return total, ""


def _missing_hazard(alone: Survival, kind: BlockKind) -> str:
    for name, tokens in (*kind.path, (kind.drafter, kind.size)):
        known = int(np.isfinite(alone.through[name][0]).sum()) - 1
        if known < tokens:
            return f"{name} was never judged alone at position {known + 1}"
    return "a drafter was never judged alone"


def _interaction(blocks: Blocks, composed: Reals, rates: Rates, reason: str) -> Rate:
    size = blocks.total("size")
    with np.errstate(divide="ignore", invalid="ignore"):
        return rates.value("interaction", (blocks.total("accepted") - composed) / size, absent=reason)


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
    inside = Survival.of(blocks, np.ones(len(blocks.kinds), bool), drafters)
    loss = shapley(blocks, inside, drafters)
    rounds = tables.rounds(lambda key: key.shared)
    added = tables.rounds(lambda key: key.shared and key.verifier_token)
    return [_marginal(drafter, blocks, inside, loss, rounds, added, rates) for drafter in drafters]


def _marginal(
    drafter: str, blocks: Blocks, inside: Survival, loss: dict[str, Reals], rounds: Row, added: Row, rates: Rates
) -> Marginal:
    without = _without(drafter, blocks, inside)
    size = without.decided + without.estimated
    reason = f"no evidence of what stands behind {drafter}" if size[0] else f"every shared token is {drafter}'s"
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
            "shapley_share", loss[drafter], total, proportion=False, source="estimated", absent="no expected loss"
        ),
    )


@dataclass(frozen=True, slots=True)
class _Without:
    accepted: Reals
    decided: Reals
    estimated: Reals


def _without(drafter: str, blocks: Blocks, inside: Survival) -> _Without:
    """Accepted tokens of the others without this drafter: as recorded where its block stood behind, or where the chain ended before it;
    else estimated from the conditional acceptance on shared chains."""
    accepted, decided, estimated = np.zeros(inside.rows), np.zeros(inside.rows), np.zeros(inside.rows)
    for kind, seen in zip(blocks.kinds, blocks.counts.T, strict=True):
        if kind.drafter == drafter:
            continue
        first = next((i for i, (name, _) in enumerate(kind.path) if name == drafter), None)
        if first is None or NONE < kind.cut < first:
            accepted, decided = accepted + seen * kind.accepted, decided + seen * kind.size
            continue
        rest = tuple(step for step in kind.path[first:] if step[0] != drafter)
        expected = inside.expected(rest, kind.drafter, kind.size)
        accepted, estimated = accepted + np.where(seen > 0, seen * expected, 0), estimated + seen * kind.size
    return _Without(accepted, decided, estimated)


def shapley(blocks: Blocks, inside: Survival, drafters: list[str]) -> dict[str, Reals]:
    """Each drafter's Shapley value of the expected loss on shared chains, in tokens (positive: tokens lost)."""
    loss = {drafter: np.zeros(inside.rows) for drafter in drafters}
    for kind, seen in zip(blocks.kinds, blocks.counts.T, strict=True):
        reach: dict[str, Reals] = {}
        for name, tokens in kind.path:
            reach[name] = _times(reach.get(name, np.ones(inside.rows)), inside.reach(name, tokens))
        before = reach.get(kind.drafter, np.ones(inside.rows))
        for token in range(1, kind.size + 1):
            reach[kind.drafter] = _times(before, inside.reach(kind.drafter, token))
            for name, value in _shares(reach).items():
                loss[name] = loss[name] - np.where(seen > 0, seen * value, 0)
    return loss


def _shares(reach: dict[str, Reals]) -> dict[str, Reals]:
    """Shapley values of the game v(S) = product of x_d over d in S: (x_d - 1) Σ_k k!(m-k-1)!/m! e_k(the other x)."""
    players = list(reach)
    m = len(players)
    weight = [math.factorial(k) * math.factorial(m - k - 1) / math.factorial(m) for k in range(m)]
    out = {}
    for player in players:
        symmetric = [np.ones_like(reach[player])] + [np.zeros_like(reach[player]) for _ in range(m - 1)]
        for other, k in itertools.product((p for p in players if p != player), range(m - 1, 0, -1)):
            symmetric[k] = symmetric[k] + symmetric[k - 1] * reach[other]
        out[player] = (reach[player] - 1) * sum(w * e for w, e in zip(weight, symmetric, strict=True))
    return out
