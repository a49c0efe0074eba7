"""Weaker neural drafters out of a model's own weights: a dial for acceptance, with the tokenizer unchanged.

The weights of some matrices are rounded to a grid of 2^bits values between the least and the greatest of each block of 32. Rounding is
stochastic and unbiased, up or down with the probability that keeps the mean: rounding to the nearest shifts every sum the same way and
breaks a model, this adds noise to it. What is drawn depends on the seed and on the name of the matrix alone.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specdiag.errors import UsageError
from specdiag.record.backends.options import number

BLOCK = 32
_LAYER = re.compile(r"\b(?:layers|blk|h|block)\.(\d+)\.")
_FFN = re.compile(r"\.(?:mlp|ffn_(?:up|down|gate)|feed_forward)\.")


@dataclass(frozen=True, slots=True)
class Weakening:
    """Which matrices lose precision: the feed-forward ones of a `share` of the layers, evenly spread, or with `everywhere` all of them."""

    share: float
    everywhere: bool
    bits: int
    seed: int

    def takes(self, name: str) -> bool:
        """Whether the matrix of this name is weakened."""
        layer = _LAYER.search(name)
        if layer is None:
            return False
        if self.everywhere:
            return True
        at = int(layer[1])
        return bool(_FFN.search(name)) and int((at + 1) * self.share) > int(at * self.share)

    def rounded(self, name: str, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """The matrix on its coarser grid. Rows are cut into blocks; what is left of a row is a shorter block."""
        out = np.empty_like(weights)
        whole = weights.shape[1] // BLOCK * BLOCK
        for columns, width in ((slice(0, whole), BLOCK), (slice(whole, None), weights.shape[1] - whole)):
            part = weights[:, columns]
            if part.size:
                out[:, columns] = self._blocks(name, part.reshape(-1, width)).reshape(part.shape)
        return out

    def _blocks(self, name: str, blocks: NDArray[np.float32]) -> NDArray[np.float32]:
        least = blocks.min(axis=1, keepdims=True)
        step = (blocks.max(axis=1, keepdims=True) - least) / (2**self.bits - 1)
        step[step == 0] = 1
        found: NDArray[np.float32] = least + self.steps(name, (blocks - least) / step) * step
        return found

    def steps(self, name: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Rounded to whole numbers, up or down, with the mean kept."""
        rng = np.random.default_rng([self.seed, zlib.crc32(name.encode())])
        found: NDArray[np.float32] = np.floor(values + rng.random(values.shape, dtype=np.float32)).clip(
            0, 2**self.bits - 1
        )
        return found

    def __str__(self) -> str:
        what = (
            "every matrix" if self.everywhere else f"feed-forward matrices of a share of {self.share:g} of the layers"
        )
        return f"{what} stochastically rounded to {self.bits} bits in blocks of {BLOCK}, seed {self.seed}"


def weakening(options: Mapping[str, str]) -> Weakening | None:
    """`weaken=ffn:SHARE`, `weaken=all-ffn` or `weaken=all`, with `bits` (3) and `seed` (0); None where nothing is asked for."""
    asked = options.get("weaken")
    if asked is None:
        return None
    bits, seed = number(options, "bits", 3, 1, 8), number(options, "seed", 0, 0, 2**32)
    if asked in ("all", "all-ffn"):
        return Weakening(1.0, asked == "all", bits, seed)
    kind, _, share = asked.partition(":")
    try:
        found = float(share)
    except ValueError:
        found = 0.0
    if kind != "ffn" or not 0 < found <= 1:
        raise UsageError(
            f"weaken={asked}: no such weakening", "Give ffn:SHARE with a share in (0, 1], all-ffn, or all."
        )
    return Weakening(found, False, bits, seed)
