"""The section of the terminal report on what an engine counted by itself: beside the ledger, never mixed with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.text import Text

from specdiag.render.choice import MOST_POSITIONS, PRINTED_KEY, bounded, engine_figures
from specdiag.render.figures import count, figure, interval, ratio
from specdiag.render.layout import Cell, Column, Face, heading, paragraph, table
from specdiag.render.prose import between, others_of, partly_of, sums_of, window_of
from specdiag.report import EnginePrinted, Rate, Report

_NAME = 34
_COUNTS = 13
_SHORT = 11


def engine_counts(report: Report, face: Face) -> Iterator[Text]:
    """Of each drafter: which reports, their rates, what came to each position, the sums, and what was printed without counts."""
    some = False
    for drafter in report.drafters:
        if not drafter.engine_counts:
            continue
        if some:
            yield Text()
        some = True
        yield from heading(face, "engine counts", f"{face.say(drafter.id, _NAME)}: {face.say(window_of(drafter))}")
        plain, by_position = engine_figures(drafter)
        if not drafter.engine_printed or any(rate.value is not None for rate in plain.values()):
            yield from _plain(plain, face)
        yield from _positions(by_position, face)
        if sums := sums_of(drafter):
            yield from paragraph(face, sums, style="dim")
        if partly := partly_of(drafter):
            yield from paragraph(face, partly)
        if others := others_of(drafter):
            yield from paragraph(face, others)
        if drafter.engine_printed:
            yield from paragraph(face, f"{PRINTED_KEY[:1].upper()}{PRINTED_KEY[1:]}.", style="dim")
            yield from _printed(drafter.engine_printed, face)


def _plain(rates: Mapping[str, Rate], face: Face) -> Iterator[Text]:
    columns = [Column("value", [[Text(figure(rate, face.glyphs), style="bold")] for rate in rates.values()])]
    if bounded(rates.values()):
        columns.append(Column("bounds", [[Text(interval(rate, face.glyphs))] for rate in rates.values()]))
    columns.append(Column("of", [[Text(ratio(rate, _COUNTS))] for rate in rates.values()]))
    yield from table(face, Column("rate", [[Text(name)] for name in rates], right=False), columns)


def _positions(by_position: Mapping[str, list[Rate]], face: Face) -> Iterator[Text]:
    longest = max((len(rates) for rates in by_position.values()), default=0)
    if not longest:
        return
    shown = min(longest, MOST_POSITIONS)
    columns = [Column(str(i + 1), [_at(rates, i, face) for rates in by_position.values()]) for i in range(shown)]
    head = f"position (+{longest - shown} more)" if longest > shown else "position"
    yield from table(face, Column(head, [[Text(name)] for name in by_position], right=False), columns)


def _at(rates: list[Rate], index: int, face: Face) -> Cell:
    if index >= len(rates):
        return [Text()]
    rate = rates[index]
    lines = [Text(figure(rate, face.glyphs), style="bold")]
    lines += [Text(interval(rate, face.glyphs), style="dim")] if bounded(rates) else []
    return [*lines, Text(ratio(rate, _SHORT), style="dim")]


def _printed(figures: list[EnginePrinted], face: Face) -> Iterator[Text]:
    columns = [
        Column("last", [[Text(face.say(each.last, _COUNTS), style="bold")] for each in figures]),
        Column("of all", [[Text(face.say(between(each), 2 * _COUNTS))] for each in figures]),
        Column("reports", [[Text(count(each.reports))] for each in figures]),
        Column(
            "formula",
            [[Text(face.say(each.formula, face.width // 2) or face.glyphs.dash)] for each in figures],
            right=False,
        ),
    ]
    yield from table(face, Column("figure", [[Text(face.say(each.name))] for each in figures], right=False), columns)
