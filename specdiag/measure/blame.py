"""Who wasted what: the blame matrix of first refusals.

B[i, j] is the number of tokens of drafter j that were discarded because a token of drafter i was refused in front of them. It needs nothing
but the log. The refused tokens themselves are not in it.
"""

from __future__ import annotations

import numpy as np

from specdiag.measure.intervals import Rates
from specdiag.measure.tables import Blocks, Row, Tables
from specdiag.report import Blame
from specdiag.trace.chains import NONE

MAX_BLAMED = 256  # drafters, those that cost most first: the matrix has a cell for each two, most of them empty where they are many


def blame(tables: Tables, rates: Rates) -> Blame | None:
    """The matrix over all rounds; None where nothing was discarded."""
    blocks = tables.blocks
    total = blocks.total("depth")
    if not total[0]:
        return None
    cells, rows = _cells(blocks)
    none = np.zeros_like(total)
    order = sorted(blocks.drafters, key=lambda name: (-int(rows.get(name, none)[0]), name))[:MAX_BLAMED]
    tokens = [[cells.get((i, j), 0) for j in order] for i in order]
    row_totals = [sum(row) for row in tokens]
    own = [cells.get((name, name), 0) for name in order]
    return Blame(
        drafters=order,
        tokens=tokens,
        own=own,
        collateral=[whole - mine for whole, mine in zip(row_totals, own, strict=True)],
        row_totals=row_totals,
        column_totals=[sum(column) for column in zip(*tokens, strict=True)],
        remainder=int(total[0]) - sum(row_totals),
        total=int(total[0]),
        shares=[rates.rate("blame_share", rows.get(name, none), total, proportion=False) for name in order],
    )


def _cells(blocks: Blocks) -> tuple[dict[tuple[str, str], int], dict[str, Row]]:
    """(culprit, victim) → tokens, and culprit → tokens of all victims with their replicates. The rest of a block behind its own refused
    token is its own; a whole block is its cut ancestor's."""
    cells: dict[tuple[str, str], int] = {}
    rows: dict[str, Row] = {}
    for kind, seen in zip(blocks.kinds, blocks.counts.T, strict=True):
        dropped = kind.own + kind.collateral
        if dropped:
            culprit = kind.culprit if kind.cut != NONE else kind.drafter
            cells[culprit, kind.drafter] = cells.get((culprit, kind.drafter), 0) + int(seen[0]) * dropped
            rows[culprit] = rows.get(culprit, 0) + seen * dropped
    return cells, rows


def worst_position(tables: Tables, drafter: str) -> tuple[int, int, int] | None:
    """(position within the block, refusals there, all refusals) of the position at which this drafter's shared blocks are refused most."""
    blocks = tables.blocks.of_drafter(drafter)
    mine = blocks.shared & (blocks.column["rejected"] > 0)
    if not mine.any():
        return None
    refused = np.bincount(blocks.column["accepted"][mine] + 1, blocks.counts[0, mine])
    return int(refused.argmax()), int(refused.max()), int(refused.sum())
