"""One segment of the input, read and counted on its own: what a worker does."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from specdiag.engines.definitions import Counting
from specdiag.measure.count import SliceOf, count
from specdiag.measure.tally import Tally
from specdiag.measure.weights import Resampling
from specdiag.trace.blocks import Blocks, key_of
from specdiag.trace.codec import Codec
from specdiag.trace.columns import Orphan
from specdiag.trace.events import Consensus, Effect, TallyEvent, Trace
from specdiag.trace.ledger import Border, Ghosts, ledger_of
from specdiag.trace.notes import Notes
from specdiag.trace.segment import How, Segment, read_segment
from specdiag.trace.sources import Origin, Piece


@dataclass(frozen=True, slots=True)
class Task:
    """How to count a segment. `by_branch` and `by_trace`: keep branches and traces apart in the tally. `countings`: count rounds by their shape, and
    of each request what these ways to count make of them."""

    resampling: Resampling = field(default_factory=Resampling)
    strict: bool = False
    greedy: bool = False
    rule: str = "unknown"
    by_branch: bool = False
    by_trace: bool = False
    countings: tuple[Counting, ...] | None = None

    def by_ratio(self, headers: list[tuple[int, Trace]]) -> Callable[[int], bool]:
        """Epoch of a segment → whether its verdicts are those of the ratio test. What stands before the first header is under the rule of
        the input's own header."""
        rules = [self.rule, *(header.rule for _, header in headers)]
        return lambda epoch: is_ratio_test(rules[epoch])

    def slice_of(self, branches: dict[int, str]) -> SliceOf | None:
        """Slices as (branch, trace), in the numbers of this segment."""
        if not (self.by_branch or self.by_trace):
            return None
        return lambda branch, epoch: (branches[branch] if self.by_branch else "", str(epoch) if self.by_trace else "")


@dataclass(slots=True)
class Shard:
    """What one segment gave: the tally of the rounds inside it, and the blocks at its borders. Lines and epochs are the segment's own."""

    tally: Tally
    edges: Blocks
    ghosts: Ghosts
    orphans: list[Orphan]
    headers: list[tuple[int, Trace]]
    consensus: list[tuple[int, Consensus]]
    effects: list[tuple[int, Effect]]
    tallies: list[tuple[int, int, TallyEvent]]
    events: dict[str, int]
    notes: Notes
    lines: int
    size: int
    digest: tuple[int, int]
    unreadable: tuple[int, str, str] | None = None
    trouble: list[tuple[str, str]] = field(default_factory=list)


def read_shard(piece: Piece, task: Task) -> Shard:
    """Read and count one segment."""
    collecting = gc.isenabled()
    gc.disable()  # millions of short-lived lists without cycles: the collector would only look at them again and again
    try:
        return _read(piece, task)
    finally:
        if collecting:
            gc.enable()


def _read(piece: Piece, task: Task) -> Shard:
    segment = read_segment(piece.read(), Codec(), How(strict=task.strict, last=piece.last, greedy=task.greedy))
    if piece.origin:
        _place(segment, piece.origin)
    blocks = segment.blocks
    assert blocks is not None
    ledger = ledger_of(blocks, Ghosts.none(), Border(open_ends=True))
    tally, notes = count(
        ledger,
        task.resampling,
        task.slice_of(blocks.branches),
        task.by_ratio(segment.headers),
        countings=task.countings,
    )
    segment.notes.merge(notes)
    if piece.skipped:
        segment.notes.add("too_long", 1)
    edges = ledger.open_blocks()
    return Shard(
        tally=tally,
        edges=edges,
        ghosts=ledger.ghosts(Ghosts.none()),
        orphans=segment.orphans,
        headers=segment.headers,
        consensus=segment.consensus,
        effects=segment.effects,
        tallies=segment.tallies,
        events=segment.events,
        notes=segment.notes,
        lines=piece.origin.lines if piece.origin else segment.lines + piece.skipped,
        size=piece.origin.size if piece.origin else segment.size,
        digest=_digest(blocks, segment.tallies),
        unreadable=segment.unreadable,
        trouble=list(piece.notes),
    )


def _place(segment: Segment, origin: Origin) -> None:
    """Give what was made of an input the lines that it came from, counted from where its segment begins."""
    line_of = np.array([0, *origin.line_of], np.int64) - origin.before

    def of(line: int) -> int:
        return int(line_of[min(line, len(line_of) - 1)])

    made, segment.notes = segment.notes, Notes()
    for code, places in made.places.items():
        segment.notes.add_many(code, [place._replace(line=of(place.line)) for place in places], made.counts[code])
    segment.notes.merge(origin.notes, -origin.before)
    segment.headers = [(of(line), header) for line, header in segment.headers]
    segment.tallies = [(epoch, of(line), event) for epoch, line, event in segment.tallies]
    segment.orphans = [Orphan(o.epoch, of(o.line), o.verdict) for o in segment.orphans]
    if segment.blocks is not None and len(segment.blocks):
        blocks = segment.blocks
        judged_by = np.where(blocks.judged_by > 0, line_of[blocks.judged_by], 0)
        segment.blocks = blocks.with_columns(line=line_of[blocks.line], judged_by=judged_by)


def is_ratio_test(rule: str) -> bool:
    """Whether a verdict under this rule follows from p, q and u: accept iff u·q <= p. An undeclared rule is held against it."""
    return rule in ("rejection", "unknown")


def _digest(blocks: Blocks, tallies: list[tuple[int, int, TallyEvent]]) -> tuple[int, int]:
    """Of what the blocks and counts say, whatever logged them and when; and their number."""
    mixed = blocks.request ^ blocks.branch
    counted = [_key_of_counts(event) for _, _, event in tallies]
    with np.errstate(over="ignore"):
        for column in (blocks.round, blocks.start, blocks.size, blocks.accepted):
            mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(29)
        total = int(mixed.sum()) if len(blocks) else 0
    return (total + sum(counted)) % (1 << 64), len(blocks) + len(counted)


def _key_of_counts(event: TallyEvent) -> int:
    said = (event.drafter, event.window, event.request, event.source, event.reached, event.drafted, event.printed)
    numbers = (event.rounds, event.proposed, event.accepted, event.completion_tokens)
    return key_of(repr((said, numbers)))


def no_blocks() -> Blocks:
    """Blocks without a row."""
    blocks = read_segment(b"", Codec(), How()).blocks
    assert blocks is not None
    return blocks
