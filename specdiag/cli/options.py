"""The options of the commands, each said once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """Faces of the report."""

    console = "console"
    json = "json"
    markdown = "markdown"


class What(StrEnum):
    """Things that have a schema."""

    trace = "trace"
    report = "report"


class Analyze:
    """Options of `analyze`; other commands share some."""

    traces = Annotated[
        list[str],
        typer.Argument(
            metavar="TRACE...", help="Traces: files (.jsonl, .gz, .zst), directories, globs, or - for standard input."
        ),
    ]
    format = Annotated[Format, typer.Option("--format", "-f", help="How to show the report.")]
    by = Annotated[
        str,
        typer.Option(
            "--by", metavar="DIMENSIONS", help="Slices, comma-separated: drafter, position, branch, label, label:NAME."
        ),
    ]
    strict = Annotated[
        bool | None,
        typer.Option(
            "--strict/--lenient",
            help="Stop at the first bad line, or note it and go on. Default: strict where CI is set, else lenient.",
            show_default=False,
        ),
    ]
    jobs = Annotated[
        int,
        typer.Option(
            "--jobs", "-j", min=1, help="Processes that read; the report is the same to the bit for any number."
        ),
    ]
    replicates = Annotated[
        int,
        typer.Option("--replicates", min=0, max=10_000, help="Bootstrap replicates over requests; 0: no intervals."),
    ]
    seed = Annotated[int, typer.Option("--seed", help="Seed of the bootstrap weights.")]
    level = Annotated[float, typer.Option("--level", help="Level of the intervals.")]
    output = Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the report to a file instead of standard output.")
    ]
    quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No summary and no progress on standard error.")]
    what = Annotated[What, typer.Argument(help="What to print the schema of.")]
