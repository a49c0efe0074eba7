"""The ledger: the fate of every proposed token, round by round.

Rounds are settled as soon as nothing more can come for them, so memory does not grow with the trace. A segment settles the rounds that lie
wholly inside it; the first two and the last round of each branch stay open, since a neighbouring segment may hold more of them, and are
settled when the segments are put together in order. So the result does not depend on who read which segment.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from specdiag.trace.blocks import ABORTED, BRANCH_LOST, PADDING, UNKNOWN_PARENT, Blocks, Bools, Ints, Keys
from specdiag.trace.chains import ALIVE, BEHIND, NONE, Chains, Counts, chains_of, counts_of
from specdiag.trace.notes import Notes, Where


@dataclass(frozen=True, slots=True)
class Ghosts:
    """Settled rounds that an open round of their branch may follow, kept so that it knows what came before."""

    request: Keys
    branch: Keys
    epoch: Ints
    number: Ints
    start: Ints
    nothing: Bools
    born: Ints

    def __len__(self) -> int:
        return len(self.number)

    def take(self, rows: Ints | Bools) -> Ghosts:
        """Some of them."""
        return Ghosts(*(getattr(self, f.name)[rows] for f in fields(self)))

    @staticmethod
    def concat(parts: list[Ghosts]) -> Ghosts:
        """All of them; several of one branch may stand beside each other."""
        return Ghosts(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Ghosts)))

    @staticmethod
    def none() -> Ghosts:
        """No branch is known."""
        empty = np.empty(0, np.int64)
        return Ghosts(empty.astype(np.uint64), empty.astype(np.uint64), empty, empty, empty, empty > 0, empty)


@dataclass(frozen=True, slots=True)
class Rounds:
    """One row a round, by branch and then round number. Times in nanoseconds, -1 where one of them is not logged."""

    branch: Keys  # of (trace, request, branch)
    number: Ints
    first_row: Ints
    start: Ints  # of the first head
    born: Ints
    judged: Bools
    shared: Bools
    independent: Bools
    abstainer: Ints  # the drafter of a round in which one drafter, alone, proposed nothing; else NONE
    truncated: Bools  # a token of a shared chain was refused
    nothing: Bools  # a token was refused, and none accepted
    reproposal: Bools  # starts where the round before it on its branch started
    no_progress: Bools  # it and the round before it came to nothing
    verifier_token: Bools
    spent_ns: Ints
    committed: Ints
    size: Ints
    settled: Bools


@dataclass(frozen=True, slots=True)
class Ledger:
    """Blocks with the fates of their tokens, and rounds; `group` is the round of each block. Only settled rounds may be counted."""

    blocks: Blocks
    counts: Counts
    chains: Chains
    group: Ints
    rounds: Rounds
    accepted: Ints
    rejected: Ints
    own: Ints
    collateral: Ints
    unjudged: Ints
    committed: Ints
    faults: dict[str, Bools]

    @property
    def settled(self) -> Ints:
        """Rows of the blocks of settled rounds."""
        return np.flatnonzero(self.rounds.settled[self.group]) if len(self.blocks) else np.empty(0, np.int64)

    def open_blocks(self) -> Blocks:
        """The blocks of rounds that are not settled."""
        return self.blocks.take(np.flatnonzero(~self.rounds.settled[self.group])) if len(self.blocks) else self.blocks

    def ghosts(self, known: Ghosts) -> Ghosts:
        """Of the settled rounds, known before or settled here, those that come right before an open one or are the last of their branch."""
        rounds, blocks = self.rounds, self.blocks
        block = rounds.first_row
        identity = blocks.request[block], blocks.branch[block], blocks.epoch[block]
        here = Ghosts(*identity, rounds.number, rounds.start, rounds.nothing, rounds.born)
        every = Ghosts.concat([known, here])
        settled = np.concatenate([np.ones(len(known), bool), rounds.settled])
        keys = mixed_keys(every.request, every.branch, every.epoch)
        order = np.lexsort((every.number, keys))
        wanted = np.ones(len(order), bool)
        wanted[:-1] = (np.diff(keys[order]) != 0) | ~settled[order][1:]
        return every.take(order[wanted & settled[order]])

    def notes(self) -> Notes:
        """What is wrong with the settled blocks."""
        notes = Notes()
        settled = self.rounds.settled[self.group] if len(self.blocks) else np.empty(0, bool)
        for code, (path, marked) in {
            **_places(self.faults),
            **_places(self.chains.faults),
            **_places(self.counts.faults),
        }.items():
            rows = np.flatnonzero(marked & settled)
            lines = self.blocks.judged_by if path in _ON_VERDICT else self.blocks.line
            places = [Where(int(lines[row]), path, self.blocks.ids[row]) for row in rows[:50].tolist()]
            notes.add_many(code, places, len(rows))
        return notes


_ON_VERDICT = {"$.accepted", "$.committed", "$.judged"}
_PATHS = {
    "accepted_above_submitted": "$.accepted",
    "committed_above_accepted": "$.committed",
    "judged_out_of_range": "$.judged",
    "judged_past_refusal": "$.judged",
    "accepted_behind_refusal": "$.accepted",
    "accepted_behind_stop": "$.accepted",
    "parent_missing": "$.parent",
    "parent_cycle": "$.parent",
    "parent_gap": "$.start",
    "chain_too_deep": "$.parent",
    "proposal_orphan": "$.id",
}


def _places(faults: dict[str, Bools]) -> dict[str, tuple[str, Bools]]:
    return {code: (_PATHS[code], marked) for code, marked in faults.items()}


@dataclass(frozen=True, slots=True)
class Border:
    """What is known of the neighbourhood when rounds are settled.

    `open_ends`: the blocks are those of one segment alone. `oldest`: branches that no segment since this number has touched are settled
    whole; `flush`: all are.
    """

    open_ends: bool = False
    oldest: int = 0
    flush: bool = False


def mixed_keys(request: Keys, branch: Keys, epoch: Ints) -> Keys:
    """64-bit key of (trace, request, branch)."""
    with np.errstate(over="ignore"):
        mixed = request * np.uint64(0x9E3779B97F4A7C15) ^ branch
        return mixed * np.uint64(0xBF58476D1CE4E5B9) + epoch.astype(np.uint64)


def ledger_of(blocks: Blocks, ghosts: Ghosts, border: Border) -> Ledger:
    """Group the blocks into rounds, follow their chains, give every token its fate, and say which rounds are settled."""
    keys = mixed_keys(blocks.request, blocks.branch, blocks.epoch)
    order = np.lexsort((blocks.round, keys))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(keys[order]) != 0) | (np.diff(blocks.round[order]) != 0)
    group = np.empty(len(order), np.int64)
    group[order] = np.cumsum(first) - 1
    counts = counts_of(blocks)
    chains = chains_of(blocks, counts, group)
    alive = chains.state == ALIVE
    behind = (chains.state == BEHIND) & (counts.accepted == 0)
    accepted = np.where(alive, counts.accepted, 0)
    rejected = np.where(alive & (counts.judged > counts.accepted) & (accepted < blocks.size), 1, 0)
    dropped = np.where(behind, blocks.size, rejected * (blocks.size - accepted - 1))
    own = np.where(~behind | (chains.culprit == blocks.drafter), dropped, 0)
    faults = {
        "accepted_behind_refusal": (chains.state == BEHIND) & (counts.accepted > 0),
        "accepted_behind_stop": ~alive & (chains.state != BEHIND) & (counts.accepted > 0),
        "proposal_orphan": blocks.judged_by == 0,
    }
    committed = np.where(alive, counts.committed, 0)
    rounds = _rounds(blocks, ghosts, border, keys, order, first, counts, chains, accepted, rejected, committed)
    return Ledger(
        blocks=blocks,
        counts=counts,
        chains=chains,
        group=group,
        rounds=rounds,
        accepted=accepted,
        rejected=rejected,
        own=own,
        collateral=dropped - own,
        unjudged=blocks.size - accepted - rejected - dropped,
        committed=committed,
        faults=faults,
    )


def _rounds(
    blocks: Blocks,
    ghosts: Ghosts,
    border: Border,
    keys: Keys,
    order: Ints,
    first: Bools,
    counts: Counts,
    chains: Chains,
    accepted: Ints,
    rejected: Ints,
    committed: Ints,
) -> Rounds:
    heads = np.flatnonzero(first)
    if not len(heads):
        return _no_rounds()
    top, bottom = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    there = blocks.size > 0

    def lowest(values: Ints, where: Bools) -> Ints:
        return np.minimum.reduceat(np.where(where, values, top)[order], heads)

    def highest(values: Ints, where: Bools) -> Ints:
        return np.maximum.reduceat(np.where(where, values, bottom)[order], heads)

    def total(values: Ints) -> Ints:
        return np.add.reduceat(values[order], heads)

    idle = (blocks.stop == ABORTED) | (blocks.stop == PADDING)
    given = blocks.judged_by > 0
    # A token that the verifier adds behind tokens that did not reach the output did not reach it either.
    added = (
        counts.valid & blocks.has_next & ~idle & (blocks.stop != BRANCH_LOST) & (counts.committed == counts.accepted)
    )
    verify = highest(blocks.verify_ns, given)
    refused = rejected > 0
    untimed, some_refused, incomplete, judged, shared, some, truncated, verifier_token = _any_of(
        [
            there & (blocks.draft_ns < 0),
            refused,
            ~given | (blocks.parent == UNKNOWN_PARENT),
            counts.valid & ~idle,
            chains.shared,
            there,
            refused & chains.shared,
            added,
        ],
        order,
        heads,
    )
    timed = (verify >= 0) & ~untimed
    branch, number = keys[order][heads], blocks.round[order][heads]
    start = lowest(blocks.start, chains.root)
    nothing = some_refused & (total(accepted) == 0)
    before = _before(branch, number, start, nothing, ghosts)
    lowest_drafter, highest_drafter = (
        reduce(blocks.drafter[order], heads) for reduce in (np.minimum.reduceat, np.maximum.reduceat)
    )
    born = np.maximum.reduceat(blocks.born[order], heads)
    return Rounds(
        branch=branch,
        number=number,
        first_row=order[heads],
        start=start,
        born=born,
        judged=judged,
        shared=shared,
        independent=some & (lowest(blocks.drafter, there) == highest(blocks.drafter, there)),
        abstainer=np.where(some | (lowest_drafter != highest_drafter), NONE, lowest_drafter),
        truncated=truncated,
        nothing=nothing,
        reproposal=before.known & (before.start == start),
        no_progress=before.known & before.nothing & nothing,
        verifier_token=verifier_token,
        spent_ns=np.where(timed, verify + total(np.where(there, blocks.draft_ns, 0)), -1),
        committed=total(committed),
        size=total(blocks.size),
        settled=_settled(branch, ~incomplete, born, border),
    )


def _any_of(marks: list[Bools], order: Ints, heads: Ints) -> list[Bools]:
    """For each mark, the rounds with a block that bears it; all marks at once, a bit each."""
    bits = np.zeros(len(order), np.uint8)
    for bit, marked in enumerate(marks):
        bits |= marked.view(np.uint8) << np.uint8(bit)
    found = np.bitwise_or.reduceat(bits[order], heads)
    return [(found & np.uint8(1 << bit)) > 0 for bit in range(len(marks))]


def _no_rounds() -> Rounds:
    kinds: dict[str, Any] = {"Ints": np.int64, "Bools": bool, "Keys": np.uint64}
    return Rounds(**{f.name: np.empty(0, kinds[str(f.type)]) for f in fields(Rounds)})


@dataclass(frozen=True, slots=True)
class _Before:
    known: Bools
    start: Ints
    nothing: Bools


def _before(branch: Keys, number: Ints, start: Ints, nothing: Bools, ghosts: Ghosts) -> _Before:
    """For each round, the round before it on its branch, settled or not."""
    size = len(branch)
    branches = np.concatenate([branch, mixed_keys(ghosts.request, ghosts.branch, ghosts.epoch)])
    numbers = np.concatenate([number, ghosts.number])
    starts, nothings = np.concatenate([start, ghosts.start]), np.concatenate([nothing, ghosts.nothing])
    order = np.lexsort((numbers, branches))
    same = np.zeros(len(order), bool)
    same[1:] = (np.diff(branches[order]) == 0) & (np.diff(numbers[order]) > 0)
    previous = np.full(len(order), NONE, np.int64)
    previous[order[1:]] = np.where(same[1:], order[:-1], NONE)
    previous = previous[:size]
    return _Before(previous != NONE, starts[previous], nothings[previous])


def _settled(branch: Keys, complete: Bools, born: Ints, border: Border) -> Bools:
    if border.flush:
        return np.ones(len(branch), bool)
    begins = np.ones(len(branch), bool)
    begins[1:] = np.diff(branch) != 0
    ends = np.ones(len(branch), bool)
    ends[:-1] = begins[1:]
    heads = np.flatnonzero(begins)
    of_branch = np.cumsum(begins) - 1
    if border.open_ends:
        rank = np.arange(len(branch)) - heads[of_branch]
        whole = np.logical_and.reduceat(complete | ends, heads)[of_branch]
        inside: Bools = (rank >= 2) & ~ends & whole
        return inside
    touched = np.maximum.reduceat(born, heads)[of_branch]
    # A round is held against the one before it, so it waits until that one is complete as well.
    missing = np.cumsum(~complete)
    so_far: Ints = missing - (missing - ~complete)[heads][of_branch]
    done: Bools = ((so_far == 0) & ~ends) | (touched < border.oldest)
    return done
