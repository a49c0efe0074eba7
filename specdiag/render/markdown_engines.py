"""What engines would print, in Markdown: a table of all engines asked for, and why they differ."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from specdiag.render.choice import MOST_POSITIONS
from specdiag.render.figures import interval, percent
from specdiag.render.markdown_parts import LONGEST, name_of, say, table
from specdiag.render.prose import engine_facts, engine_legend, engine_ratio, engine_value
from specdiag.render.text import markdown
from specdiag.report import EngineFigure, EngineView, Report


def engines(report: Report) -> Iterator[str]:
    """The figures under the definitions that were asked for."""
    if isinstance(report.engines, msgspec.UnsetType):
        return
    views = report.engines.views
    level = percent(report.settings.level)
    yield "### As engines print it"
    yield table(
        ["engine", "figure", "value", f"{level} interval", "of", "formula"],
        [row for view in views for each in view.figures for row in _rows(view, each)],
    )
    yield "\n".join(
        f"- {name_of(view.id)} ({say(view.title)}): {say(engine_facts(view), 2 * LONGEST)}" for view in views
    )
    yield say(engine_legend(report, level))
    if report.engines.differences:
        yield "Why they differ:"
        yield "\n".join(f"- {say(sentence)}" for sentence in report.engines.differences)


def _rows(view: EngineView, each: EngineFigure) -> Iterator[list[str]]:
    for position, rate in enumerate(each.rates[:MOST_POSITIONS], 1):
        name = each.name + (f"[{position}]" if each.positions else "")
        value = markdown(engine_value(each, rate))
        shown = value if rate.value is None else f"**{value}**"
        of = engine_ratio(each, rate) if rate.value is not None else ""
        yield [name_of(view.id), say(name), shown, interval(rate), of, markdown(each.formula)]
    if len(each.rates) > MOST_POSITIONS:
        yield [name_of(view.id), f"+{len(each.rates) - MOST_POSITIONS} more positions", "", "", "", ""]
