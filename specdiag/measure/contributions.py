"""Contributions to a tally: so much of this kind, from this request; added up for the trace and for each replicate.

A replicate weighs a request, so its sums are the weights (requests × replicates) times what each request has of each kind. Both matrices
are taken some requests at a time, and the second one only where it is not mostly zeros: a segment may hold as many requests and as many
kinds as lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specdiag.measure.tally import Key, Tally
from specdiag.measure.weights import Resampling, poisson_weights
from specdiag.trace.blocks import Ints, Keys

REQUESTS_AT_ONCE = 1024
ROWS_AT_ONCE = 4096  # where the matrix of requests and kinds is mostly zeros
MOSTLY_ZEROS = 16  # cells of that matrix to one contribution: about what a product takes for a cell, and a gathered sum for a contribution

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Part:
    """Contributions to some keys, in the order of their requests where these are many."""

    keys: list[Key]
    of_kind: Ints
    requests: Ints
    values: Ints | None


@dataclass(slots=True)
class Contributions:
    """Contributions of these requests. They are added up at the end, so that the weights of a request are made once."""

    requests: Keys
    how: Resampling
    parts: list[_Part] = field(default_factory=list)

    def add(self, keys: list[Key], of_kind: Ints, requests: Ints, values: Ints | None = None) -> None:
        """`values` (default 1 each) of these kinds, numbers of `keys`, and of these requests, by number."""
        if len(self.requests) > REQUESTS_AT_ONCE:
            order = np.argsort(requests, kind="stable")
            of_kind, requests = of_kind[order], requests[order]
            values = None if values is None else values[order]
        self.parts.append(_Part(keys, of_kind, requests, values))

    def into(self, tally: Tally) -> None:
        """Add everything to a tally."""
        count = len(self.requests)
        totals = [np.zeros((1 + self.how.replicates, len(part.keys)), np.int64) for part in self.parts]
        for begin in range(0, count, REQUESTS_AT_ONCE):
            end = min(begin + REQUESTS_AT_ONCE, count)
            weights = poisson_weights(self.requests[begin:end], self.how.replicates, self.how.seed)
            for part, total in zip(self.parts, totals, strict=True):
                rows: Any = slice(None)
                if count > REQUESTS_AT_ONCE:
                    rows = slice(*np.searchsorted(part.requests, [begin, end]).tolist())
                values = None if part.values is None else part.values[rows].astype(np.float64)
                with np.errstate(all="ignore"):  # numbers that a trace made up may be beyond any sum
                    _add_up(total, part.of_kind[rows], part.requests[rows] - begin, values, weights)
        while totals:  # a tally may be large: none of them is kept beside it
            tally.add(self.parts.pop().keys, totals.pop())


@dataclass(slots=True)
class Held:
    """Contributions of several ledgers, to be added up together: weighing a few of them takes as long as weighing many."""

    how: Resampling
    number: dict[Key, int] = field(default_factory=dict)
    rows: list[tuple[Ints, Keys, Ints]] = field(default_factory=list)
    size: int = 0

    def add(self, contributions: Contributions) -> None:
        """Hold these too."""
        for part in contributions.parts:
            at = np.array([self.number.setdefault(key, len(self.number)) for key in part.keys], np.int64)
            values = np.ones(len(part.of_kind), np.int64) if part.values is None else part.values
            self.rows.append((at[part.of_kind], contributions.requests[part.requests], values))
            self.size += len(values)

    def release(self) -> Tally:
        """Everything that was held, as a tally; nothing is held then."""
        tally = Tally(self.how.replicates)
        if self.rows:
            of_kind, requests, values = (np.concatenate(column) for column in zip(*self.rows, strict=True))
            distinct, of_row = np.unique(requests, return_inverse=True)
            together = Contributions(distinct, self.how)
            together.add([*self.number], of_kind, of_row, values)
            together.into(tally)
        self.number, self.rows, self.size = {}, [], 0
        return tally


def _add_up(total: Ints, of_kind: Ints, requests: Ints, values: Reals | None, weights: Reals) -> None:
    """Add to `total` (1 + replicates, kinds). Whole numbers below 2**53 in float64: sums are exact, whatever their order."""
    many, kinds = len(weights), total.shape[1]
    if many * kinds > MOSTLY_ZEROS * len(of_kind):
        _gather(total, of_kind, requests, values, weights)
        return
    table = np.bincount(requests * kinds + of_kind, values, many * kinds).reshape(many, kinds)
    total[0] += table.sum(axis=0).astype(np.int64)
    if weights.shape[1]:
        total[1:] += (weights.T @ table).astype(np.int64)


def _gather(total: Ints, of_kind: Ints, requests: Ints, values: Reals | None, weights: Reals) -> None:
    order = np.argsort(of_kind, kind="stable")
    for begin in range(0, len(order), ROWS_AT_ONCE):
        rows = order[begin : begin + ROWS_AT_ONCE]
        kind = of_kind[rows]
        starts = np.flatnonzero(np.diff(kind, prepend=-1))
        value = np.ones(len(rows)) if values is None else values[rows]
        total[0, kind[starts]] += np.add.reduceat(value, starts).astype(np.int64)
        weighed = np.add.reduceat(weights[requests[rows]] * value[:, None], starts, axis=0)
        total[1:, kind[starts]] += weighed.T.astype(np.int64)
