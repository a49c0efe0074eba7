"""The building blocks of the Markdown face: names, figures and tables, with every string of the report made inert."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from specdiag.errors import cut
from specdiag.render.choice import MOST_POSITIONS
from specdiag.render.figures import figure, interval, percent, ratio
from specdiag.render.text import clip, inert, markdown
from specdiag.report import Position, Rate, Report

LONGEST = 300
SHORT = 60
_TERM = re.compile(r"[A-Za-z0-9_.\[\]-]+")


def say(text: str, width: int = 4 * LONGEST) -> str:
    """Untrusted text, inert, escaped and at most `width` cells long."""
    return markdown(clip(inert(cut(text, 4 * LONGEST)), width))


def name_of(text: str, width: int = SHORT) -> str:
    """A name: as code where it is a plain word, which keeps the source readable, else escaped."""
    return f"`{text}`" if _TERM.fullmatch(text) and len(text) <= width else say(text, width)


def value(rate: Rate | None) -> str:
    """The value in bold, with the mark of its source; a plain dash where it is missing."""
    text = markdown(figure(rate))
    return text if rate is None or rate.value is None else f"**{text}**"


def cell(rate: Rate | None) -> str:
    """Value, interval and counts below each other."""
    if rate is None or rate.value is None:
        return value(rate)
    return "<br>".join(filter(None, [value(rate), interval(rate), ratio(rate)]))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table: words at the left in its first column, figures at the right in the others."""
    lines = [heads, [":--", *["--:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def rate_table(rates: Mapping[str, Rate], report: Report) -> str:
    """Rates below each other; the name says which definition it is."""
    heads = ["rate", "value", f"{percent(report.settings.level)} interval", "of"]
    return table(heads, [[name_of(name), value(rate), interval(rate), ratio(rate)] for name, rate in rates.items()])


def fold(summary: str, parts: Sequence[str]) -> list[str]:
    """Parts behind a line that opens them."""
    return [f"<details><summary>{summary}</summary>", *parts, "</details>"] if parts else []


def position_table(rows: Sequence[tuple[str, Sequence[Position]]]) -> str:
    """Rows of per-position acceptance; where there is not room for all, the heading says how many are left out."""
    longest = max(len(positions) for _, positions in rows)
    shown = min(longest, MOST_POSITIONS)
    more = f" (+{longest - shown} more)" if longest > shown else ""
    cells = [[cell(position.acceptance) for position in positions[:shown]] for _, positions in rows]
    padded = [[label, *row, *[""] * (shown - len(row))] for (label, _), row in zip(rows, cells, strict=True)]
    return table([f"`position_acceptance`{more}", *map(str, range(1, shown + 1))], padded)
