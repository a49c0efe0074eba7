"""The tables of docs/definitions.md, made from the definitions and from rounds that are written out."""

from __future__ import annotations

import tempfile
from pathlib import Path

from specdiag.engines.catalogue import ENGINES
from specdiag.engines.definitions import SYMBOLS
from specdiag.render.as_engines import WHY
from specdiag.report import EngineFigure
from tests.engines.rounds import CLIPPED, DRAFTLESS, ENDED, PADDED, SECOND, WORKED, Round, printed

FAMILIES = {"length": ("length",), "rate": ("rate",), "positions": ("reach", "hazard")}
ODD = {
    "as they are": [WORKED],
    "padded first round": [PADDED],
    "output ends inside the accepted drafts": [ENDED],
    "last block cut to one draft": [CLIPPED],
    "a round without a draft": [DRAFTLESS],
    "and a request of one round, 0 accepted": [WORKED, SECOND],
}


def symbols_table() -> str:
    """The symbols of the formulas."""
    rows = [f"| `{name}` | {meaning} |" for name, meaning in SYMBOLS.items()]
    return "\n".join(["| symbol | |", "|---|---|", *rows]) + "\n"


def traits_table() -> str:
    """What a figure may count in, and what that does."""
    rows = [f"| {name} | {meaning} |" for name, meaning in WHY.items()]
    return "\n".join(["| counts in | |", "|---|---|", *rows]) + "\n"


def family_table(family: str) -> str:
    """Every figure of a family, with its value for the worked example."""
    found = _figures([WORKED])
    rows = []
    for figures in found.values():
        for engine, figure in figures[:1]:
            if figure.family in FAMILIES[family]:
                values = ", ".join(_value(item) for _, item in figures)
                of = ", ".join(_of(item) for _, item in figures)
                cells = [ENGINES[engine].title, f"`{engine}`", f"`{figure.name}`", f"**{values}**", of]
                rows.append([*cells, f"`{figure.formula}`", ", ".join(figure.counts_in), figure.where])
    heads = ["engine", "`--as`", "figure", "value", "of", "formula", "counts in", "where"]
    return _table(heads, rows)


def odd_table() -> str:
    """The figures of which something odd about the rounds changes the value for some engine."""
    columns = {name: _figures(requests) for name, requests in ODD.items()}
    rows = []
    for key, figures in columns["as they are"].items():
        if figures[0][1].position:
            continue
        values = [_value(found[key][0][1]) for found in columns.values()]
        if len(set(values)) > 1:
            rows.append([f"`{figures[0][0]}`", f"`{figures[0][1].name}`", *values])
    return _table(["`--as`", "figure", *ODD], rows)


def _figures(requests: list[list[Round]]) -> dict[str, list[tuple[str, EngineFigure]]]:
    with tempfile.TemporaryDirectory() as folder:
        found = printed(Path(folder), *requests)
    return {name: [(name.partition(":")[0], figure) for figure in figures] for name, figures in found.items()}


def _value(figure: EngineFigure) -> str:
    if figure.rate.value is None:
        return "—"
    return f"{100 * figure.rate.value:.1f}%" if figure.unit else f"{figure.rate.value:.3f}"


def _of(figure: EngineFigure) -> str:
    rate = figure.rate
    return f"{rate.numerator:g}/{rate.denominator:g}" if rate.numerator is not None and rate.denominator else ""


def _table(heads: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [heads, ["---"] * len(heads), *rows]) + "\n"
