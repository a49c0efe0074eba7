"""Chains and trees of blocks: who stands behind whom, and how far the verifier came along each path.

Works level by level from the heads of the chains, all rounds at once. Definitions: docs/metrics.md, "Fates" and "Several drafters".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from specdiag.trace.blocks import ABORTED, BRANCH_LOST, MISSING, NO_PARENT, PADDING, Blocks, Bools, Ints

ALIVE, BEHIND, STOPPED = (
    0,
    1,
    2,
)  # reached by the verifier; behind a refused token; behind a block that was not fully judged
NONE = -1
MAX_ANCESTORS = (
    64  # of at least one token, that a path is followed over: a path a block would cost the square of a chain
)
FAR = 1 << 40


@dataclass(frozen=True, slots=True)
class Counts:
    """The verdict of each block, with the format's defaults filled in. `valid`: there is one, and it is possible."""

    valid: Bools
    accepted: Ints
    judged: Ints
    committed: Ints
    faults: dict[str, Bools]


def counts_of(blocks: Blocks) -> Counts:
    """Fill in defaults and sort out impossible verdicts. Source: docs/trace-format.md, `verdict`."""
    there = blocks.judged_by > 0
    n, accepted = blocks.size, blocks.accepted
    refused_none = (blocks.stop == ABORTED) | (blocks.stop == PADDING)
    default = np.where(refused_none, accepted, np.minimum(accepted + 1, n))
    judged = np.where(blocks.judged == MISSING, default, blocks.judged)
    lost = np.where(blocks.stop == BRANCH_LOST, 0, accepted)
    committed = np.where(blocks.committed == MISSING, lost, blocks.committed)
    above = there & ((accepted < 0) | (accepted > n))
    beyond = there & ~above & ((committed < 0) | (committed > accepted))
    outside = there & ~above & ((judged < accepted) | (judged > n))
    # Behind another block's refusal the log rightly says judged 0; the chain says so too, so only alive blocks are held to it.
    valid = there & ~above & ~beyond & ~outside
    past = valid & (judged > accepted + 1)
    faults = {
        "accepted_above_submitted": above,
        "committed_above_accepted": beyond,
        "judged_out_of_range": outside,
        "judged_past_refusal": past,
    }
    return Counts(
        valid,
        np.where(valid, accepted, 0),
        np.where(valid, np.minimum(judged, accepted + 1), 0),
        np.where(valid, committed, 0),
        faults,
    )


@dataclass(slots=True)
class Paths:
    """Every path of ancestors that occurs, held once: `nodes[i]` is (path before, drafter, tokens of it that the next block extends).

    A path ends one ancestor behind MAX_ANCESTORS, so that it can be seen that there are more.
    """

    nodes: list[tuple[int, int, int]] = field(default_factory=lambda: [(-1, -1, 0)])
    number: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def extend(self, paths: Ints, drafters: Ints, offsets: Ints) -> Ints:
        """The paths one ancestor longer."""
        rows = np.stack([paths, drafters, offsets], axis=1)
        unique, inverse = np.unique(rows, axis=0, return_inverse=True)
        return np.array([self._number((a, b, c)) for a, b, c in unique.tolist()], np.int64)[inverse.reshape(-1)]

    def _number(self, node: tuple[int, int, int]) -> int:
        if node not in self.number:
            self.number[node] = len(self.nodes)
            self.nodes.append(node)
        return self.number[node]

    def steps(self, path: int) -> tuple[tuple[int, int], ...]:
        """(drafter, tokens) of each ancestor, first one first."""
        out = []
        while path > 0:
            path, drafter, tokens = self.nodes[path]
            out.append((drafter, tokens))
        return tuple(reversed(out))


@dataclass(frozen=True, slots=True)
class Chains:
    """For each block: the block that it extends (`parent`, a row) and how many of its tokens (`offset`); its state, the path to it, the ancestor
    where its path ended (`cut`, index into the path), and who did it."""

    root: Bools
    parent: Ints
    offset: Ints
    state: Ints
    path: Ints
    cut: Ints
    culprit: Ints
    shared: Bools
    solo: Bools
    paths: Paths
    faults: dict[str, Bools]


