"""The tally: counts that add.

A tally maps what was seen (a key: a kind of block, of round, of sum) to how often, as whole numbers, once for the trace as it is (row 0) and
once for each bootstrap replicate (rows 1, 2, …). Adding is exact, commutative and associative: shards, files and machines merge bit for bit,
in any order. Everything the report says is derived from one tally.

Sums of real numbers are kept in fixed point (`UNIT` for probabilities, nanoseconds for times), since floating-point addition depends on order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from specdiag.trace.blocks import Ints, Keys
from specdiag.trace.chains import MAX_ANCESTORS

UNIT = 1 << 30
KEYS_AT_ONCE = 8192
SHARED, INDEPENDENT, FIRST_OF_ROUND, UNJUDGED, SOLO = 1, 2, 4, 8, 16  # flags of a block


class BlockKind(NamedTuple):
    """Blocks that are alike in everything the figures depend on. `path`: (drafter, tokens) of each ancestor, up to one behind
    MAX_ANCESTORS; `cut`: index of the ancestor at which the path ended, -1 where the verifier came through to this block; `culprit`: the
    drafter whose token was refused there."""

    slice: tuple[str, ...]
    path: tuple[tuple[str, int], ...]
    drafter: str
    culprit: str
    size: int
    accepted: int
    rejected: int
    own: int
    collateral: int
    committed: int
    state: int
    cut: int
    flags: int

    @property
    def followed(self) -> bool:
        """Whether `path` holds all ancestors."""
        return len(self.path) <= MAX_ANCESTORS


class GatedKind(NamedTuple):
    """Gated tokens of one kind of blocks, whose own slice is left empty: their number is no part of the kind, since any block may have
    another one."""

    slice: tuple[str, ...]
    of: BlockKind


class RoundKind(NamedTuple):
    """Rounds that are alike. `drafter`: whose block it verified, where it was one drafter's alone."""

    slice: tuple[str, ...]
    drafter: str
    judged: bool
    shared: bool
    independent: bool
    truncated: bool
    reproposal: bool
    no_progress: bool
    verifier_token: bool


class ShapeKind(NamedTuple):
    """Rounds of one shape, as an engine sees them: the columns of `engines.counting.Shapes`, and 1 where the verifier's own token is assumed."""

    slice: tuple[str, ...]
    drafts: int
    length: int
    accepted: int
    kept: int
    own: int
    ended: int
    matched: int
    padding: int
    assumed: int


class SumKind(NamedTuple):
    """A sum over blocks or rounds: `name` says of what."""

    slice: tuple[str, ...]
    name: str
    drafter: str
    flags: int


class CountKind(NamedTuple):
    """A count of events that are no blocks: consensus outcomes, effects."""

    slice: tuple[str, ...]
    name: str
    value: str


class EngineKind(NamedTuple):
    """A counter that an engine kept, or how many reports there were (`events`). `position`: from 1 for `reached`, the length for `full_block`, else
    0; `source`: how many reports a source made, by its key as a position. `known`: the counters that the report has, with commas between."""

    drafter: str
    window: str
    name: str
    position: int = 0
    known: str = ""


Key = BlockKind | GatedKind | RoundKind | ShapeKind | SumKind | CountKind
Column = tuple[str, str, str]
"""What a request's count is of, whose (`drafter`, `shared`, an engine's `counting`, or nobody's), and the drafter, or which counting: apart, since
a drafter may have any name."""


Entries = tuple[Keys, Ints]
"""Counts of some requests: a request that is not among them has none, so that a thousand drafters of a thousand requests cost no million."""


class Requests:
    """Per request, a few counts that add: for means over requests, and to know requests that repeat."""

    def __init__(self) -> None:
        self.keys: list[Keys] = []
        self.columns: dict[Column, list[Entries]] = {}
        self.settled = self.pending = 0  # entries when everything was last put together, and now

    def add(self, keys: Keys, columns: dict[Column, Entries]) -> None:
        """More counts of these requests; a request may come many times."""
        self.keys.append(keys)
        for column, entries in columns.items():
            self.columns.setdefault(column, []).append(entries)
        self.pending += len(keys) + sum(len(values) for _, values in columns.values())
        if self.pending > 2 * self.settled + 100_000:
            self._compact()

    def merge(self, other: Requests) -> None:
        """Add another table."""
        keys, columns = other.table()
        self.add(keys, columns)

    def _compact(self) -> None:
        if len(self.keys) > 1:
            self.keys = [np.unique(np.concatenate(self.keys))]
        for column, parts in self.columns.items():
            if len(parts) > 1:
                self.columns[column] = [_summed(parts)]
        self.pending = sum(map(len, self.keys)) + sum(len(keys) for [(keys, _)] in self.columns.values())
        self.settled = self.pending

    def table(self) -> tuple[Keys, dict[Column, Entries]]:
        """Every request once, in the order of its key; and the counts, in the same order."""
        self._compact()
        keys = self.keys[0] if self.keys else np.empty(0, np.uint64)
        return keys, {column: entries for column, [entries] in self.columns.items()}


