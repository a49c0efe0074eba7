"""Means over requests, and requests that repeat."""

from __future__ import annotations

import itertools
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from specdiag.measure.intervals import Rates
from specdiag.measure.tally import Tally
from specdiag.measure.weights import poisson_weights
from specdiag.report import Rate, Requests
from specdiag.trace.blocks import Ints, Keys

REQUESTS_AT_ONCE = 512  # of the weights, which are requests × replicates: memory must not grow with the trace

Reals = NDArray[np.float64]

Whose = tuple[str, str]
"""`("drafter", NAME)`, `("shared", "")` or `("counting", KEY)`."""


class RequestMeans:
    """Means over requests, and how many distinct ones there are."""

    def __init__(self, tally: Tally, seed: int, level: float) -> None:
        self.replicates, self.seed, self.level = tally.replicates, seed, level
        self.keys, self.columns = tally.requests.table()
        total = len(self.keys)
        distinct = np.arange(total)
        digests = self.columns.get(("digest", "", ""))
        if digests is not None:
            digest = self._dense(*digests)
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
        ratios = {whose: self._ratios(whose) for whose in names}
        sums: dict[Whose | None, tuple[int, Reals, Reals]] = {}
        parts: dict[int, list[tuple[Whose | None, int, int]]] = {}
        for whose, (places, ratio) in ratios.items():
            if len(ratio):
                zero = np.zeros(self.replicates)
                sums[whose] = len(ratio), np.append(ratio.sum(), zero), np.append(float(len(ratio)), zero)
                begins = np.flatnonzero(np.diff(places // REQUESTS_AT_ONCE, prepend=-1)).tolist()
                for begin, end in itertools.pairwise([*begins, len(places)]):
                    parts.setdefault(int(places[begin]) // REQUESTS_AT_ONCE, []).append((whose, begin, end))
        for number in sorted(parts) if self.replicates else []:
            here = self.distinct[number * REQUESTS_AT_ONCE :][:REQUESTS_AT_ONCE]
            weights = poisson_weights(self.keys[here], self.replicates, self.seed)
            for whose, begin, end in parts[number]:
                places, ratio = ratios[whose]
                mine = weights if end - begin == len(here) else weights[places[begin:end] - number * REQUESTS_AT_ONCE]
                _, top, bottom = sums[whose]
                top[1:] += ratio[begin:end] @ mine
                bottom[1:] += mine.sum(axis=0)
        return sums

    def of_each(self, names: tuple[str, ...], whose: Whose) -> dict[str, Ints]:
        """Counts of every request, those that repeat too; empty where nothing of this kind was counted."""
        return {name: self._dense(*self.columns[name, *whose]) for name in names if (name, *whose) in self.columns}

    def weighed(self, values: Reals) -> Reals:
        """The sum over all requests of one value each, for the trace and for each replicate."""
        total = np.append(values.sum(), np.zeros(self.replicates))
        for begin in range(0, len(self.keys) if self.replicates else 0, REQUESTS_AT_ONCE):
            end = begin + REQUESTS_AT_ONCE
            total[1:] += values[begin:end] @ poisson_weights(self.keys[begin:end], self.replicates, self.seed)
        return total

    def _ratios(self, whose: Whose | None) -> tuple[Ints, Reals]:
        """The distinct requests that submitted a token, by number, and accepted / submitted tokens of each of them."""
        requests, submitted, accepted = self._counts(whose)
        places = np.searchsorted(self.distinct, requests)
        some = submitted > 0
        some &= self.distinct[np.minimum(places, len(self.distinct) - 1)] == requests
        return places[some], accepted[some] / submitted[some]

    def _counts(self, whose: Whose | None) -> tuple[Ints, Ints, Ints]:
        """Requests, by number, with their submitted and accepted tokens."""
        if whose is not None:
            keys, submitted = self.columns["submitted", *whose]
            return np.searchsorted(self.keys, keys), submitted, self.columns["accepted", *whose][1]
        submitted, accepted = np.zeros(len(self.keys), np.int64), np.zeros(len(self.keys), np.int64)
        total = {"submitted": submitted, "accepted": accepted}
        for (what, kind, _), (keys, values) in self.columns.items():
            if kind == "drafter":
                total[what][np.searchsorted(self.keys, keys)] += values
        return np.arange(len(self.keys)), submitted, accepted

    def _dense(self, keys: Keys, values: Ints) -> Ints:
        """The counts of every request."""
        out = np.zeros(len(self.keys), np.int64)
        out[np.searchsorted(self.keys, keys)] = values
        return out
