"""The section of the Markdown report on what an engine counted by itself: beside the ledger, never mixed with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from specdiag.render.choice import MOST_POSITIONS, PRINTED_KEY, bounded, engine_figures
from specdiag.render.figures import count, interval, ratio
from specdiag.render.markdown_parts import SHORT, cell, name_of, say, table, value
from specdiag.render.prose import between, others_of, partly_of, sums_of, window_of
from specdiag.report import EnginePrinted, Rate, Report


def engine_counts(report: Report) -> Iterator[str]:
    """Of each drafter: which reports, their rates, what came to each position, the sums, and what was printed without counts."""
    drafters = [drafter for drafter in report.drafters if drafter.engine_counts]
    if drafters:
        yield "### Engine counts"
    for drafter in drafters:
        said = f"{say(window_of(drafter))}. {say(sums_of(drafter))} {say(partly_of(drafter))} {say(others_of(drafter))}"
        yield f"**{name_of(drafter.id)}**: {' '.join(said.split())}"
        plain, by_position = engine_figures(drafter)
        if not drafter.engine_printed or any(rate.value is not None for rate in plain.values()):
            yield _plain(plain)
        if by_position:
            yield _positions(by_position)
        if drafter.engine_printed:
            yield f"{PRINTED_KEY[:1].upper()}{PRINTED_KEY[1:]}."
            yield _printed(drafter.engine_printed)


def _plain(rates: Mapping[str, Rate]) -> str:
    some = bounded(rates.values())
    rows = [
        [name_of(name), value(rate), *([interval(rate)] if some else []), ratio(rate)] for name, rate in rates.items()
    ]
    return table(["rate", "value", *(["bounds"] if some else []), "of"], rows)


def _positions(by_position: Mapping[str, list[Rate]]) -> str:
    longest = max(len(rates) for rates in by_position.values())
    shown = min(longest, MOST_POSITIONS)
    more = f" (+{longest - shown} more)" if longest > shown else ""
    rows = [
        [name_of(name), *map(cell, rates[:shown]), *[""] * (shown - len(rates))] for name, rates in by_position.items()
    ]
    return table([f"position{more}", *map(str, range(1, shown + 1))], rows)


def _printed(figures: list[EnginePrinted]) -> str:
    rows = [
        [
            name_of(each.name),
            f"**{say(each.last, SHORT)}**",
            say(between(each), SHORT),
            count(each.reports),
            say(each.formula) or "—",
        ]
        for each in figures
    ]
    return table(["figure", "last", "of all", "reports", "formula"], rows)
