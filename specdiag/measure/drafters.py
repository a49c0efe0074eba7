"""Figures of each drafter, over all of its blocks and over those that were alone, shared or independent."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from specdiag.measure.intervals import Rates
from specdiag.measure.tables import MAX_POSITIONS, VIEWS, Blocks, Mask, Row, Tables, of_view
from specdiag.measure.tally import FIRST_OF_ROUND, UNIT
from specdiag.report import Position, Rate, View

Reals = NDArray[np.float64]


def views(tables: Tables, drafter: str, rates: Rates) -> dict[str, View]:
    """The four views of a drafter."""
    mine = tables.blocks.of_drafter(drafter)
    out = {}
    for name in VIEWS:
        mask = mine.view(name)
        figures = block_rates(
            mine, mask, rates, f"no {name} block of this drafter" if name != "all" else "no block of this drafter"
        )
        if name != "solo":
            figures |= summed_rates(tables, rates, of_view(name), {drafter})
        everything = mask | ~mine.some if name == "all" else mask
        out[name] = View(int(mine.total("one", mask)[0]), mine.fates(everything), figures, positions(mine, mask, rates))
    return out


def block_rates(blocks: Blocks, mask: Mask, rates: Rates, absent: str) -> dict[str, Rate]:
    """The rates that counts of blocks give. Definitions: docs/metrics.md."""
    n = {name: blocks.total(name, mask) for name in ("one", "size", "judged", "accepted", "committed", "depth")}
    rounds = first_rounds(blocks, mask)
    if n["one"][0] and not (n["judged"] + n["depth"])[0]:
        # Not a single fate is known: that nothing was accepted cannot be said.
        absent, n["one"], n["size"] = "no verdict on these blocks", n["one"] * 0, n["size"] * 0
    proportions = {
        "draft_acceptance": (n["accepted"], n["size"], absent),
        "judged_acceptance": (n["accepted"], n["judged"], absent if not n["one"][0] else "no position was judged"),
        "waste": (n["size"] - n["committed"], n["size"], absent),
    }
    out = {
        name: rates.rate(name, top, bottom, rounds=rounds, absent=why)
        for name, (top, bottom, why) in proportions.items()
    }
    out["accepted_per_round"] = rates.rate(
        "accepted_per_round", n["accepted"], n["one"], proportion=False, absent=absent
    )
    out["acceptance_length"] = rates.rate(
        "acceptance_length", n["accepted"], n["one"], proportion=False, offset=1.0, absent=absent
    )
    return out


def first_rounds(blocks: Blocks, mask: Mask) -> int:
    """Rounds in which the drafters of these blocks had any."""
    return int(blocks.total("one", mask & ((blocks.column["flags"] & FIRST_OF_ROUND) > 0))[0])


def summed_rates(
    tables: Tables, rates: Rates, flags: Callable[[int], bool] = lambda _: True, whose: Collection[str] | None = None
) -> dict[str, Rate]:
    """The rates that need p and q, or byte lengths; of these drafters, or of all."""
    judged, units = (tables.sums(f"expected_{what}", flags, whose) for what in ("positions", "units"))
    sent, kept = (tables.sums(f"bytes_{what}", flags, whose) for what in ("submitted", "accepted"))
    no_pq, no_bytes = "no judged position with both p and q", "no byte lengths in the log"
    return {
        "expected_acceptance": rates.rate(
            "expected_acceptance", units / UNIT, judged, rounds=int(judged[0]), source="recomputed", absent=no_pq
        ),
        "draft_acceptance_per_byte": rates.rate(
            "draft_acceptance_per_byte", kept, sent, proportion=False, absent=no_bytes
        ),
    }


def positions(blocks: Blocks, mask: Mask, rates: Rates) -> list[Position]:
    """Acceptance by position within the block. A position behind the end of its block is not at risk: cut off, not refused."""
    longest = int(min(MAX_POSITIONS, blocks.column["size"][mask].max(initial=0)))
    there = {name: blocks.reaching(name, mask, longest) for name in ("size", "judged", "accepted")}
    total = blocks.total("one", mask)
    return [
        position(rates, i + 1, there["judged"][:, i], there["accepted"][:, i], there["size"][:, i], total)
        for i in range(longest)
    ]


def position(rates: Rates, number: int, at_risk: Row, accepted: Row, there: Row, blocks: Row) -> Position:
    """One position, from the blocks that were judged there, that were accepted there, that have it, and all blocks."""
    why, chains = "no block", blocks
    if accepted[0] > blocks[0]:  # branches of a tree, each accepted
        why, chains = "several paths of a tree were accepted", blocks * 0
    return Position(
        number,
        int(at_risk[0]),
        int(accepted[0]),
        int(there[0]),
        rates.rate(
            "position_acceptance",
            accepted,
            at_risk,
            rounds=int(at_risk[0]),
            absent="no block was judged at this position",
        ),
        rates.rate("position_reach", accepted, chains, rounds=int(blocks[0]), absent=why),
    )


def hazards(blocks: Blocks) -> tuple[Reals, Reals]:
    """h[r, i]: share of these blocks judged at position i + 1 that were accepted there, up to MAX_POSITIONS, and h[r]: the share for all
    positions behind; NaN where none was judged. Product-limit (Kaplan and Meier 1958): blocks that end earlier are censored."""
    everything = np.ones(len(blocks.kinds), bool)
    longest = int(min(MAX_POSITIONS, blocks.column["size"].max(initial=0)))
    judged, accepted = (blocks.reaching(name, everything, longest) for name in ("judged", "accepted"))
    judged_behind, accepted_behind = (
        blocks.counts @ np.maximum(blocks.column[name] - MAX_POSITIONS, 0) for name in ("judged", "accepted")
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return (
            np.where(judged > 0, accepted / judged, np.nan),
            np.where(judged_behind > 0, accepted_behind / judged_behind, np.nan),
        )
