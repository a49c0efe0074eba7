"""What engines would print, side by side: one line a figure, with its value, what it is of, and its formula; then why they differ."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from rich.text import Text

from specdiag.render.choice import MOST_POSITIONS
from specdiag.render.figures import interval, percent
from specdiag.render.layout import Face, heading, pad, paragraph
from specdiag.render.prose import engine_facts, engine_legend, engine_ratio, engine_value
from specdiag.render.text import cells
from specdiag.report import EngineFigure, EngineView, Rate, Report

_INDENT = "  "
_LEAST_NAME = 20
_MOST_NAME = 46


def engines(report: Report, face: Face) -> Iterator[Text]:
    """The figures under the definitions that were asked for."""
    if isinstance(report.engines, msgspec.UnsetType):
        return
    views = report.engines.views
    yield from heading(face, "as engines print it", "the same rounds, under each engine's definitions")
    rows = [[_row(each, rate, face) for each in view.figures for rate in _shown(each)] for view in views]
    widths = [max((cells(row[i]) for part in rows for row in part), default=0) for i in range(5)]
    for number, (view, part) in enumerate(zip(views, rows, strict=True)):
        if number:
            yield Text()
        yield from paragraph(face, f"{face.say(view.title)} ({face.say(view.id)})", style="bold")
        for row in part:
            yield from _lines(row, widths, face)
        yield from _facts(view, face)
    yield Text()
    yield from paragraph(face, engine_legend(report, percent(report.settings.level)), style="dim")
    if report.engines.differences:
        yield Text()
        yield Text("why they differ", style="bold")
        for sentence in report.engines.differences:
            yield from paragraph(face, f"- {face.say(sentence)}", hang=_INDENT)


def _shown(each: EngineFigure) -> list[Rate | None]:
    """The rates of a figure; of one by position the first, with None for all that are left out."""
    rates: list[Rate | None] = [*each.rates[:MOST_POSITIONS]]
    return [*rates, None] if len(each.rates) > MOST_POSITIONS else rates


def _row(each: EngineFigure, rate: Rate | None, face: Face) -> tuple[str, str, str, str, str]:
    """Name, value, interval, what it is of, formula."""
    if rate is None:
        return f"+{len(each.rates) - MOST_POSITIONS} more positions", "", "", "", ""
    name = face.say(each.name) + (f"[{1 + each.rates.index(rate)}]" if each.positions else "")
    formula = face.say(each.formula) if rate is each.rates[0] else ""
    if rate.value is None:
        return name, face.glyphs.dash, "", "", formula
    return name, engine_value(each, rate, face.glyphs), interval(rate, face.glyphs), engine_ratio(each, rate), formula


def _lines(row: tuple[str, str, str, str, str], widths: list[int], face: Face) -> Iterator[Text]:
    name, value, within, of, formula = row
    middle = 2 + widths[1] + 1 + widths[2] + (1 if widths[2] else 0) + widths[3]
    room = face.width - len(_INDENT) - middle
    behind = min(widths[4], max(room - 2 - min(max(widths[0], _LEAST_NAME), _MOST_NAME), 0))
    left = max(min(widths[0], _MOST_NAME, room - (behind + 2 if behind else 0)), 0)
    if cells(name) > left:
        yield from paragraph(face, name, indent=_INDENT, hang=_INDENT)
        name = ""
    line = Text.assemble(_INDENT, pad(name, left), "  ", (pad(value, widths[1], right=True), "bold"), " ")
    if widths[2]:
        line.append(pad(within, widths[2]) + " ", style="dim")
    line.append(pad(of, widths[3], right=True), style="dim")
    if formula and cells(formula) <= behind:
        yield line.append(f"  {formula}")
        return
    yield line
    if formula:
        yield from paragraph(face, f"= {formula}", indent=_INDENT * 2, hang=_INDENT * 3, style="dim")


def _facts(view: EngineView, face: Face) -> Iterator[Text]:
    yield from paragraph(face, face.say(engine_facts(view)), indent=_INDENT, hang=_INDENT * 2, style="dim")
