"""The shape of every round, as an engine sees it: a chain or tree of drafts, how far the verifier came, and what reached the output.

A round is one (request, branch, round): what several drafters chained in it is one draft to the engine. Of a tree the engine takes one path; it
is the one that reached the output, where several were accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from specdiag.engines.counting import UNKNOWN, Shapes
from specdiag.trace.blocks import BRANCH_LOST, PADDING, STOP_CODES, Bools, Floats, Ints, Ragged
from specdiag.trace.chains import ALIVE, levels_of
from specdiag.trace.ledger import Ledger

_FAR = np.int64(1) << 32  # a path is shorter
_ENDS = [STOP_CODES[name] for name in ("eos", "length", "grammar")]


class Seen(NamedTuple):
    """The rounds that an engine would have seen, by their number in the ledger, and their shapes. `assumed`: rounds whose token of the
    verifier's own is not logged, and taken to have been there."""

    rounds: Ints
    shapes: Shapes
    assumed: Ints


def shapes_of(ledger: Ledger) -> Seen:
    """The settled rounds that were judged, or were placeholders. One that was aborted, or whose verdicts are lost, no engine counts."""
    blocks, rounds, counts = ledger.blocks, ledger.rounds, ledger.counts
    order = np.argsort(ledger.group, kind="stable")
    heads = np.flatnonzero(np.diff(ledger.group[order], prepend=-1))

    def any_of(mask: Bools) -> Bools:
        out: Bools = np.logical_or.reduceat(mask[order], heads)
        return out

    def most(values: Ints) -> Ints:
        return np.maximum.reduceat(values[order], heads)

    given = counts.valid  # what an impossible verdict says of the end of a round is worth nothing, too
    lost = blocks.stop == BRANCH_LOST
    padding = any_of(given & (blocks.stop == PADDING)) & ~rounds.judged
    depth, kept = _paths(ledger, np.where(lost, 0, ledger.committed))
    alive = (ledger.chains.state == ALIVE) & counts.valid
    best = most(np.where(alive, kept * _FAR + depth + ledger.accepted, 0))
    accepted, kept_of = best % _FAR, best // _FAR
    all_lost = any_of(given & lost) & ~any_of(given & ~lost)
    # To the engine a branch that lost ran to its end like any other.
    kept_of = np.where(all_lost, accepted, kept_of)
    has_next = any_of(counts.valid & blocks.has_next)
    ends = any_of(given & np.isin(blocks.stop, _ENDS))
    cut = kept_of < accepted
    silent = ~has_next & rounds.judged & ~cut & (~ends | (accepted == 0))
    own = (has_next & ~cut) | silent
    proposed = np.add.reduceat(blocks.size[order], heads)
    length = most(depth + blocks.size)
    shapes = Shapes(
        drafts=proposed,
        length=length,
        accepted=accepted,
        kept=kept_of,
        own=own.astype(np.int64),
        ended=(cut | (ends & ~own)).astype(np.int64),
        matched=_matches(ledger, order, heads, accepted, proposed, proposed == length),
        padding=padding.astype(np.int64),
    )
    chosen = np.flatnonzero(rounds.settled & (rounds.judged | padding))
    columns = {name: getattr(shapes, name)[chosen] for name in Shapes.__dataclass_fields__}
    return Seen(chosen, Shapes(**columns), silent[chosen].astype(np.int64))


def _paths(ledger: Ledger, committed: Ints) -> tuple[Ints, Ints]:
    """For each block: the drafts before it on its path, and those drafts on the path to its own end that reached the output."""
    chains = ledger.chains
    depth, kept = np.zeros(len(ledger.blocks), np.int64), committed.copy()
    before = np.zeros(len(ledger.blocks), np.int64)
    for rows in levels_of(chains.parent):
        above, offset = chains.parent[rows], chains.offset[rows]
        depth[rows] = depth[above] + offset
        before[rows] = before[above] + np.minimum(committed[above], offset)
        kept[rows] = before[rows] + committed[rows]
    return depth, kept


def _matches(ledger: Ledger, order: Ints, heads: Ints, accepted: Ints, proposed: Ints, chain: Bools) -> Ints:
    """Drafts that the verifier would have drawn, also behind a refusal: u·q <= p, or no gap to its best token. UNKNOWN where these numbers are not
    logged for every position, and the verdict does not say it: it does where nothing stands behind the refused draft."""
    blocks = ledger.blocks
    size = blocks.size
    found, whole = _found(size, [blocks.p, blocks.q, blocks.u], _drawn)
    whole &= (size == 0) | (blocks.q.lengths == size)  # a q that does not fit its block counts as missing
    best, all_gaps = _found(size, [blocks.gap], lambda gap: (gap <= 0, gap == gap))
    found, whole = np.where(whole, found, best), whole | all_gaps
    decided = accepted + 1 >= proposed
    known = np.logical_and.reduceat(whole[order], heads)
    total = np.add.reduceat(found[order], heads)
    return np.where(~chain, UNKNOWN, np.where(decided, accepted, np.where(known, np.maximum(total, accepted), UNKNOWN)))


def _drawn(p: Floats, q: Floats, u: Floats) -> tuple[Bools, Bools]:
    return u * q <= p, (p >= 0) & (q > 0) & (u >= 0) & (u <= 1)


def _found(size: Ints, runs: list[Ragged], judge: Callable[..., tuple[Bools, Bools]]) -> tuple[Ints, Bools]:
    """For each block how many positions match, and whether all of its positions have the numbers that tell."""
    whole: Bools = np.logical_and.reduce([run.lengths >= size for run in runs])
    found = np.zeros(len(size), np.int64)
    rows = np.flatnonzero(whole & (size > 0))
    if len(rows):
        owner = np.repeat(np.arange(len(rows)), size[rows])
        position = np.arange(len(owner)) - np.repeat(np.cumsum(size[rows]) - size[rows], size[rows])
        match, good = judge(*(run.values[run.offsets[rows][owner] + position] for run in runs))
        found[rows] = np.bincount(owner, match & good, len(rows)).astype(np.int64)
        whole[rows[np.bincount(owner, ~good, len(rows)) > 0]] = False
    return found, whole
