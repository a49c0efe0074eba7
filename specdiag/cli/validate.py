"""`specdiag validate`."""

from __future__ import annotations

from specdiag.analysis import analyze
from specdiag.cli import terminal
from specdiag.cli.analyze import summary
from specdiag.errors import TraceError
from specdiag.render.figures import counted
from specdiag.render.text import inert
from specdiag.report import Integrity, Report
from specdiag.summary import Options


def run(traces: list[str], quiet: bool) -> None:
    """Read everything leniently and list what is wrong."""
    report = analyze(traces, Options(replicates=0))
    terminal.write("".join(line + "\n" for line in listed(report)), None)
    if not quiet:
        terminal.say(summary(report))
    problems = [item for item in report.integrity if item.severity == "problem"]
    if problems:
        raise TraceError(
            [counted(sum(item.count for item in problems), "problem")],
            "Each is listed above with its first places.",
        )


def listed(report: Report) -> list[str]:
    """Every kind of trouble with its places; one line saying so where there is none."""
    if not report.integrity:
        return ["no problems"]
    return [line for item in report.integrity for line in _item(item)]


def _item(item: Integrity) -> list[str]:
    lines = [f"{item.severity}: {item.code}: {item.message} ({item.count:,}): {item.advice}"]
    for place in item.places:
        text = f" ({inert(place.text)})" if place.text else ""
        lines.append(f"  {inert(place.file)}:{place.line}: {inert(place.path)}{text}")
    if item.count > len(item.places):
        lines.append(f"  and {item.count - len(item.places):,} more")
    return lines
