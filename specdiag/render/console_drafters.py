"""The sections of the terminal report that look at one drafter at a time: the table, the curves, the rows of `--by`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from rich.text import Text

from specdiag.render.bars import bar
from specdiag.render.choice import (
    MOST_CURVES,
    MOST_POSITIONS,
    MOST_SLICES,
    column_key,
    curves,
    drafter_columns,
    slice_columns,
)
from specdiag.render.figures import count, figure, interval, ratio
from specdiag.render.layout import Cell, Column, Face, heading, pad, paragraph, stacked, table
from specdiag.render.text import cells
from specdiag.report import Drafter, Position, Rate, Report, View

_NAME = 34
_COUNTS = 13
_INTERVAL = 12
_BAR_ROW = 68
_WIDE = 110


def drafter_table(report: Report, face: Face) -> Iterator[Text]:
    """One row a drafter: who it is, and its rates, each with interval and counts."""
    if not report.drafters or not report.has_rounds:
        return
    yield from heading(face, "drafters")
    columns = drafter_columns(report, wide=face.width >= _WIDE)
    labels = Column("drafter", [_label(drafter, face) for drafter in report.drafters], right=False)
    figures = [Column(head, [stacked(face, rate) for rate in rates]) for head, rates in columns.items()]
    yield from table(face, labels, figures, spaced=True)
    yield Text()
    yield from paragraph(
        face, f"Below each drafter its tokenizer and temperature T. {column_key(columns)}", style="dim"
    )


def _label(drafter: Drafter, face: Face) -> Cell:
    temperature = face.glyphs.dash if drafter.temperature is None else f"{drafter.temperature:g}"
    tokenizer = f"tokenizer {face.glyphs.dash}" if drafter.tokenizer is None else face.say(drafter.tokenizer)
    notes = [tokenizer, f"T {temperature}"]
    notes += [] if drafter.declared else ["not declared"]
    notes += [f"abstained {count(drafter.abstained)}"] if drafter.abstained else []
    return [Text(face.say(drafter.id), style="bold"), *(Text(note, style="dim") for note in notes)]


def curve_bars(report: Report, face: Face) -> Iterator[Text]:
    """Per-position acceptance as bars, each position with the number at risk."""
    shown = curves(report)
    if not shown:
        return
    yield from heading(face, "per position", "position_acceptance: accepted / judged at that position")
    for drafter, views in shown[:MOST_CURVES]:
        yield from _curve(drafter, views, face)
    if len(shown) > MOST_CURVES:
        yield Text(f"+{len(shown) - MOST_CURVES} more drafters", style="dim")


def _curve(drafter: Drafter, views: Sequence[tuple[str, View]], face: Face) -> Iterator[Text]:
    half = (face.width - 2) // 2 if face.width >= _WIDE else face.width
    name = face.say(drafter.id, half - 12)
    panels = [list(bar_lines(view.positions, f"{name}, {title}", half, face)) for title, view in views]
    if len(panels) < 2 or half == face.width:
        yield from chain.from_iterable(panels)
        return
    for left, right in zip_longest(*panels, fillvalue=Text()):
        yield Text.assemble(left, " " * (half + 2 - cells(left.plain)), right)


def bar_lines(positions: Sequence[Position], title: str, width: int, face: Face) -> Iterator[Text]:
    """Positions as bars in at most `width` cells: position, bar, acceptance, interval, accepted/judged."""
    room = min(width, _BAR_ROW) - (3 + 7 + 1 + _INTERVAL + 1 + _COUNTS)
    yield Text(title)
    for position in positions[:MOST_POSITIONS]:
        rate = position.acceptance
        drawn = pad(bar(rate.value or 0.0, room, face.glyphs), room)
        line = Text.assemble(f"{position.position:>2} ", (drawn, "cyan"), (f"{figure(rate, face.glyphs):>7} ", "bold"))
        line.append(f"{pad(interval(rate, face.glyphs), _INTERVAL)} ", style="dim")
        yield line.append(pad(ratio(rate, _COUNTS), _COUNTS, right=True), style="dim")
    if len(positions) > MOST_POSITIONS:
        yield Text(f"   +{len(positions) - MOST_POSITIONS} more positions", style="dim")


def slice_table(report: Report, face: Face) -> Iterator[Text]:
    """The rows of `--by`, each with the rates that any row has."""
    if not report.slices:
        return
    yield from heading(face, "slices", "by " + ", ".join(face.say(key, _NAME) for key in report.settings.by))
    labels = [[Text(face.say(", ".join(row.by.values())))] for row in report.slices[:MOST_SLICES]]
    figures = [Column(name, [_in_line(rate, face) for rate in rates]) for name, rates in slice_columns(report).items()]
    yield from table(face, Column("", labels, right=False), figures)
    if len(report.slices) > MOST_SLICES:
        yield Text(f"+{len(report.slices) - MOST_SLICES} more rows", style="dim")


def _in_line(rate: Rate | None, face: Face) -> Cell:
    parts = [figure(rate, face.glyphs)]
    if rate is not None and rate.value is not None:
        parts += [interval(rate, face.glyphs), ratio(rate, _COUNTS)]
    return [Text(" ".join(filter(None, parts)))]