def _summed(parts: list[Entries]) -> Entries:
    keys, number = np.unique(np.concatenate([k for k, _ in parts]), return_inverse=True)
    total = np.zeros(len(keys), np.int64)
    with np.errstate(over="ignore"):
        np.add.at(total, number, np.concatenate([values for _, values in parts]))
    return keys, total


@dataclass(slots=True)
class Tally:
    """Counts by key, for the trace and its replicates: `counts[0]` is the trace. Counters of an engine are not resampled, and may be of
    any size: they stand apart."""

    replicates: int
    number: dict[Key, int] = field(default_factory=dict)
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    requests: Requests = field(default_factory=Requests)
    engine: dict[EngineKind, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.counts.size:
            self.counts = np.zeros((1 + self.replicates, 0), np.int64)

    def add(self, keys: list[Key], counts: NDArray[np.int64]) -> None:
        """Add `counts` (1 + replicates, keys) to the columns of these keys; no key twice."""
        at = np.array([self.number.setdefault(key, len(self.number)) for key in keys], np.int64)
        if len(self.number) > self.counts.shape[1]:
            grown = np.zeros((1 + self.replicates, max(64, 2 * len(self.number))), np.int64)
            grown[:, : self.counts.shape[1]] = self.counts
            self.counts = grown
        if len(at) and at[-1] - at[0] == len(at) - 1 and (np.diff(at) == 1).all():  # as where all of them are new
            self.counts[:, at[0] : at[-1] + 1] += counts
            return
        for begin in range(0, len(at), KEYS_AT_ONCE):  # numpy takes the columns out and puts them back
            self.counts[:, at[begin : begin + KEYS_AT_ONCE]] += counts[:, begin : begin + KEYS_AT_ONCE]

    def add_engine(self, counters: dict[EngineKind, int]) -> None:
        """Add counters of an engine."""
        for kind, number in counters.items():
            self.engine[kind] = self.engine.get(kind, 0) + number

    def renamed(self, name: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Tally:
        """The same counts under other names of the slices; what gets one name is added up. What an engine counts by itself is in no slice."""
        names = {part: name(part) for part in {key.slice for key in self.number}}
        out = Tally(self.replicates, requests=self.requests, engine=self.engine)
        number = out.number
        at = np.array(
            [number.setdefault(key._replace(slice=names[key.slice]), len(number)) for key in self.number],
            np.int64,
        )
        if len(number) == len(at):
            out.counts = self.counts
            return out
        out.counts = np.zeros((1 + self.replicates, len(number)), np.int64)
        for begin in range(0, len(at), KEYS_AT_ONCE):
            order = begin + np.argsort(at[begin : begin + KEYS_AT_ONCE], kind="stable")
            starts = np.flatnonzero(np.diff(at[order], prepend=-1))
            out.counts[:, at[order[starts]]] += np.add.reduceat(self.counts[:, order], starts, axis=1)
        return out

    def __iadd__(self, other: Tally) -> Tally:
        if self.replicates != other.replicates:
            raise ValueError(f"tallies with {self.replicates} and {other.replicates} replicates cannot be added")
        self.add(list(other.number), other.counts[:, : len(other.number)])
        self.requests.merge(other.requests)
        self.add_engine(other.engine)
        return self

    def __add__(self, other: Tally) -> Tally:
        total = Tally(self.replicates)
        total += self
        total += other
        return total

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self._canonical() == other._canonical()

    __hash__ = None  # type: ignore[assignment]

    def _canonical(self) -> object:
        keys, columns = self.requests.table()
        counted = {key: self.counts[:, at].tobytes() for key, at in self.number.items() if self.counts[:, at].any()}
        per_request = {
            column: (requests[values != 0].tobytes(), values[values != 0].tobytes())
            for column, (requests, values) in columns.items()
            if values.any()
        }
        engine = {kind: number for kind, number in self.engine.items() if number}
        return self.replicates, counted, keys.tobytes(), per_request, engine
