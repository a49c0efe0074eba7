"""Rates with their intervals.

Sources: Poisson bootstrap (docs/method.md); Wilson 1927, "Probable inference, the law of succession, and statistical inference", for the
score interval; the exact one-sided bound of 0 of n is 1 - alpha^(1/n) (Clopper and Pearson 1934).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specdiag.report import Rate, Source

FEW_REQUESTS = 10
FEWEST_REPLICATES = 20

Counts = NDArray[np.int64] | NDArray[np.float64]
"""Shape (1 + replicates): the figure of the trace, then of each replicate."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Makes rates. `requests` is the number of distinct requests; `widen` the factor by which repeats widen an interval."""

    requests: int
    replicates: int
    level: float = 0.95
    widen: float = 1.0

    def rate(
        self,
        name: str,
        numerator: Counts,
        denominator: Counts,
        *,
        rounds: int | None = None,
        proportion: bool = True,
        source: Source = "recorded",
        offset: float = 0.0,
        absent: str = "",
    ) -> Rate:
        """numerator / denominator + offset. `rounds`: trials that Wilson's interval may count where there are too few requests for a
        bootstrap; `proportion`: the ratio lies in [0, 1]; `absent`: why there is no figure, where the denominator is 0."""
        if not denominator[0] > 0 or not math.isfinite(float(numerator[0])):
            return Rate(name, None, absent=absent or "no evidence")
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(denominator > 0, numerator / denominator, np.nan) + offset
        low, high, method = self._interval(values, float(numerator[0]), float(denominator[0]), rounds, proportion)
        return Rate(name, _plain(values[0]), _number(numerator[0]), _number(denominator[0]), low, high, method, source)

    def value(self, name: str, values: NDArray[np.float64], source: Source = "estimated", absent: str = "") -> Rate:
        """A figure that is no single ratio, with its bootstrap interval."""
        if not math.isfinite(float(values[0])):
            return Rate(name, None, absent=absent or "no evidence")
        low, high, method = self._interval(values, math.nan, math.nan, None, False)
        return Rate(name, _plain(values[0]), None, None, low, high, method, source)

    def _interval(
        self, values: NDArray[np.float64], numerator: float, denominator: float, rounds: int | None, proportion: bool
    ) -> tuple[float | None, float | None, str | None]:
        alpha = 1 - self.level
        if proportion and denominator >= 1 and numerator in (0.0, denominator):
            bound = _plain(1 - alpha ** (1 / denominator))
            return (0.0, bound, "exact_one_sided") if numerator == 0 else (1 - bound, 1.0, "exact_one_sided")
        if not self.replicates:
            return None, None, None
        if self.requests < FEW_REQUESTS:
            if not proportion or not rounds:
                return None, None, None
            return *wilson(numerator / denominator, min(float(rounds), denominator), self.level), "wilson_rounds"
        replicates = values[1:][np.isfinite(values[1:])]
        if len(replicates) < FEWEST_REPLICATES:
            return None, None, None
        low, high = np.quantile(replicates, [alpha / 2, 1 - alpha / 2])
        if self.widen > 1:
            low, high = values[0] + (low - values[0]) * self.widen, values[0] + (high - values[0]) * self.widen
            low, high = (max(low, 0.0), min(high, 1.0)) if proportion else (low, high)
            return _plain(low), _plain(high), "poisson_bootstrap_repeats"
        return _plain(low), _plain(high), "poisson_bootstrap"


def wilson(share: float, trials: float, level: float) -> tuple[float, float]:
    """Wilson's score interval of a share seen in this many independent trials."""
    from statistics import NormalDist  # here, since few logs need it and importing it takes as long as a small trace

    z = NormalDist().inv_cdf(0.5 + level / 2)
    scale = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / scale
    return _plain(max(0.0, centre - half)), _plain(min(1.0, centre + half))


def _plain(value: float) -> float:
    # Twelve digits: enough for any use, and the same on every processor.
    return float(f"{float(value):.12g}")


def _number(value: float) -> float:
    return int(value) if float(value).is_integer() else _plain(float(value))
