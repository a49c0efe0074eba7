"""The report for a terminal: the verdict in one sentence, then what it rests on, in the order in which one doubts it.

The text says everything: colour, shades and bars repeat what a word or a number beside them says. So it reads the same
in a pipe, in a build log, and without colour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from io import StringIO

from rich.console import Console
from rich.text import Text

from specdiag.render import console_drafters as drafters
from specdiag.render import console_notes as notes
from specdiag.render import console_shared as together
from specdiag.render.choice import known_scope
from specdiag.render.console_as import as_engines
from specdiag.render.console_counts import engine_counts
from specdiag.render.layout import NARROWEST, Face, paragraph
from specdiag.render.prose import few, formats, read
from specdiag.report import Report

Section = Callable[[Report, Face], Iterator[Text]]

_NAME = 40


def render(report: Report, *, width: int = 80, color: bool = False, ascii: bool = False) -> str:
    """The report in lines of at most `width` cells (60 where that is less), with ANSI colours only where `color` is
    set.

    With `ascii` the text has no character beyond ASCII, for terminals and pipes of another encoding.
    """
    face = Face(max(width, NARROWEST), ascii)
    out = StringIO()
    console = _console(out, face.width, color)
    for section in SECTIONS:
        lines = list(section(report, face))
        for line in lines:
            line.rstrip()
            console.print(line, soft_wrap=True)
        if lines:
            console.print()
    return out.getvalue().rstrip("\n") + "\n"


def _console(out: StringIO, width: int, color: bool) -> Console:
    """A console that knows nothing of the terminal it runs in: neither its variables, nor its size, nor its colours."""
    return Console(
        file=out,
        width=width,
        height=100,
        color_system="standard" if color else None,
        force_terminal=color,
        no_color=not color,
        force_jupyter=False,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )


def headline(report: Report, face: Face) -> Iterator[Text]:
    """The verdict in brackets and the one sentence to read if nothing else is read."""
    verdict = face.say(report.headline.verdict).upper().replace("_", " ")
    yield from paragraph(face, f"[{verdict}] {face.say(report.headline.sentence)}", style="bold")


def facts(report: Report, face: Face) -> Iterator[Text]:
    """What was read, and under which rule it was recorded."""

    def names(values: Iterable[str | None]) -> str:
        return few([face.glyphs.dash if value is None else face.say(value, _NAME) for value in values])

    parts = [
        names(item.name for item in report.inputs),
        *formats(report),
        *read(report),
        f"{report.settings.mode} mode",
    ]
    if report.has_rounds:
        parts += [
            f"rule {names(trace.rule for trace in report.traces)}",
            f"verifier {names(trace.verifier for trace in report.traces)}",
        ]
    yield from paragraph(face, face.glyphs.dot.join(parts), style="dim")


def scope(report: Report, face: Face) -> Iterator[Text]:
    """Where the joint diagnosis does not apply, or mixes what should be apart: said before any figure."""
    if report.scope.status != "in_scope" and not known_scope(report):
        reasons = "; ".join(map(face.say, report.scope.reasons)) or "no reason given"
        yield from paragraph(face, f"[{report.scope.status.upper().replace('_', ' ')}] {reasons}", style="bold yellow")
    for mixed in report.mixed:
        yield from paragraph(face, f"[MIXED] {face.say(mixed)}", style="yellow")


SECTIONS: tuple[Section, ...] = (
    headline,
    facts,
    scope,
    drafters.drafter_table,
    engine_counts,
    as_engines,
    together.shared,
    together.blame,
    together.marginal,
    drafters.curve_bars,
    together.thrash,
    together.consensus,
    together.time,
    together.output,
    drafters.slice_table,
    notes.evidence,
    notes.identities,
    notes.integrity,
    notes.skipped,
    notes.definitions,
    notes.how_to_read,
)
