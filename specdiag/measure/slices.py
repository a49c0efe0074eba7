"""Slices: the same figures for each value of the dimensions of `--by`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from specdiag.measure.drafters import block_rates, positions, summed_rates
from specdiag.measure.intervals import Rates
from specdiag.measure.progress import output_rates
from specdiag.measure.shared import joint_acceptance
from specdiag.measure.tables import Tables
from specdiag.measure.tally import Tally
from specdiag.report import Slice


def slices(tally: Tally, by: tuple[str, ...], rates: Rates) -> list[Slice]:
    """One row for each combination of values that occurs; empty without `by`."""
    if not by:
        return []
    apart = [d for d in by if d == "branch" or d.startswith("label")]
    values = sorted({key.slice for key in tally.number}) if apart else [()]
    out = []
    for value in values:
        tables = Tables(tally, lambda s, value=value: s == value)  # type: ignore[misc]
        out.extend(_rows(tables, dict(zip(apart, value, strict=True)), by, rates))
    return [row for row in out if row.fates.proposed or len(row.by) == len(apart)]


def _rows(tables: Tables, fixed: dict[str, str], by: tuple[str, ...], rates: Rates) -> list[Slice]:
    whose: Sequence[str | None] = tables.blocks.drafters if "drafter" in by else [None]
    return list(itertools.chain.from_iterable(_of_drafter(tables, fixed, name, by, rates) for name in whose))


def _of_drafter(
    tables: Tables, fixed: dict[str, str], drafter: str | None, by: tuple[str, ...], rates: Rates
) -> list[Slice]:
    blocks = tables.blocks if drafter is None else tables.blocks.where(tables.blocks.of(drafter))
    labels = fixed | ({} if drafter is None else {"drafter": drafter})
    mask = blocks.view("all")
    if "position" in by:
        return [
            Slice(
                _ordered(labels | {"position": str(p.position)}, by),
                blocks.fates(mask & (blocks.column["size"] >= p.position)),
                {"position_acceptance": p.acceptance, "position_reach": p.reach},
            )
            for p in positions(blocks, mask, rates)
        ]
    figures = block_rates(blocks, mask, rates, "no block in this slice")
    figures |= summed_rates(tables, rates, lambda key: drafter in (None, key.drafter))
    if drafter is None:
        figures |= output_rates(tables, rates) | {"joint_acceptance": joint_acceptance(tables, rates)}
    return [Slice(_ordered(labels, by), blocks.fates(), figures)]


def _ordered(labels: dict[str, str], by: tuple[str, ...]) -> dict[str, str]:
    return {dimension: labels[dimension] for dimension in by if dimension in labels}
