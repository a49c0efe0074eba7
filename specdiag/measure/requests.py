"""Means over requests, and requests that repeat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from specdiag.measure.intervals import Rates
from specdiag.measure.tally import Tally
from specdiag.measure.weights import poisson_weights
from specdiag.report import Rate, Requests

REQUESTS_AT_ONCE = 512  # of the weights, which are requests × replicates: memory must not grow with the trace


class RequestMeans:
    """Means over requests, and how many distinct ones there are."""

    def __init__(self, tally: Tally, seed: int, level: float) -> None:
        self.replicates, self.seed, self.level = tally.replicates, seed, level
        self.keys, self.columns = tally.requests.table()
        total = len(self.keys)
        distinct = np.arange(total)
        digest = self.columns.get("*digest")
        if digest is not None:
            first = np.unique(digest, return_index=True)[1]
            distinct = np.sort(np.concatenate([first[digest[first] != 0], np.flatnonzero(digest == 0)]))
        self.distinct = distinct
        self.requests = Requests(total, len(distinct), total - len(distinct))
        widen = float(np.sqrt(total / len(distinct))) if len(distinct) else 1.0
        self.rates = Rates(len(distinct), self.replicates, self.level, widen)

    def of(self, name: str, whose: str | None) -> Rate:
        """Mean over distinct requests of accepted / submitted tokens, of one drafter, of `*shared`, or of all."""
        submitted, accepted = self._column("submitted", whose), self._column("accepted", whose)
        some = self.distinct[submitted[self.distinct] > 0]
        if not len(some):
            return Rate(name, None, absent="no request with a submitted token of this kind")
        ratios = accepted[some] / submitted[some]
        top, bottom = np.zeros(1 + self.replicates), np.zeros(1 + self.replicates)
        for begin in range(0, len(some), REQUESTS_AT_ONCE):
            part = some[begin : begin + REQUESTS_AT_ONCE]
            weights = poisson_weights(self.keys[part], self.replicates, self.seed)
            top[1:] += ratios[begin : begin + REQUESTS_AT_ONCE] @ weights
            bottom[1:] += weights.sum(axis=0)
        top[0], bottom[0] = ratios.sum(), len(some)
        distinct_only = Rates(len(some), self.replicates, self.level)
        return distinct_only.rate(name, top, bottom, proportion=False)

    def _column(self, what: str, whose: str | None) -> NDArray[np.int64]:
        zero = np.zeros(len(self.keys), np.int64)
        if whose is not None:
            return self.columns.get(f"{what} {whose}", zero)
        return sum(
            (v for name, v in self.columns.items() if name.startswith(f"{what} ") and not name.endswith(" *shared")),
            zero,
        )
