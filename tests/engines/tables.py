"""The tables of docs/definitions.md: what every engine prints for the worked example, and for rounds that are odd, computed from traces of them."""

from __future__ import annotations

import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from specdiag.engines.catalogue import ENGINES
from specdiag.engines.definitions import PLAIN, Engine
from specdiag.report import EngineFigure, Report
from tests.engines.native import MASKS, WORKED, Round, figures, report, request, trace, value, view

EOS = {"accepted": 2, "committed": 1, "stop": "eos"}
PADDING: dict[str, Any] = {"accepted": 0, "stop": "padding", "next": None}
ODD: dict[str, Sequence[Round]] = {
    "the worked example": WORKED,
    "a round of placeholders before it": [(3, 0, PADDING), *WORKED],
    "the first accepted draft of its last round ends the output": [*WORKED[:3], (3, 2, EOS)],
    "its last block is cut to one draft, which is accepted": [*WORKED[:3], (1, 1)],
    "a round without a draft behind it": [*WORKED, (0, 0)],
}
NEVER = {
    "a round of placeholders before it": ("sglang", "llama-cpp", "exllama", "transformers"),
    "a round without a draft behind it": ("sglang",),  # every round of it has K drafts
}
PRINTED = {
    "vllm": ("Mean acceptance length", "Draft acceptance rate"),
    "sglang": ("spec_accept_length", "spec_accept_rate"),
    "llama-cpp": ("mean len", "draft acceptance"),
    "exllama": ("accepted",),
    "transformers": ("num_matches + 1", "num_matches / candidates"),
}
AVERAGES = (
    ("vllm", "Mean acceptance length"),
    ("aiperf", "spec_decode_token_weighted_acceptance_length"),
    ("aiperf", "spec_decode_acceptance_length"),
    ("specforge-sglang", "average_acceptance_length"),
    ("specforge", "accept_length"),
)


def of(*requests: Sequence[Round], masks: Sequence[str] = ()) -> Report:
    """The report on these requests under all definitions."""
    events = trace(*(request(f"r{i}", rounds, masks) for i, rounds in enumerate(requests)))
    with tempfile.TemporaryDirectory() as folder:
        return report(Path(folder) / "t.jsonl", events, *ENGINES)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _number(item: EngineFigure) -> str:
    found = item.rate.value
    if found is None:
        return "–"
    return f"{found * 100:.1f}%" if item.unit else f"{found:.3f}"


def _in(item: EngineFigure) -> str:
    return "; ".join(item.counts_in)


def worked_table(*families: str) -> str:
    """Every figure of these families, by value."""
    found = of(WORKED, masks=MASKS)
    rows = []
    for each in found.engines:
        for name in dict.fromkeys(item.name for item in each.figures if item.family in families):
            items = figures(found, each.engine, name)
            marked = "?" if ENGINES[each.engine].unverified else ""
            numbers = ", ".join(map(_number, items)) + marked
            key = [item.rate.value or 0.0 for item in items]
            rows.append((key, [numbers, f"`{each.engine}`", f"`{name}`", f"`{items[0].formula}`", _in(items[0])]))
    ordered = [row for _, row in sorted(rows, key=lambda row: (row[0], row[1][1:]))]
    return _table(["value", "engine", "figure", "formula", "what counts"], ordered)


def counting_table() -> str:
    """How each engine counts a round, where that is not the plainest way."""
    rows = [
        [f"`{engine.id}`", engine.title, *_ways(engine)]
        for engine in ENGINES.values()
        if engine.counting != replace(PLAIN, full_blocks=engine.counting.full_blocks)
    ]
    rows.append(["all others", "", *_ways(Engine("", "", ()))])
    heads = [
        "engine",
        "",
        "accepted drafts behind the end of the output",
        "round of placeholders",
        "round without a draft",
    ]
    return _table(heads, rows)


def without_prefill() -> str:
    """The engines whose output has no token of prefill."""
    names = [f"`{engine.id}`" for engine in ENGINES.values() if not engine.prefill_token]
    return "\n".join(textwrap.wrap(f"No token of prefill is in the output of {', '.join(names)}.", 120)) + "\n"


_STOPS = {
    "before": "count",
    "kept": "do not count",
    "less_one": "do not count, nor does the last one before it",
    "exllama": "do not count, nor does the one that ended it, on either side",
}


def _ways(engine: Engine) -> list[str]:
    how = engine.counting
    return [
        _STOPS[how.stop],
        "counts" if how.padding else "does not count",
        "counts" if how.draftless else "does not count",
    ]


def odd_table() -> str:
    """The worked example with one thing changed, under a few engines."""
    rows = []
    for what, rounds in ODD.items():
        found = of(rounds)
        cells = ["–" if engine in NEVER.get(what, ()) else _cell(found, engine, n) for engine, n in PRINTED.items()]
        rows.append([what, *cells])
    heads = ["rounds", *(f"`{engine}`: " + ", ".join(f"`{n}`" for n in names) for engine, names in PRINTED.items())]
    return _table(heads, rows)


def _cell(found: Report, engine: str, names: tuple[str, ...]) -> str:
    shown = ", ".join(_number(figures(found, engine, name)[0]) for name in names)
    counts = view(found, engine).counts
    return f"{shown} (A {counts['A']}, R {counts['R']}, D {counts['D']})"


def averages_table() -> str:
    """Two requests, pooled or averaged."""
    found = of(WORKED, [(3, 0)])
    rows = [
        [
            f"{value(found, engine, name) or 0:.3f}",
            f"`{engine}`",
            f"`{name}`",
            f"`{figures(found, engine, name)[0].formula}`",
        ]
        for engine, name in AVERAGES
    ]
    return _table(["value", "engine", "figure", "formula"], rows)