def chains_of(blocks: Blocks, counts: Counts, group: Ints) -> Chains:
    """Follow every chain. `group`: the round of each block; a parent outside of it is no parent."""
    size = len(blocks)
    parent = blocks.parent.copy()
    stray = (parent != NO_PARENT) & ((parent < 0) | (group[np.maximum(parent, 0)] != group))
    parent[stray] = NO_PARENT
    state, path, length = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    cut, culprit = np.full(size, NONE, np.int64), np.full(size, NONE, np.int64)
    gap, offsets = np.zeros(size, bool), np.zeros(size, np.int64)
    own = blocks.drafter
    low, high = (
        np.full(size, FAR, np.int64),
        np.full(size, NONE, np.int64),
    )  # lowest and highest drafter among the ancestors
    paths = Paths()
    levels = list(levels_of(parent))
    reached = parent == NO_PARENT
    for rows in levels:
        reached[rows] = True
    parent[~reached] = NO_PARENT
    for rows in levels:
        above = parent[rows]
        tokens = blocks.size[above]
        offset = blocks.start[rows] - blocks.start[above]
        fits = ((offset >= 1) & (offset <= tokens)) | ((offset == 0) & (tokens == 0))
        gap[rows] = ~fits
        offset = offsets[rows] = np.where(fits, offset, tokens)
        alive, judged = state[above] == ALIVE, counts.valid[above] | (tokens == 0)
        passed = alive & judged & (counts.accepted[above] >= offset)
        refused = alive & judged & ~passed & (counts.judged[above] > counts.accepted[above])
        state[rows] = np.where(passed, ALIVE, np.where(refused, BEHIND, np.where(alive, STOPPED, state[above])))
        ended = alive & ~passed
        cut[rows] = np.where(ended, length[above], cut[above])
        culprit[rows] = np.where(refused, own[above], culprit[above])
        there = tokens > 0
        path[rows] = path[above]
        longer = there & (length[above] <= MAX_ANCESTORS)
        if longer.any():
            path[rows[longer]] = paths.extend(path[above[longer]], own[above[longer]], offset[longer])
        length[rows] = length[above] + there
        low[rows] = np.where(there, np.minimum(low[above], own[above]), low[above])
        high[rows] = np.where(there, np.maximum(high[above], own[above]), high[above])
    solo = ((low == FAR) | (low == own)) & ((high == NONE) | (high == own))
    after = _others_after(parent, levels, blocks)
    return Chains(
        root=parent == NO_PARENT,
        parent=parent,
        offset=offsets,
        state=state,
        path=path,
        cut=cut,
        culprit=culprit,
        shared=(~solo | after) & (blocks.size > 0),
        solo=solo,
        paths=paths,
        faults={
            "parent_missing": stray,
            "parent_cycle": ~reached,
            "parent_gap": gap,
            "chain_too_deep": (length > MAX_ANCESTORS) & (blocks.size > 0),
        },
    )


def levels_of(parent: Ints) -> Iterator[Ints]:
    """Blocks at distance 1, 2, … from the head of their chain. Blocks of a circle come never: they stay heads."""
    children = np.flatnonzero(parent != NO_PARENT)
    children = children[np.argsort(parent[children], kind="stable")]
    above = parent[children]
    frontier = np.flatnonzero(parent == NO_PARENT)
    while len(children):
        first, behind = np.searchsorted(above, frontier, "left"), np.searchsorted(above, frontier, "right")
        count = behind - first
        total = int(count.sum())
        if not total:
            return
        shift = np.repeat(first - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
        frontier = np.sort(children[shift + np.arange(total)])
        yield frontier


def _others_after(parent: Ints, levels: list[Ints], blocks: Blocks) -> Bools:
    """Whether a block of another drafter, of at least one token, stands behind this one."""
    own = blocks.drafter
    low, high = np.full(len(own), FAR, np.int64), np.full(len(own), NONE, np.int64)
    for rows in reversed(levels):
        there = blocks.size[rows] > 0
        np.minimum.at(low, parent[rows], np.where(there, np.minimum(low[rows], own[rows]), low[rows]))
        np.maximum.at(high, parent[rows], np.where(there, np.maximum(high[rows], own[rows]), high[rows]))
    others: Bools = ((low != FAR) & (low != own)) | ((high != NONE) & (high != own))
    return others
