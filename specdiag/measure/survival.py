"""The chance that tokens come through: per drafter from its acceptance per position, and along a path of ancestors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from specdiag.measure.drafters import hazards
from specdiag.measure.tables import MAX_POSITIONS, Blocks

Reals = NDArray[np.float64]
Carried = TypeVar("Carried")


class Walk(Generic[Carried]):
    """Something carried along paths of ancestors. Paths are best asked for in order: what one has in common with the one before is kept."""

    def __init__(self, start: Carried, step: Callable[[Carried, str, int], Carried]) -> None:
        self.start, self.step = start, step
        self.behind: list[tuple[tuple[str, int], Carried]] = []

    def along(self, path: tuple[tuple[str, int], ...]) -> Carried:
        """What arrives behind these ancestors."""
        common = 0
        for step, (before, _) in zip(path, self.behind, strict=False):
            if step != before:
                break
            common += 1
        del self.behind[common:]
        for step in path[common:]:
            self.behind.append((step, self.step(self.behind[-1][1] if self.behind else self.start, *step)))
        return self.behind[-1][1] if self.behind else self.start


@dataclass(frozen=True, slots=True)
class Survival:
    """Per drafter: S[:, i] = chance that i tokens in a row are accepted (S[:, 0] = 1), its running sum, and the factor by which S falls with
    each token behind MAX_POSITIONS. Shape (1 + replicates, i)."""

    through: dict[str, Reals]
    summed: dict[str, Reals]
    behind: dict[str, Reals]
    rows: int

    @staticmethod
    def of(blocks: Blocks, drafters: list[str]) -> Survival:
        """From the conditional acceptance per position over these blocks."""
        through, summed, behind = {}, {}, {}
        rows = blocks.counts.shape[0]
        for drafter in drafters:
            listed, behind[drafter] = hazards(blocks.of_drafter(drafter))
            survive = through[drafter] = _survival(listed)
            summed[drafter] = np.concatenate([np.zeros((rows, 1)), np.cumsum(survive[:, 1:], axis=1)], axis=1)
        return Survival(through, summed, behind, rows)

    def reach(self, drafter: str, tokens: int) -> Reals:
        """Chance that this many tokens in a row pass; NaN where the evidence ends earlier."""
        listed = self._at(self.through[drafter], drafter, min(tokens, MAX_POSITIONS))
        if tokens <= MAX_POSITIONS:
            return listed
        return times(listed, self.behind[drafter] ** (tokens - MAX_POSITIONS))

    def accepted(self, drafter: str, tokens: int) -> Reals:
        """Expected accepted tokens of a block of this many."""
        listed = self._at(self.summed[drafter], drafter, min(tokens, MAX_POSITIONS))
        more = tokens - MAX_POSITIONS
        if more <= 0:
            return listed
        h = self.behind[drafter]
        with np.errstate(divide="ignore", invalid="ignore"):
            series = np.where(h == 1, more, h * (1 - h**more) / (1 - h))
        return listed + times(self.reach(drafter, MAX_POSITIONS), series)

    def walk(self) -> Walk[Reals]:
        """The chance to come through a path."""
        return Walk(np.ones(self.rows), lambda reach, name, tokens: times(reach, self.reach(name, tokens)))

    def _at(self, table: Reals, drafter: str, column: int) -> Reals:
        if column < table.shape[1]:
            return table[:, column]
        # Behind a position that nothing passes, no evidence is needed: nothing more comes through.
        end = np.where(self.through[drafter][:, -1] == 0, table[:, -1], np.nan)
        return end.astype(np.float64)


def _survival(h: Reals) -> Reals:
    """Running product of the conditional acceptances, from 1. Nothing comes through behind a 0, whatever is not known there."""
    columns = [np.ones(h.shape[0])]
    for i in range(h.shape[1]):
        columns.append(times(columns[-1], h[:, i]))
    return np.stack(columns, axis=1)


def times(reach: Reals, factor: Reals) -> Reals:
    """The product; 0 where nothing is reached, whatever is not known of the factor."""
    return np.where(reach == 0, 0, reach * factor)
