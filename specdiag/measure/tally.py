"""The tally: counts that add.

A tally maps what was seen (a key: a kind of block, of round, of sum) to how often, as whole numbers, once for the trace as it is (row 0) and
once for each bootstrap replicate (rows 1, 2, …). Adding is exact, commutative and associative: shards, files and machines merge bit for bit,
in any order. Everything the report says is derived from one tally.

Sums of real numbers are kept in fixed point (`UNIT` for probabilities, nanoseconds for times), since floating-point addition depends on order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from specdiag.trace.blocks import Ints, Keys

UNIT = 1 << 30
SHARED, INDEPENDENT, FIRST_OF_ROUND, UNJUDGED = 1, 2, 4, 8  # flags of a block


class BlockKind(NamedTuple):
    """Blocks that are alike in everything the figures depend on. `path`: (drafter, tokens) of each ancestor; `cut`: index of the ancestor
    at which the path ended, -1 where the verifier came through to this block."""

    slice: tuple[str, ...]
    path: tuple[tuple[str, int], ...]
    drafter: str
    size: int
    accepted: int
    rejected: int
    own: int
    collateral: int
    committed: int
    gated: int
    state: int
    cut: int
    flags: int


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
    """A counter that an engine kept. `position`: from 1 for `reached`, else 0."""

    drafter: str
    window: str
    name: str
    position: int = 0


Key = BlockKind | RoundKind | SumKind | CountKind
Column = tuple[str, str, str]
"""What a request's count is of, whose (`drafter`, `shared`, or nobody's), and the drafter: apart, since a drafter may have any name."""


class Requests:
    """Per request, a few counts that add: for means over requests, and to know requests that repeat."""

    def __init__(self) -> None:
        self.parts: list[tuple[Keys, dict[Column, Ints]]] = []
        self.pending = 0

    def add(self, keys: Keys, columns: dict[Column, Ints]) -> None:
        """More counts of these requests; a request may come many times."""
        self.parts.append((keys, columns))
        self.pending += len(keys)
        if self.pending > 2 * len(self.parts[0][0]) + 20_000:
            self._compact()

    def merge(self, other: Requests) -> None:
        """Add another table."""
        for keys, columns in other.parts:
            self.add(keys, columns)

    def _compact(self) -> None:
        if not self.parts:
            return
        keys, inverse = np.unique(np.concatenate([k for k, _ in self.parts]), return_inverse=True)
        names = sorted({name for _, columns in self.parts for name in columns})
        bounds = np.cumsum([0] + [len(k) for k, _ in self.parts])
        merged = {name: np.zeros(len(keys), np.int64) for name in names}
        for (_, columns), begin, end in zip(self.parts, bounds[:-1], bounds[1:], strict=True):
            for name, values in columns.items():
                with np.errstate(over="ignore"):
                    np.add.at(merged[name], inverse[begin:end], values)
        self.parts = [(keys, merged)]
        self.pending = len(keys)

    def table(self) -> tuple[Keys, dict[Column, Ints]]:
        """Every request once, in the order of its key, with its counts."""
        self._compact()
        return self.parts[0] if self.parts else (np.empty(0, np.uint64), {})


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
        self.counts[:, at] += counts

    def add_engine(self, counters: dict[EngineKind, int]) -> None:
        """Add counters of an engine."""
        for kind, number in counters.items():
            self.engine[kind] = self.engine.get(kind, 0) + number

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
        return (
            self.replicates,
            counted,
            keys.tobytes(),
            {name: values.tobytes() for name, values in columns.items() if values.any()},
            {kind: number for kind, number in self.engine.items() if number},
        )
