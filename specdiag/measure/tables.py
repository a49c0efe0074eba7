"""A tally laid out for reading: kinds of blocks, rounds and sums as arrays, in an order that does not depend on how it was put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specdiag.measure.tally import INDEPENDENT, SHARED, UNIT, BlockKind, CountKind, RoundKind, SumKind, Tally
from specdiag.report import Fates

MAX_POSITIONS = 64  # positions of a block that are listed
Row = NDArray[np.int64]
Mask = NDArray[np.bool_]

_FATES = {
    "judged": "judged",
    "accepted": "accepted",
    "rejected": "rejected",
    "discarded_own": "own",
    "discarded_collateral": "collateral",
    "unjudged": "unjudged",
    "committed": "committed",
}

VIEWS = ("all", "solo", "shared", "independent")


class Blocks:
    """Kinds of blocks; `counts` is (1 + replicates, kinds)."""

    def __init__(self, kinds: list[BlockKind], counts: NDArray[np.int64]) -> None:
        self.kinds, self.counts = kinds, counts
        names = ("size", "accepted", "rejected", "own", "collateral", "committed", "gated", "state", "cut", "flags")
        self.column = {name: np.array([getattr(kind, name) for kind in kinds], np.int64) for name in names}
        self.column["judged"] = self.column["accepted"] + self.column["rejected"]
        self.column["one"] = np.ones(len(kinds), np.int64)
        self.column["depth"] = self.column["own"] + self.column["collateral"]
        self.column["unjudged"] = self.column["size"] - self.column["judged"] - self.column["depth"]
        self.drafters = sorted({kind.drafter for kind in kinds})
        # By number: numpy would drop the NULs that a name ends in, and take two names for one.
        self._number = {name: i for i, name in enumerate(self.drafters)}
        self._drafter = np.array([self._number[kind.drafter] for kind in kinds], np.int64)
        self.some = self.column["size"] > 0
        self.solo = np.array([all(d == kind.drafter for d, _ in kind.path) for kind in kinds], bool)
        self.shared = (self.column["flags"] & SHARED) > 0
        self.independent = (self.column["flags"] & INDEPENDENT) > 0

    def of(self, drafter: str) -> Mask:
        """The kinds of one drafter."""
        mine: Mask = self._drafter == self._number.get(drafter, -1)
        return mine

    def where(self, mask: Mask) -> Blocks:
        """Some of the kinds."""
        return Blocks(
            [kind for kind, wanted in zip(self.kinds, mask.tolist(), strict=True) if wanted], self.counts[:, mask]
        )

    def view(self, name: str) -> Mask:
        """The kinds of one of the VIEWS, of at least one token."""
        masks: dict[str, Mask] = {
            "all": self.some,
            "solo": self.some & self.solo,
            "shared": self.shared,
            "independent": self.some & self.independent,
        }
        return masks[name]

    def total(self, column: str, mask: Mask | None = None) -> Row:
        """Sum of a column over all blocks, for the trace and for each replicate."""
        values = self.column[column]
        return self.counts @ values if mask is None else self.counts[:, mask] @ values[mask]

    def fates(self, mask: Mask | None = None) -> Fates:
        """The fates of the tokens of these blocks."""
        n = {name: int(self.total(name, mask)[0]) for name in ("size", "gated", *_FATES.values())}
        return Fates(
            proposed=n["gated"] + n["size"],
            gated=n["gated"],
            submitted=n["size"],
            **{fate: n[column] for fate, column in _FATES.items()},
        )

    def reaching(self, column: str, mask: Mask, positions: int) -> NDArray[np.int64]:
        """(1 + replicates, positions): blocks whose `column` is at least 1, 2, …"""
        at_least = self.column[column][mask][:, None] >= np.arange(1, positions + 1)[None, :]
        return np.rint(self.counts[:, mask].astype(np.float64) @ at_least.astype(np.float64)).astype(np.int64)


class Tables:
    """Everything in a tally, by kind."""

    def __init__(self, tally: Tally, wanted: Callable[[tuple[str, ...]], bool] = lambda _: True) -> None:
        self.replicates = tally.replicates
        order = sorted(tally.number, key=_order)
        chosen = [key for key in order if wanted(key.slice)]
        block_kinds = [key for key in chosen if isinstance(key, BlockKind)]
        self.blocks = Blocks(block_kinds, tally.counts[:, [tally.number[key] for key in block_kinds]])
        self._rounds = {key: tally.counts[:, tally.number[key]] for key in chosen if isinstance(key, RoundKind)}
        self._sums = {key: tally.counts[:, tally.number[key]] for key in chosen if isinstance(key, SumKind)}
        self._counts = {key: tally.counts[:, tally.number[key]] for key in chosen if isinstance(key, CountKind)}
        self._engine = tally.engine

    @property
    def drafters(self) -> list[str]:
        """Every drafter with a block or an engine count, by name."""
        return sorted({*self.blocks.drafters} | {kind.drafter for kind in self._engine})

    def rounds(self, wanted: Callable[[RoundKind], bool]) -> Row:
        """Rounds of the kinds asked for."""
        return self._add(n for key, n in self._rounds.items() if wanted(key))

    def sums(self, name: str, wanted: Callable[[SumKind], bool] = lambda _: True) -> Row:
        """A sum over the kinds asked for."""
        return self._add(n for key, n in self._sums.items() if key.name == name and wanted(key))

    def real(self, name: str, wanted: Callable[[SumKind], bool] = lambda _: True) -> NDArray[np.float64]:
        """A sum of probabilities, from fixed point."""
        return self.sums(name, wanted) / UNIT

    def events(self, name: str) -> dict[str, Row]:
        """Counts of events that are no blocks, by value."""
        out: dict[str, Row] = {}
        for key, n in self._counts.items():
            if key.name == name:
                out[key.value] = out.get(key.value, 0) + n
        return out

    def engine(self, drafter: str) -> dict[str, dict[tuple[str, int], int]]:
        """Counters of an engine, by window, and by name and position, as far as positions are listed."""
        out: dict[str, dict[tuple[str, int], int]] = {}
        for kind in sorted(self._engine):
            if kind.drafter == drafter and kind.position <= MAX_POSITIONS:
                out.setdefault(kind.window, {})[kind.name, kind.position] = self._engine[kind]
        return out

    def _add(self, rows: Iterable[Row]) -> Row:
        return sum(rows, np.zeros(1 + self.replicates, np.int64))


def of_view(name: str, drafter: str) -> Callable[[SumKind], bool]:
    """Sums over a drafter's blocks in one of the VIEWS that flags can tell (`all`, `shared`, `independent`)."""
    bit = {"all": 0, "shared": SHARED, "independent": INDEPENDENT}[name]
    return lambda key: key.drafter == drafter and key.flags & bit == bit


def _order(key: Any) -> tuple[Any, ...]:
    return (type(key).__name__, *key)
