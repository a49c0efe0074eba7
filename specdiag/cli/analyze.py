"""`specdiag analyze`."""

from __future__ import annotations

from pathlib import Path

from specdiag.analysis import analyze
from specdiag.cli import terminal
from specdiag.errors import UsageError, shown
from specdiag.render import RENDERERS
from specdiag.render.figures import counted
from specdiag.report import Report
from specdiag.summary import Options
from specdiag.trace.sources import expand


def run(
    traces: list[str],
    source: str | None,
    format: str,
    by: str,
    engines: list[str],
    strict: bool | None,
    jobs: int,
    replicates: int,
    seed: int,
    level: float,
    output: Path | None,
    quiet: bool,
) -> None:
    """Analyze, render, write."""
    options = Options(
        strict=terminal.in_ci() if strict is None else strict,
        replicates=replicates,
        seed=seed,
        level=level,
        by=tuple(name.strip() for name in by.split(",") if name.strip()),
        jobs=jobs,
        format=source,
        engines=tuple(engines),
    ).checked()
    inputs = expand(traces)
    if output is not None and output.exists() and any(Path(name).exists() and output.samefile(name) for name in inputs):
        raise UsageError(f"{shown(str(output))}: the report would replace its own input", "Give --output another name.")
    with terminal.progress(inputs, quiet) as progress:
        report = analyze(inputs, options, progress=progress)
    terminal.write(_rendered(report, format, output), output)
    if not quiet:
        terminal.say(summary(report))


def _rendered(report: Report, format: str, output: Path | None) -> str:
    options: dict[str, object] = {}
    if format == "console":
        options = {"width": terminal.width()}
        if output is None:
            options |= {"color": terminal.wants_color(), "ascii": terminal.is_ascii()}
    return RENDERERS[format](report, **options)


def summary(report: Report) -> str:
    """One line: what was read, and how clean it was."""
    events = sum(sum(item.events.values()) for item in report.inputs)
    counts = {
        severity: sum(i.count for i in report.integrity if i.severity == severity) for severity in ("problem", "info")
    }
    said = (
        counted(len(report.inputs), "input"),
        counted(events, "event"),
        counted(counts["problem"], "problem"),
        counted(counts["info"], "note"),
    )
    return f"specdiag: {', '.join(said)} ({report.settings.mode})"
