"""The blame matrix cut to what a page can hold, so that its rows and columns still add up.

The drafters that cost most stand by themselves; the others share a last row and a last column, as in a ranked profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specdiag.report import Blame, Rate

MOST = 6


@dataclass(frozen=True, slots=True)
class Heat:
    """The matrix as shown: a row and a column for each of `names`, then one for the sum of the `others`, if any."""

    names: Sequence[str]
    others: int
    tokens: Sequence[Sequence[int]]
    rows: Sequence[int]
    columns: Sequence[int]
    shares: Sequence[Rate]
    remainder: int
    total: int


def heat(blame: Blame, most: int = MOST) -> Heat:
    """The blame matrix with at most `most` drafters and, where there are more, a sum over the others."""
    size = len(blame.drafters)
    kept = size if size <= most else most - 1
    groups = [[index] for index in range(kept)] + ([list(range(kept, size))] if kept < size else [])
    return Heat(
        names=blame.drafters[:kept],
        others=size - kept,
        tokens=[[sum(blame.tokens[i][j] for i in row for j in column) for column in groups] for row in groups],
        rows=[sum(blame.row_totals[i] for i in row) for row in groups],
        columns=[sum(blame.column_totals[j] for j in column) for column in groups],
        shares=blame.shares[:kept],
        remainder=blame.remainder,
        total=blame.total,
    )
