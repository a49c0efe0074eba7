"""The sections of the terminal report that look at the drafters together: prefixes, blame, marginal value, thrash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from specdiag.render.bars import shade, shade_key
from specdiag.render.choice import (
    BLAME_KEY,
    MARGINAL_KEY,
    OUTPUT_RATES,
    SHARED_RATES,
    drawn,
    marginal_columns,
    pick,
)
from specdiag.render.console_drafters import bar_lines
from specdiag.render.figures import count, figure, interval
from specdiag.render.heat import Heat, heat
from specdiag.render.layout import Cell, Column, Face, heading, paragraph, rate_table, stacked, table
from specdiag.render.prose import headway, ledger, shared_rounds, votes
from specdiag.render.text import cells, tell_apart
from specdiag.report import Report

_NAME = 24
_HEAD = 9
_NUMBERED_NAME = 13


def shared(report: Report, face: Face) -> Iterator[Text]:
    """Joint acceptance against what composition explains, the depth of truncation, and the curve along the chain."""
    if report.shared is None:
        return
    part = report.shared
    yield from heading(face, "shared prefixes", shared_rounds(part))
    yield from rate_table(face, pick(part.rates, SHARED_RATES), report.settings.level)
    if drawn(part.positions):
        yield from bar_lines(part.positions, "position_acceptance by position in the chain", face.width, face)


def blame(report: Report, face: Face) -> Iterator[Text]:
    """The blame matrix as a heat map: who was refused, and whose tokens were dropped behind it."""
    if report.blame is None or not report.blame.drafters:
        return
    matrix = heat(report.blame)
    yield from heading(face, "blame", f"{count(matrix.total)} tokens dropped behind a refused one")
    yield from paragraph(face, BLAME_KEY, style="dim")
    names, heads = _blame_names(matrix, face)
    labels = [[Text(name, style="bold")] for name in names] + [[Text("total")]]
    yield from table(face, Column("refused", labels, right=False), _blame_columns(matrix, heads, face))
    key = f"share of all dropped: {shade_key(face.glyphs)}. Not attributed: {count(matrix.remainder)} tokens."
    yield from paragraph(face, key, style="dim")


def _blame_names(matrix: Heat, face: Face) -> tuple[list[str], list[str]]:
    """Names of rows and columns: columns too narrow for their names are numbered, as their rows are."""
    names = [face.say(name) for name in matrix.names]
    others = [f"{matrix.others} others"] if matrix.others else []
    if all(cells(name) <= _HEAD for name in names):
        return names + others, names + others
    names = tell_apart(names, _NUMBERED_NAME, face.glyphs.ellipsis) + others
    numbers = [str(index + 1) for index in range(len(names))]
    return [f"{number} {name}" for number, name in zip(numbers, names, strict=True)], numbers


def _blame_columns(matrix: Heat, heads: Sequence[str], face: Face) -> list[Column]:
    def cell(tokens: int) -> Cell:
        mark = shade(tokens / matrix.total if matrix.total else 0.0, face.glyphs)
        return [Text(f"{count(tokens)} {mark}", style="red" if mark == face.glyphs.shades[-1] else "")]

    columns = [
        Column(f"{head}  ", [*(cell(row[index]) for row in matrix.tokens), [Text(f"{count(total)}  ")]])
        for index, (head, total) in enumerate(zip(heads, matrix.columns, strict=True))
    ]
    columns.append(
        Column("total", [*([Text(count(n), style="bold")] for n in matrix.rows), [Text(count(sum(matrix.rows)))]])
    )
    shares = [[Text(f"{figure(rate, face.glyphs)} {interval(rate, face.glyphs)}")] for rate in matrix.shares]
    return [*columns, Column("share of all", [*shares, *([[Text()]] * (len(matrix.rows) + 1 - len(shares)))])]


def marginal(report: Report, face: Face) -> Iterator[Text]:
    """What the shared prefixes would be without each drafter."""
    if not report.marginal:
        return
    yield from heading(face, "without one drafter", "what the shared prefixes would be")
    labels = Column("drafter", [[Text(face.say(row.drafter), style="bold")] for row in report.marginal], right=False)
    columns = marginal_columns(report).items()
    figures = [Column(head, [stacked(face, rate) for rate in rates]) for head, rates in columns]
    yield from table(face, labels, figures, spaced=True)
    yield Text()
    yield from paragraph(face, MARGINAL_KEY, style="dim")


def output(report: Report, face: Face) -> Iterator[Text]:
    """The pooled rates, and the fate of every proposed token."""
    rates = pick(report.rates, OUTPUT_RATES)
    if not rates or not report.has_rounds:
        return
    yield from heading(face, "output", "all drafters, all rounds")
    yield from rate_table(face, rates, report.settings.level)
    yield from paragraph(face, ledger(report.fates))


def thrash(report: Report, face: Face) -> Iterator[Text]:
    """Rounds that made no headway."""
    part = report.thrash
    if part is None:
        return
    yield from heading(face, "thrash")
    yield from paragraph(face, headway(part))
    yield from rate_table(face, part.rates, report.settings.level)


def consensus(report: Report, face: Face) -> Iterator[Text]:
    """How often the branches failed to agree, and what happened to the side effects."""
    part = report.consensus
    if part is None:
        return
    effects = ", ".join(f"{face.say(name, _NAME)} {count(n)}" for name, n in part.effects.items())
    yield from heading(face, "consensus", votes(part) + (f"; effects: {effects}" if effects else ""))
    yield from rate_table(face, {part.fallback_rate.name: part.fallback_rate}, report.settings.level)


def time(report: Report, face: Face) -> Iterator[Text]:
    """Tokens per second, shared against the best drafter alone."""
    part = report.time
    if part is None:
        return
    best = f"; best alone: {face.say(part.best_single, _NAME)}" if part.best_single is not None else ""
    yield from heading(face, "time", f"basis: {face.say(part.basis)}{best}")
    yield from rate_table(face, part.rates, report.settings.level)
