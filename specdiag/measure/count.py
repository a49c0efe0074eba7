"""From the settled rounds of a ledger to a tally."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from specdiag.engines.counting import counted
from specdiag.engines.counting import key_of as counting_key
from specdiag.engines.definitions import Counting
from specdiag.measure.contributions import Contributions, Held
from specdiag.measure.shapes import shapes_of
from specdiag.measure.tally import (
    FIRST_OF_ROUND,
    INDEPENDENT,
    SHARED,
    SOLO,
    UNIT,
    UNJUDGED,
    BlockKind,
    Column,
    CountKind,
    Entries,
    GatedKind,
    Key,
    RoundKind,
    ShapeKind,
    SumKind,
    Tally,
)
from specdiag.measure.weights import Resampling
from specdiag.trace.blocks import Bools, Ints, Keys, Ragged, key_of
from specdiag.trace.chains import ALIVE, NONE
from specdiag.trace.ledger import Ledger
from specdiag.trace.notes import Notes, Where

TOLERANCE = 1e-6  # a probability of 1.0000001 is a rounded 1


SliceOf = Callable[[int, int], tuple[str, ...]]
"""(branch key, epoch) → the slice that a block is counted in."""


def count(
    ledger: Ledger,
    how: Resampling,
    slice_of: SliceOf | None = None,
    by_ratio: Callable[[int], bool] = lambda _: True,
    held: Held | None = None,
    countings: tuple[Counting, ...] | None = None,
) -> tuple[Tally, Notes]:
    """Tally of the settled rounds of this ledger, and what was wrong with their numbers. `by_ratio`: epoch → whether its verdicts are
    those of the ratio test, so that p, q and u give them again. `held`: takes what replicates weigh, instead of the tally. `countings`: count the
    shapes of rounds too, and of each request what these ways to count make of them."""
    tally, notes = Tally(how.replicates), ledger.notes()
    rows = ledger.settled
    if not len(rows):
        return tally, notes
    requests, of_row = np.unique(ledger.blocks.request[rows], return_inverse=True)
    # Numbers that a trace made up may overflow on the way; what is out of range is noted, and counts as missing.
    with np.errstate(all="ignore"):
        counter = _Counter(ledger, rows, requests, of_row, how, tally, slice_of)
        counter.blocks()
        counter.rounds()
        counter.probabilities(notes, by_ratio)
        counter.bytes()
        counter.times()
        counter.per_request()
        if countings is not None:
            counter.shapes(countings)
        if held is None:
            counter.contributions.into(tally)
        else:
            held.add(counter.contributions)
    return tally, notes


PER_REQUEST = ("A", "R", "D", "G")  # what is counted of each request for an engine's means over requests
_ON_SHARED = -2
_ROLES = {_ON_SHARED: SHARED, NONE: 0}  # flags of sums over rounds; those of one drafter alone are INDEPENDENT


class _Counter:
    """Counts one ledger. Every contribution is (request, kind, whole number); replicates weigh it by the request."""

    def __init__(
        self,
        ledger: Ledger,
        rows: Ints,
        requests: Keys,
        of_row: Ints,
        how: Resampling,
        tally: Tally,
        slice_of: SliceOf | None,
    ) -> None:
        self.ledger, self.rows, self.requests, self.of_row, self.tally = ledger, rows, requests, of_row, tally
        self.contributions = Contributions(requests, how)
        self.add = self.contributions.add
        self.slices, self.slice = _slices(ledger, rows, slice_of)
        self.drafter = ledger.blocks.drafter[rows]
        chains, rounds = ledger.chains, ledger.rounds
        independent = rounds.independent[ledger.group[rows]]
        judged = ledger.counts.valid[rows] | (chains.state[rows] != ALIVE)
        self.flags = (
            SHARED * chains.shared[rows]
            + INDEPENDENT * independent
            + FIRST_OF_ROUND * _first_of_round(ledger, rows)
            + UNJUDGED * ~judged
            + SOLO * chains.solo[rows]
        ).astype(np.int64)
        self.sums_at: tuple[Ints, list[Any]] | None = None

    def blocks(self) -> None:
        ledger, rows = self.ledger, self.rows
        names, chains = ledger.blocks.drafters, ledger.chains
        fields = (
            ledger.blocks.size,
            ledger.accepted,
            ledger.rejected,
            ledger.own,
            ledger.collateral,
            ledger.committed,
            chains.state,
            chains.cut,
        )
        columns = [self.slice, chains.path[rows], self.drafter, chains.culprit[rows]]
        columns += [*(column[rows] for column in fields), self.flags]
        of_kind, kinds = _classes(columns)
        paths = {
            path: tuple((names[d], n) for d, n in chains.paths.steps(path)) for path in {kind[1] for kind in kinds}
        }
        keys = [
            BlockKind(
                self.slices[kind[0]],
                paths[kind[1]],
                names[kind[2]],
                "" if kind[3] == NONE else names[kind[3]],
                *kind[4:],
            )
            for kind in kinds
        ]
        self.add([*keys], of_kind, self.of_row)
        self._gated(keys, of_kind)

    def _gated(self, keys: list[BlockKind], of_kind: Ints) -> None:
        gated = self.ledger.blocks.gated[self.rows]
        some = gated > 0
        if some.any():
            kinds, number = np.unique(of_kind[some], return_inverse=True)
            chosen = [keys[kind] for kind in kinds.tolist()]
            self.add(
                [GatedKind(key.slice, key._replace(slice=())) for key in chosen], number, self.of_row[some], gated[some]
            )

    def rounds(self) -> None:
        rounds, blocks = self.ledger.rounds, self.ledger.blocks
        chosen = np.flatnonzero(rounds.settled)
        row = rounds.first_row[chosen]
        place = np.full(len(blocks), NONE, np.int64)
        place[self.rows] = np.arange(len(self.rows))
        alone = np.where(rounds.independent[chosen], self._only_drafter()[chosen], NONE)
        marks = (
            rounds.judged,
            rounds.shared,
            rounds.independent,
            rounds.truncated,
            rounds.reproposal,
            rounds.no_progress,
            rounds.verifier_token,
        )
        columns = [self.slice[place[row]], alone, *(mark[chosen].astype(np.int64) for mark in marks)]
        of_kind, kinds = _classes(columns)
        keys: list[Key] = [
            RoundKind(self.slices[k[0]], "" if k[1] == NONE else blocks.drafters[k[1]], *map(bool, k[2:]))
            for k in kinds
        ]
        requests = self.of_row[place[row]]
        self.add(keys, of_kind, requests)
        again = np.where(rounds.reproposal[chosen], rounds.size[chosen], 0)
        self._round_sums({"reproposed_tokens": again}, columns[0], np.full(len(row), NONE), requests)
        timed = rounds.spent_ns[chosen] >= 0
        self._round_sums(
            {
                "timed_rounds": timed.astype(np.int64),
                "timed_ns": np.where(timed, rounds.spent_ns[chosen], 0),
                "timed_tokens": np.where(timed, rounds.committed[chosen] + rounds.verifier_token[chosen], 0),
            },
            columns[0],
            np.where(rounds.shared[chosen], _ON_SHARED, np.where(alone == NONE, rounds.abstainer[chosen], alone)),
            requests,
        )

    def shapes(self, countings: tuple[Counting, ...]) -> None:
        """Rounds by their shape, and of each request what each of these ways to count makes of them."""
        chosen, shapes, assumed = shapes_of(self.ledger)
        if not len(chosen):
            return
        place = np.searchsorted(self.rows, self.ledger.rounds.first_row[chosen])
        requests = self.of_row[place]
        columns = [getattr(shapes, name) for name in ShapeKind._fields[1:-1]]
        of_kind, kinds = _classes([self.slice[place], *columns, assumed])
        self.add([ShapeKind(self.slices[k[0]], *k[1:]) for k in kinds], of_kind, requests)
        per_request: dict[Column, Entries] = {}
        for how in countings:
            found = counted(shapes, how)
            for name in PER_REQUEST:
                total = np.bincount(requests, getattr(found, name), len(self.requests)).astype(np.int64)
                per_request[name, "counting", counting_key(how)] = self.requests, total
        self.tally.requests.add(self.requests[:0], per_request)

    def _round_sums(self, sums: dict[str, Ints], slices: Ints, drafters: Ints, requests: Ints) -> None:
        sums = {name: values for name, values in sums.items() if values.any()}
        if not sums:
            return
        of_kind, kinds = _classes([slices, drafters])
        for name, values in sums.items():
            keys: list[Key] = [
                SumKind(
                    self.slices[s], name, self.ledger.blocks.drafters[d] if d >= 0 else "", _ROLES.get(d, INDEPENDENT)
                )
                for s, d in kinds
            ]
            self.add(keys, of_kind, requests, values)

    def _only_drafter(self) -> Ints:
        only = np.full(len(self.ledger.rounds.number), NONE, np.int64)
        there = self.ledger.blocks.size[self.rows] > 0
        only[self.ledger.group[self.rows[there]]] = self.drafter[there]
        return only

    def _block_sums(self, sums: dict[str, Ints]) -> None:
        """Sums over blocks, by drafter and role."""
        if self.sums_at is None:
            self.sums_at = _classes([self.slice, self.drafter, self.flags])
        of_kind, kinds = self.sums_at
        for name, values in sums.items():
            if values.any():
                keys: list[Key] = [
                    SumKind(self.slices[s], name, self.ledger.blocks.drafters[d], f) for s, d, f in kinds
                ]
                self.add(keys, of_kind, self.of_row, values)

    def probabilities(self, notes: Notes, by_ratio: Callable[[int], bool]) -> None:
        """Σ min(1, p/q) over judged positions with both logged, and the verdicts that p, q and u decide again."""
        ledger, rows = self.ledger, self.rows
        judged = ledger.accepted[rows] + ledger.rejected[rows]
        size = ledger.blocks.size[rows]
        p, q, u = ledger.blocks.p, ledger.blocks.q, ledger.blocks.u
        usable = np.where(q.lengths[rows] == size, np.minimum(judged, p.lengths[rows]), 0)
        if not usable.any():
            return
        owner = np.repeat(np.arange(len(rows)), usable)
        position = np.arange(len(owner)) - np.repeat(np.cumsum(usable) - usable, usable)
        pv, qv = (column.values[column.offsets[rows][owner] + position] for column in (p, q))
        good = (pv >= 0) & (pv <= 1 + TOLERANCE) & (qv > 0) & (qv <= 1 + TOLERANCE)
        self._out_of_range(notes, owner, position, (~good & ~np.isnan(pv) & ~np.isnan(qv)), "$.p or $.q")
        ratio = np.minimum(1.0, np.where(good, pv, 0) / np.where(good, qv, 1))
        accepts = position < ledger.accepted[rows][owner]

        def per_block(values: NDArray[Any]) -> Ints:
            return np.bincount(owner, values, len(rows)).astype(np.int64)

        sums = {
            "expected_positions": per_block(good) if not good.all() else usable,
            "expected_units": per_block(np.rint(ratio * UNIT) * good),
            "expected_accepted": per_block(good & accepts),
        }
        if len(u.values):
            logged = u.lengths[rows][owner] > position
            uv = np.where(logged, u.values[np.where(logged, u.offsets[rows][owner] + position, 0)], np.nan)
            self._out_of_range(notes, owner, position, (uv < 0) | (uv > 1), "$.u")
            drawn = good & (uv >= 0) & (uv <= 1) & self._judged_by_ratio(by_ratio)[owner]
            agrees = (uv * qv <= pv) == accepts
            sums |= {"drawn_positions": per_block(drawn), "drawn_misses": per_block(drawn & ~agrees)}
        self._block_sums(sums)

    def _judged_by_ratio(self, by_ratio: Callable[[int], bool]) -> Bools:
        of_kind, kinds = _classes([self.ledger.blocks.epoch[self.rows]])
        return np.array([by_ratio(epoch) for (epoch,) in kinds], bool)[of_kind]

    def _out_of_range(self, notes: Notes, owner: Ints, position: Ints, wrong: Bools, path: str) -> None:
        at = np.flatnonzero(wrong)
        lines = self.ledger.blocks.judged_by[self.rows]
        notes.add_many(
            "probability_out_of_range",
            [Where(int(lines[owner[i]]), path, f"position {int(position[i]) + 1}") for i in at[:50].tolist()],
            len(at),
        )

    def bytes(self) -> None:
        """Bytes of the submitted and of the accepted tokens, for blocks with a length for each token."""
        ledger, rows = self.ledger, self.rows
        sizes: Ragged = ledger.blocks.sizes
        size = ledger.blocks.size[rows]
        whole = (sizes.lengths[rows] == size) & (size > 0)
        if not whole.any():
            return
        running = np.concatenate([[0], np.cumsum(np.rint(sizes.values).astype(np.int64))])
        begin = sizes.offsets[rows]
        self._block_sums(
            {
                "sized_tokens": np.where(whole, size, 0),
                "bytes_submitted": np.where(whole, running[np.where(whole, begin + size, 0)] - running[begin], 0),
                "bytes_accepted": np.where(
                    whole, running[np.where(whole, begin + ledger.accepted[rows], 0)] - running[begin], 0
                ),
            }
        )

    def times(self) -> None:
        """Drafting time, and the part of it that went into tokens that were then cut."""
        ledger, rows = self.ledger, self.rows
        spent, size = ledger.blocks.draft_ns[rows], ledger.blocks.size[rows]
        timed = (spent >= 0) & (size > 0)
        if not timed.any():
            return
        cut = (ledger.rejected + ledger.own + ledger.collateral)[rows]
        share = np.where(timed, spent, 0) * cut // np.maximum(size, 1)
        self._block_sums(
            {"draft_ns": np.where(timed, spent, 0), "draft_ns_cut": share, "draft_timed": timed.astype(np.int64)}
        )

    def per_request(self) -> None:
        """Submitted and accepted tokens per request and drafter, and a digest of what the request was."""
        ledger, rows = self.ledger, self.rows
        names, size, accepted = ledger.blocks.drafters, ledger.blocks.size[rows], ledger.accepted[rows]
        count = len(self.requests)

        def per(values: Ints, mine: Bools) -> Ints:
            return np.bincount(self.of_row, np.where(mine, values, 0), count).astype(np.int64)

        columns: dict[Column, Entries] = {}
        per_drafter = {"submitted": size, "accepted": accepted}
        drafter, request, sums = _sums_of_pairs(self.drafter, self.of_row, count, [*per_drafter.values()])
        bounds = np.flatnonzero(np.diff(drafter, prepend=-1, append=-1)).tolist()
        for begin, end in itertools.pairwise(bounds):
            mine = self.requests[request[begin:end]]
            for name, values in zip(per_drafter, sums, strict=True):
                columns[name, "drafter", names[int(drafter[begin])]] = mine, values[begin:end]
        shared = ledger.chains.shared[rows]
        if shared.any():
            columns["submitted", "shared", ""] = self.requests, per(size, shared)
            columns["accepted", "shared", ""] = self.requests, per(accepted, shared)
        if ledger.blocks.content[rows].any():
            columns["digest", "", ""] = self.requests, _digest(ledger, rows, self.of_row, count)
        self.tally.requests.add(self.requests, columns)


def _sums_of_pairs(one: Ints, other: Ints, others: int, columns: list[Ints]) -> tuple[Ints, Ints, list[Ints]]:
    """The pairs (one, other) that occur, in order, and the sum of each column over each of them."""
    pairs, number = np.unique(one * others + other, return_inverse=True)
    sums = [np.bincount(number, column, len(pairs)).astype(np.int64) for column in columns]
    return pairs // others, pairs % others, sums


def _digest(ledger: Ledger, rows: Ints, of_row: Ints, count: int) -> Ints:
    """A digest of everything that happened in a request, whatever the order in which its blocks are counted."""
    with np.errstate(over="ignore"):
        mixed = np.zeros(len(rows), np.uint64)
        blocks = ledger.blocks
        names = np.array([key_of(name) for name in blocks.drafters], np.uint64)
        for column in (blocks.round, blocks.start, blocks.size, ledger.accepted, blocks.content):
            mixed = (mixed ^ column[rows].astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(29)
        mixed = (mixed ^ names[blocks.drafter[rows]]) * np.uint64(0x94D049BB133111EB)
        total = np.zeros(count, np.uint64)
        np.add.at(total, of_row, mixed)
    return total.astype(np.int64)


def _first_of_round(ledger: Ledger, rows: Ints) -> Ints:
    """1 for the first block, of at least one token, of its drafter in its round."""
    there = np.flatnonzero(ledger.blocks.size[rows] > 0)
    pair = ledger.group[rows[there]] * len(ledger.blocks.drafters) + ledger.blocks.drafter[rows[there]]
    first = np.zeros(len(rows), np.int64)
    first[there[np.unique(pair, return_index=True)[1]]] = 1
    return first


def _slices(ledger: Ledger, rows: Ints, slice_of: SliceOf | None) -> tuple[list[tuple[str, ...]], Ints]:
    if slice_of is None:
        return [()], np.zeros(len(rows), np.int64)
    of_kind, kinds = _classes([ledger.blocks.branch[rows].view(np.int64), ledger.blocks.epoch[rows]])
    named = [slice_of(branch & (1 << 64) - 1, epoch) for branch, epoch in kinds]
    names = sorted(set(named))
    number = {name: i for i, name in enumerate(names)}
    return names, np.array([number[name] for name in named], np.int64)[of_kind]


def _classes(columns: list[Ints]) -> tuple[Ints, list[list[int]]]:
    """Number the distinct rows of these columns: (number of each row, the rows themselves)."""
    dense = _dense(columns)
    if dense is not None:
        return dense
    with np.errstate(over="ignore"):
        mixed = np.zeros(len(columns[0]), np.uint64)
        for column in columns:
            mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
    _, index, inverse = np.unique(mixed, return_index=True, return_inverse=True)
    return inverse.reshape(-1), np.stack([column[index] for column in columns], axis=1).tolist()


def _dense(columns: list[Ints]) -> tuple[Ints, list[list[int]]] | None:
    """The same without sorting, where the numbers are so small that every row is a place in a short table."""
    rows = len(columns[0])
    code, places = np.zeros(rows, np.int64), 1
    for column in columns:
        low, high = int(column.min()), int(column.max())
        if low < high:
            places *= high - low + 1
            if places > 1024 + 8 * rows:
                return None
            code = code * (high - low + 1) + (column - low)
    some_row = np.full(places, NONE, np.int64)
    some_row[code] = np.arange(rows)
    taken = some_row >= 0
    number = np.cumsum(taken) - 1
    chosen = some_row[taken]
    return number[code], np.stack([column[chosen] for column in columns], axis=1).tolist()


class CountedEvent(NamedTuple):
    """An event that is no block: what it counts as, and what makes it the same event as another."""

    slice: tuple[str, ...]
    request: str
    name: str
    value: str
    identity: tuple[object, ...]


def count_events(tally: Tally, events: list[CountedEvent], how: Resampling) -> None:
    """Count events, resampled by their requests."""
    requests, of_event = np.unique(
        np.array([key_of(event.request) for event in events], np.uint64), return_inverse=True
    )
    number: dict[Key, int] = {}
    of_kind = [number.setdefault(CountKind(event.slice, event.name, event.value), len(number)) for event in events]
    contributions = Contributions(requests, how)
    contributions.add([*number], np.array(of_kind, np.int64), of_event)
    contributions.into(tally)
