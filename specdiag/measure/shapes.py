"""Rounds as an engine sees them: so many drafts, so many of them accepted, so many kept in the output.

Engines have one drafter, so a round is one block. Of a chain of several drafters' blocks, its tokens are the drafts; of a tree, every node is one,
and the accepted ones are those of the best path. Only counted where it is asked for (`--as`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from specdiag.measure.contributions import Contributions
from specdiag.measure.tally import Column, Entries, Key, ShapeKind, Tally
from specdiag.trace.blocks import ABORTED, PADDING, STOPS, Bools, Ints, Keys
from specdiag.trace.chains import MAX_ANCESTORS
from specdiag.trace.ledger import Ledger

UNKNOWN = -1
REQUEST_SUMS = ("R", "A", "D", "G", "padding R", "padding D")
"""Per request: of rounds with a draft, before the stop; those of placeholders apart."""

Classes = Callable[[list[Ints]], tuple[Ints, list[list[int]]]]


def add_shapes(
    ledger: Ledger,
    rows: Ints,
    requests: Keys,
    of_row: Ints,
    contributions: Contributions,
    tally: Tally,
    classes: Classes,
    slices: tuple[list[tuple[str, ...]], Ints],
) -> None:
    """Count the settled rounds that have a verdict, by their shape; and per request the sums that means over requests need.
    `slices`: the slices by number, and the number of each row."""
    blocks = ledger.blocks
    number, group = np.unique(ledger.group[rows], return_inverse=True)
    count = len(number)

    def total(values: Ints) -> Ints:
        return np.bincount(group, values, count).astype(np.int64)

    def most(values: Ints) -> Ints:
        out = np.full(count, values.min() if len(values) else 0, np.int64)
        np.maximum.at(out, group, values)
        return out

    size = blocks.size[rows]
    valid = ledger.counts.valid[rows]
    stop = np.where(valid & (blocks.stop[rows] != STOPS.index("rejected")), blocks.stop[rows], 0)
    matched = _matched(ledger, rows)
    columns = {
        "drafts": total(size),
        "accepted": most(_on_path(ledger, ledger.accepted)[rows]),
        "kept": most(_on_path(ledger, ledger.committed)[rows]),
        "own": ledger.rounds.verifier_token[number].astype(np.int64),
        "stop": most(stop),
        "matched": np.where(most((matched == UNKNOWN).astype(np.int64)) > 0, UNKNOWN, total(matched)),
    }
    request, slice_of = np.zeros(count, np.int64), np.zeros(count, np.int64)
    request[group], slice_of[group] = of_row, slices[1]
    aborted = most((valid & (blocks.stop[rows] == ABORTED)).astype(np.int64)) > 0
    judged = (most(valid.astype(np.int64)) > 0) & ~aborted
    if not judged.any():
        return
    of_kind, kinds = classes([slice_of[judged], *(column[judged] for column in columns.values())])
    keys: list[Key] = [ShapeKind(slices[0][kind[0]], *kind[1:]) for kind in kinds]
    contributions.add(keys, of_kind, request[judged])
    padding = judged & (columns["stop"] == PADDING)
    some = judged & (columns["drafts"] > 0) & ~padding
    sums = (
        some,
        np.where(some, columns["accepted"], 0),
        np.where(some, columns["drafts"], 0),
        np.where(judged, columns["kept"] + columns["own"], 0),
        padding,
        np.where(padding, columns["drafts"], 0),
    )
    per_request: dict[Column, Entries] = {
        (name, "as", ""): (requests, np.bincount(request, values, len(requests)).astype(np.int64))
        for name, values in zip(REQUEST_SUMS, sums, strict=True)
    }
    tally.requests.add(requests, per_request)


def _on_path(ledger: Ledger, values: Ints) -> Ints:
    """For each block the sum over it and the blocks that it stands behind, as far as chains are followed."""
    parent = np.where(ledger.chains.root, -1, ledger.blocks.parent)
    out, ancestor = values.copy(), parent.copy()
    for _ in range(MAX_ANCESTORS):
        behind = np.flatnonzero(ancestor >= 0)
        if not len(behind):
            break
        out[behind] += values[ancestor[behind]]
        ancestor[behind] = parent[ancestor[behind]]
    return out


def _matched(ledger: Ledger, rows: Ints) -> Ints:
    """Drafts of each block that pass u·q <= p, wherever they stand; UNKNOWN where p, q or u of one of them is not logged."""
    blocks, size = ledger.blocks, ledger.blocks.size[rows]
    whole: Bools = np.ones(len(rows), bool)
    for column in (blocks.p, blocks.q, blocks.u):
        whole &= column.lengths[rows] >= size if len(column.values) else size == 0
    out = np.where(size == 0, 0, UNKNOWN)
    chosen = np.flatnonzero(whole & (size > 0))
    if not len(chosen):
        return out
    owner = np.repeat(chosen, size[chosen])
    position = np.arange(len(owner)) - np.repeat(np.cumsum(size[chosen]) - size[chosen], size[chosen])
    p, q, u = (column.values[column.offsets[rows][owner] + position] for column in (blocks.p, blocks.q, blocks.u))
    with np.errstate(invalid="ignore"):
        passes = u * q <= p
    known = ~np.isnan(p + q + u)
    sums = np.bincount(owner, passes & known, len(rows)).astype(np.int64)
    gaps = np.bincount(owner, ~known, len(rows)) > 0
    out[chosen] = np.where(gaps, UNKNOWN, sums)[chosen]
    return out
