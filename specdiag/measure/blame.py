"""Who wasted what: the blame matrix of first refusals.

B[i, j] is the number of tokens of drafter j that were discarded because a token of drafter i was refused in front of them. It needs nothing
but the log. The refused tokens themselves are not in it.
"""

from __future__ import annotations

import numpy as np

from specdiag.measure.intervals import Rates
from specdiag.measure.tables import Blocks, Row, Tables
from specdiag.report import Blame


def blame(tables: Tables, rates: Rates) -> Blame | None:
    """The matrix over all rounds; None where nothing was discarded."""
    blocks = tables.blocks
    total = blocks.total("depth")
    if not total[0]:
        return None
    names = blocks.drafters
    cells = _cells(blocks, names)
    rows = {name: sum((cells[name, other] for other in names), np.zeros_like(total)) for name in names}
    order = sorted(names, key=lambda name: (-int(rows[name][0]), name))
    tokens = [[int(cells[i, j][0]) for j in order] for i in order]
    return Blame(
        drafters=order,
        tokens=tokens,
        own=[int(cells[name, name][0]) for name in order],
        collateral=[int((rows[name] - cells[name, name])[0]) for name in order],
        row_totals=[sum(row) for row in tokens],
        column_totals=[sum(column) for column in zip(*tokens, strict=True)],
        remainder=int((total - sum(rows.values()))[0]),
        total=int(total[0]),
        shares=[rates.rate("blame_share", rows[name], total, proportion=False) for name in order],
    )


def _cells(blocks: Blocks, names: list[str]) -> dict[tuple[str, str], Row]:
    """(culprit, victim) → tokens. The rest of a block behind its own refused token is its own; a whole block is its cut ancestor's."""
    cells = {(i, j): np.zeros(blocks.counts.shape[0], np.int64) for i in names for j in names}
    for kind, seen in zip(blocks.kinds, blocks.counts.T, strict=True):
        dropped = kind.own + kind.collateral
        if dropped:
            culprit = kind.path[kind.cut][0] if kind.cut >= 0 else kind.drafter
            cells[culprit, kind.drafter] += seen * dropped
    return cells


def worst_position(tables: Tables, drafter: str) -> tuple[int, int, int] | None:
    """(position within the block, refusals there, all refusals) of the position at which this drafter's shared blocks are refused most."""
    blocks = tables.blocks
    mine = blocks.shared & blocks.of(drafter) & (blocks.column["rejected"] > 0)
    if not mine.any():
        return None
    refused = np.bincount(blocks.column["accepted"][mine] + 1, blocks.counts[0, mine])
    return int(refused.argmax()), int(refused.max()), int(refused.sum())
