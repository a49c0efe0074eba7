"""From inputs to the report: what `specdiag analyze` does, as a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

import msgspec

from specdiag.errors import EmptyInput
from specdiag.importers.registry import opened
from specdiag.measure.as_engines import countings
from specdiag.measure.weights import Resampling
from specdiag.report import Report
from specdiag.scale.assemble import Assembler
from specdiag.scale.collected import Collected, Slices
from specdiag.scale.pool import shards
from specdiag.scale.shard import Task
from specdiag.summary import Options, summarize
from specdiag.trace.codec import Codec
from specdiag.trace.events import Trace
from specdiag.trace.sources import MAX_LINE, Piece, expand


def analyze(
    inputs: str | Sequence[str], options: Options | None = None, *, progress: Callable[[int], None] | None = None
) -> Report:
    """Read traces and report on them.

    `inputs`: files, globs, directories or `-`. `progress` is called with the bytes of each segment read. Raises InputError where an input
    cannot be read, EmptyInput where it holds no event, TraceError (strict mode) at the first line that breaks the format.
    """
    options = (options or Options()).checked()
    return summarize(collect([inputs] if isinstance(inputs, str) else list(inputs), options, progress), options)


def collect(inputs: list[str], options: Options, progress: Callable[[int], None] | None = None) -> Collected:
    """Read every input into one tally."""
    kept_apart = tuple(d for d in options.by if d == "branch" or d.startswith("label"))
    task = Task(
        Resampling(options.replicates, options.seed),
        strict=options.strict,
        by_branch="branch" in kept_apart,
        by_trace=any(d != "branch" for d in kept_apart),
        countings=countings(options.wanted_engines) if options.engines else None,
    )
    assembler = Assembler(task, Slices(kept_apart))
    names = expand(inputs)
    if not names:
        raise EmptyInput("no input", "Give a trace file, a directory, a glob in quotes, or - for standard input.")
    for name in names:
        format, stream = opened(name, options.format)
        assembler.begin(name, format)
        first = next(stream, Piece())
        for shard in shards(chain([first], stream), _under(task, first), options.jobs):
            assembler.add(shard)
            if progress:
                progress(shard.size)
    return assembler.finish()


def _under(task: Task, piece: Piece) -> Task:
    """The task for an input that begins with this piece. Under greedy verification requests that repeat are recognised by their tokens."""
    line = piece.head(MAX_LINE).partition(b"\n")[0]
    try:
        header = Codec().decode(line)
    except (msgspec.DecodeError, RecursionError):
        return task
    if not isinstance(header, Trace):
        return task
    cold = header.verifier is not None and header.verifier.temperature == 0
    return replace(task, rule=header.rule, greedy=header.rule == "greedy" or cold)
