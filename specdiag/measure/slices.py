"""Slices: the same figures for each value of the dimensions of `--by`."""

from __future__ import annotations

import itertools

from specdiag.measure.drafters import block_rates, positions, summed_rates
from specdiag.measure.intervals import Rates
from specdiag.measure.progress import output_rates
from specdiag.measure.shared import joint_acceptance
from specdiag.measure.tables import Tables
from specdiag.measure.tally import BlockKind, GatedKind, Key, Tally
from specdiag.report import Slice

MAX_SLICES = 1000  # combinations of branch and labels with a row of their own: a report of more is read by nobody


def slices(tally: Tally, by: tuple[str, ...], rates: Rates) -> list[Slice]:
    """One row for each combination of values that occurs, of the MAX_SLICES with most proposed tokens; empty without `by`."""
    if not by:
        return []
    apart = [d for d in by if d == "branch" or d.startswith("label")]
    keys = keys_by_slice(tally)
    if not apart:
        keys.setdefault((), [])
    out = []
    for value in sorted(_largest(tally, keys)):
        out.extend(_rows(Tables(tally, keys[value]), dict(zip(apart, value, strict=True)), by, rates))
    return [row for row in out if row.fates.proposed or len(row.by) == len(apart)]


def keys_by_slice(tally: Tally) -> dict[tuple[str, ...], list[Key]]:
    """What was counted in each slice."""
    out: dict[tuple[str, ...], list[Key]] = {}
    for key in tally.number:
        out.setdefault(key.slice, []).append(key)
    return out


def _largest(tally: Tally, keys: dict[tuple[str, ...], list[Key]]) -> list[tuple[str, ...]]:
    def proposed(value: tuple[str, ...]) -> int:
        counts = tally.counts[0]
        return sum(
            int(counts[tally.number[key]]) * (key.size if isinstance(key, BlockKind) else 1)
            for key in keys[value]
            if isinstance(key, BlockKind | GatedKind)
        )

    if len(keys) <= MAX_SLICES:
        return [*keys]
    return sorted(keys, key=lambda value: (-proposed(value), value))[:MAX_SLICES]


def _rows(tables: Tables, fixed: dict[str, str], by: tuple[str, ...], rates: Rates) -> list[Slice]:
    whose = tables.blocks.drafters if "drafter" in by else [None]
    return list(itertools.chain.from_iterable(_of_drafter(tables, fixed, name, by, rates) for name in whose))


def _of_drafter(
    tables: Tables, fixed: dict[str, str], drafter: str | None, by: tuple[str, ...], rates: Rates
) -> list[Slice]:
    blocks = tables.blocks if drafter is None else tables.blocks.of_drafter(drafter)
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
    figures |= summed_rates(tables, rates, whose=None if drafter is None else {drafter})
    if drafter is None:
        figures |= output_rates(tables, rates) | {"joint_acceptance": joint_acceptance(tables, rates)}
    return [Slice(_ordered(labels, by), blocks.fates(), figures)]


def _ordered(labels: dict[str, str], by: tuple[str, ...]) -> dict[str, str]:
    return {dimension: labels[dimension] for dimension in by if dimension in labels}
