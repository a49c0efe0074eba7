"""A tally laid out for reading: kinds of blocks, rounds and sums as arrays, in an order that does not depend on how it was put together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specdiag.measure.engine_counts import Window
from specdiag.measure.tally import (
    INDEPENDENT,
    SHARED,
    SOLO,
    BlockKind,
    CountKind,
    EngineKind,
    GatedKind,
    Key,
    RoundKind,
    ShapeKind,
    SumKind,
    Tally,
)
from specdiag.report import Fates
from specdiag.trace.chains import NONE

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
    """Kinds of blocks; `counts` is (1 + replicates, kinds), `gated` the gated tokens of each kind."""

    def __init__(self, kinds: list[BlockKind], counts: NDArray[np.int64], gated: Row) -> None:
        self.kinds, self.counts, self.gated = kinds, counts, gated
        names = ("size", "accepted", "rejected", "own", "collateral", "committed", "state", "cut", "flags")
        self.column = {name: np.array([getattr(kind, name) for kind in kinds], np.int64) for name in names}
        self.column["judged"] = self.column["accepted"] + self.column["rejected"]
        self.column["one"] = np.ones(len(kinds), np.int64)
        self.column["depth"] = self.column["own"] + self.column["collateral"]
        self.column["unjudged"] = self.column["size"] - self.column["judged"] - self.column["depth"]
        self.some = self.column["size"] > 0
        self.solo = (self.column["flags"] & SOLO) > 0
        self.shared = (self.column["flags"] & SHARED) > 0
        self.independent = (self.column["flags"] & INDEPENDENT) > 0

    def where(self, mask: Mask) -> Blocks:
        """Some of the kinds."""
        return self._take(np.flatnonzero(mask).tolist())

    def of_drafter(self, drafter: str) -> Blocks:
        """The kinds of one drafter."""
        return self._take(self._rows.get(drafter, []))

    def _take(self, rows: list[int]) -> Blocks:
        return Blocks([self.kinds[row] for row in rows], self.counts[:, rows], self.gated[rows])

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for row, kind in enumerate(self.kinds):
            rows.setdefault(kind.drafter, []).append(row)
        return rows

    @property
    def drafters(self) -> list[str]:
        """Whose they are, by name."""
        return sorted(self._rows)

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
        n = {name: int(self.total(name, mask)[0]) for name in ("size", *_FATES.values())}
        gated = int(self.gated.sum() if mask is None else self.gated[mask].sum())
        return Fates(
            proposed=gated + n["size"],
            gated=gated,
            submitted=n["size"],
            **{fate: n[column] for fate, column in _FATES.items()},
        )

    def reaching(self, column: str, mask: Mask, positions: int) -> NDArray[np.int64]:
        """(1 + replicates, positions): blocks whose `column` is at least 1, 2, …"""
        at_least = self.column[column][mask][:, None] >= np.arange(1, positions + 1)[None, :]
        return np.rint(self.counts[:, mask].astype(np.float64) @ at_least.astype(np.float64)).astype(np.int64)


class Tables:
    """Everything in a tally, by kind; or of it what is in one slice."""

    def __init__(self, tally: Tally, keys: Iterable[Key] | None = None) -> None:
        self.replicates = tally.replicates
        by_type: dict[type[Key], list[Any]] = {}
        for key in sorted(tally.number if keys is None else keys, key=_order):
            by_type.setdefault(type(key), []).append(key)
        kinds: list[BlockKind] = by_type.get(BlockKind, [])
        gated = [tally.number.get(GatedKind(kind.slice, kind._replace(slice=())), NONE) for kind in kinds]
        self.blocks = Blocks(
            kinds,
            tally.counts[:, [tally.number[key] for key in kinds]],
            np.array([0 if at == NONE else tally.counts[0, at] for at in gated], np.int64),
        )
        self.shapes: dict[ShapeKind, Row] = {
            key: tally.counts[:, tally.number[key]] for key in by_type.get(ShapeKind, [])
        }
        self._rounds = {key: tally.counts[:, tally.number[key]] for key in by_type.get(RoundKind, [])}
        self._counts = {key: tally.counts[:, tally.number[key]] for key in by_type.get(CountKind, [])}
        self._sums: dict[str, dict[str, dict[SumKind, Row]]] = {}  # by what is summed, and whose
        for key in by_type.get(SumKind, []):
            mine = self._sums.setdefault(key.name, {}).setdefault(key.drafter, {})
            mine[key] = tally.counts[:, tally.number[key]]
        self._engine: dict[str, dict[str, dict[EngineKind, int]]] = {}  # by drafter and window
        for kind in sorted(tally.engine):
            self._engine.setdefault(kind.drafter, {}).setdefault(kind.window, {})[kind] = tally.engine[kind]

    @cached_property
    def drafters(self) -> list[str]:
        """Every drafter with a block or an engine count, by name."""
        return sorted({*self.blocks.drafters, *self._engine})

    def rounds(self, wanted: Callable[[RoundKind], bool]) -> Row:
        """Rounds of the kinds asked for."""
        return self._add(n for key, n in self._rounds.items() if wanted(key))

    def sums(
        self, name: str, flags: Callable[[int], bool] = lambda _: True, whose: Collection[str] | None = None
    ) -> Row:
        """A sum over the blocks or rounds of these drafters (all of them where none are given) with flags as asked for."""
        mine = self._sums.get(name, {})
        parts = mine.values() if whose is None else (mine[drafter] for drafter in whose if drafter in mine)
        return self._add(n for part in parts for key, n in part.items() if flags(key.flags))

    def events(self, name: str) -> dict[str, Row]:
        """Counts of events that are no blocks, by value."""
        out: dict[str, Row] = {}
        for key, n in self._counts.items():
            if key.name == name:
                out[key.value] = out.get(key.value, 0) + n
        return out

    def engine(self, drafter: str) -> list[Window]:
        """What an engine counted of this drafter, by kind of window."""
        return [Window(window, kinds, MAX_POSITIONS) for window, kinds in self._engine.get(drafter, {}).items()]

    def _add(self, rows: Iterable[Row]) -> Row:
        return sum(rows, np.zeros(1 + self.replicates, np.int64))


def of_view(name: str) -> Callable[[int], bool]:
    """Flags of the blocks in one of the VIEWS that flags can tell (`all`, `shared`, `independent`)."""
    bit = {"all": 0, "shared": SHARED, "independent": INDEPENDENT}[name]
    return lambda flags: flags & bit == bit


def _order(key: Any) -> tuple[Any, ...]:
    return (type(key).__name__, *key)
