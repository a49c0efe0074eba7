"""The section of the terminal report that `--as` asks for: the same rounds under the definitions of several engines."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from specdiag.render.as_engines import (
    FAMILIES,
    Row,
    absent,
    assumptions,
    bodies,
    countings,
    reasons,
    rows,
    spread,
    sums,
    written,
)
from specdiag.render.choice import MOST_POSITIONS
from specdiag.render.figures import ratio
from specdiag.render.layout import Cell, Column, Face, heading, items, paragraph, table
from specdiag.report import EngineView, Report

_NAME = 30
_COUNTS = 13


def as_engines(report: Report, face: Face) -> Iterator[Text]:
    """One table for each family of figures, then why its values differ."""
    for of, views in bodies(report):
        yield from heading(face, "as engines print it", face.say(of))
        for family, title in FAMILIES.items():
            found = rows(views, family)
            if found:
                yield from _by_position(found, title, face) if family == "positions" else _table(found, title, face)
                yield from _why(found, face)
        for sentence, who in countings(views):
            yield from paragraph(face, f"- {sentence}: {', '.join(who)}", hang="  ")
        yield from items(face, [(view.engine, sums(view)) for view in views if view.counts], style="dim")
        for text in assumptions(views):
            yield from paragraph(face, f"assumed: {text}", style="dim", hang="  ")
        yield from _symbols(views, face)


def _table(found: list[Row], title: str, face: Face) -> Iterator[Text]:
    columns = [
        Column("value", [_value(row, face) for row in found]),
        Column("of", [[Text(ratio(row.figures[0].rate, _COUNTS))] for row in found]),
        Column("formula", [[Text(row.formula)] for row in found], right=False),
    ]
    yield from table(face, Column(title, [_label(row, face) for row in found], right=False), columns)


def _by_position(found: list[Row], title: str, face: Face) -> Iterator[Text]:
    longest = max(len(row.figures) for row in found)
    columns = [Column(str(i + 1), [_at(row, i, face) for row in found]) for i in range(min(longest, MOST_POSITIONS))]
    columns.append(Column("formula", [[Text(row.formula)] for row in found], right=False))
    more = f" (+{longest - MOST_POSITIONS})" if longest > MOST_POSITIONS else ""
    yield from table(face, Column(title + more, [_label(row, face) for row in found], right=False), columns)


def _label(row: Row, face: Face) -> Cell:
    return [Text(face.say(row.engine, _NAME), style="bold"), Text(face.say(row.name, _NAME), style="dim")]


def _value(row: Row, face: Face) -> Cell:
    return [
        Text(written(row.figures[0], face.glyphs), style="bold"),
        Text(spread(row.figures[0], face.glyphs), style="dim"),
    ]


def _at(row: Row, index: int, face: Face) -> Cell:
    if index >= len(row.figures):
        return [Text("")]
    item = row.figures[index]
    return [Text(written(item, face.glyphs), style="bold"), Text(ratio(item.rate, _COUNTS), style="dim")]


def _why(found: list[Row], face: Face) -> Iterator[Text]:
    for trait, meaning, who in reasons(found):
        yield from paragraph(face, f"- {trait}: {meaning}. In: {'; '.join(who)}.", hang="  ")
    yield from items(face, [(face.say(name), face.say(reason)) for name, reason in absent(found)], style="dim")
    yield Text()


def _symbols(views: list[EngineView], face: Face) -> Iterator[Text]:
    text = (
        "A accepted drafts, R rounds, D drafts, G output tokens, K drafts of a full block, n requests, P passes of the verifier: rounds, those "
        "without a draft, and one of prefill a request; M drafts that match anywhere, "
        "F rounds accepted in full, S_i rounds with at least i accepted."
    )
    yield from paragraph(face, text, style="dim")
