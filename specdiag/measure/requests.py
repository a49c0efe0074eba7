"""Means over requests, and requests that repeat."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from specdiag.measure.intervals import Rates
from specdiag.measure.tally import Tally
from specdiag.measure.weights import poisson_weights
from specdiag.report import Rate, Requests

REQUESTS_AT_ONCE = 512  # of the weights, which are requests × replicates: memory must not grow with the trace

Reals = NDArray[np.float64]

Whose = tuple[str, str]
"""`("drafter", NAME)` or `("shared", "")`."""


class RequestMeans:
    """Means over requests, and how many distinct ones there are."""

    def __init__(self, tally: Tally, seed: int, level: float) -> None:
        self.replicates, self.seed, self.level = tally.replicates, seed, level
        self.keys, self.columns = tally.requests.table()
        total = len(self.keys)
        distinct = np.arange(total)
        digest = self.columns.get(("digest", "", ""))
        if digest is not None:
            first = np.unique(digest, return_index=True)[1]
            distinct = np.sort(np.concatenate([first[digest[first] != 0], np.flatnonzero(digest == 0)]))
        self.distinct = distinct
        self.requests = Requests(total, len(distinct), total - len(distinct))
        widen = float(np.sqrt(total / len(distinct))) if len(distinct) else 1.0
        self.rates = Rates(len(distinct), self.replicates, self.level, widen)

    def of(self, name: str, whose: Whose | None) -> Rate:
        """Mean over distinct requests of accepted / submitted tokens, of one drafter, of shared chains, or of all."""
        if whose not in self.sums:
            return Rate(name, None, absent="no request with a submitted token of this kind")
        requests, top, bottom = self.sums[whose]
        distinct_only = Rates(requests, self.replicates, self.level)
        return distinct_only.rate(name, top, bottom, proportion=False)

    @cached_property
    def sums(self) -> dict[Whose | None, tuple[int, Reals, Reals]]:
        """For each drafter, of shared chains, and all (None): the requests with a submitted token, and the sum of their ratios and their number, of
        the trace and of each replicate. The weights of a few requests are made once for all of them."""
        names: list[Whose | None] = [None, *(column[1:] for column in self.columns if column[0] == "submitted")]
        ratios = {whose: ratio for whose in names if len(ratio := self._ratios(whose)) and not np.isnan(ratio).all()}
        sums = {}
        for whose, ratio in ratios.items():
            some = ratio[~np.isnan(ratio)]
            zero = np.zeros(self.replicates)
            sums[whose] = len(some), np.append(some.sum(), zero), np.append(float(len(some)), zero)
        for begin in range(0, len(self.distinct) if self.replicates else 0, REQUESTS_AT_ONCE):
            part = slice(begin, begin + REQUESTS_AT_ONCE)
            weights = poisson_weights(self.keys[self.distinct[part]], self.replicates, self.seed)
            for whose, (_, top, bottom) in sums.items():
                ratio = ratios[whose][part]
                some = ~np.isnan(ratio)
                mine = weights if some.all() else weights[some]
                top[1:] += ratio[some] @ mine
                bottom[1:] += mine.sum(axis=0)
        return sums

    def _ratios(self, whose: Whose | None) -> Reals:
        """Accepted / submitted tokens of each distinct request; NaN where it submitted none."""
        submitted, accepted = (self._column(what, whose)[self.distinct] for what in ("submitted", "accepted"))
        return np.where(submitted > 0, accepted, np.nan) / np.maximum(submitted, 1)

    def _column(self, what: str, whose: Whose | None) -> NDArray[np.int64]:
        zero = np.zeros(len(self.keys), np.int64)
        if whose is not None:
            return self.columns.get((what, *whose), zero)
        return sum((v for column, v in self.columns.items() if column[:2] == (what, "drafter")), zero)
