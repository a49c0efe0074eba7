"""Weights of the Poisson bootstrap over requests.

Each replicate gives each request a weight drawn from Poisson(1), by a hash of (seed, request, replicate) alone: so every shard, file and
machine gives the same request the same weight, and replicates are tallies that add. Source: Chamandy, Muralidharan, Najmi and Naidu 2012,
"Estimating uncertainty for massive data streams"; Hanley and MacGibbon 2006 for the Poisson weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specdiag.trace.blocks import Keys


@dataclass(frozen=True, slots=True)
class Resampling:
    """Bootstrap replicates, and the seed of their weights."""

    replicates: int = 0
    seed: int = 0


_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_CDF = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(20)])


def poisson_weights(requests: Keys, replicates: int, seed: int) -> NDArray[np.float64]:
    """Weights (requests × replicates), whole numbers with mean 1 and variance 1. SplitMix64 makes the uniform draws."""
    streams = np.array([(seed * 0xD1342543DE82EF95 + (r + 1) * _GOLDEN) & _MASK for r in range(replicates)], np.uint64)
    with np.errstate(over="ignore"):
        z = requests[:, None] + streams[None, :]
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    weights = _COARSE[(z >> np.uint64(52)).astype(np.int64)]
    unsure = np.nonzero(weights < 0)
    weights[unsure] = _weight(z[unsure])
    return weights


def _weight(z: Keys) -> NDArray[np.float64]:
    uniform = (z >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return np.searchsorted(_CDF, uniform, side="right").astype(np.float64)


def _coarse() -> NDArray[np.float64]:
    """The weight by the first 12 bits of a draw; -1 where the other bits matter."""
    first = np.arange(1 << 12, dtype=np.uint64) << np.uint64(52)
    low, high = _weight(first), _weight(first | np.uint64((1 << 52) - 1))
    return np.where(low == high, low, -1.0)


_COARSE = _coarse()
