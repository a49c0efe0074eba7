"""Native traces of rounds given by hand: γ drafts, a of them accepted, as a recorder of this package would log them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from specdiag.analysis import analyze
from specdiag.report import EngineFigure, EngineView, Rate, Report
from specdiag.summary import Options

WORKED = ((3, 0), (3, 1), (3, 3), (3, 2))
"""(γ, a) of the rounds of one request: the worked example of docs/definitions.md."""
MASKS = ("010", "101", "111", "110")
"""The positions at which its drafts are what the verifier would have drawn."""

Round = tuple[int, int] | tuple[int, int, dict[str, Any]]


def request(name: str, rounds: Sequence[Round], masks: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The events of one request. A third member of a round are more fields of its verdict. `masks`: log p, q and u that match there."""
    out: list[dict[str, Any]] = []
    start = 0
    for number, (size, accepted, *more) in enumerate(rounds):
        where = {"request": name, "round": number}
        block: dict[str, Any] = {"type": "proposal", "id": f"{name}-{number}", **where, "drafter": "draft"}
        block |= {"start": start, "tokens": [100 + i for i in range(size)]}
        kind = "bonus" if accepted == size else "correction"
        verdict: dict[str, Any] = {"type": "verdict", "proposal": f"{name}-{number}", **where, "accepted": accepted}
        verdict["next"] = {"token": 7, "kind": kind}
        if masks:
            match = [mark == "1" for mark in masks[number]]
            block["q"] = [0.5] * size
            verdict |= {"p": [0.25] * size, "u": [0.25 if hit else 0.75 for hit in match]}
        verdict |= more[0] if more else {}
        out += [block, {k: v for k, v in verdict.items() if v is not None}]
        start += accepted + 1
    return out


def trace(*requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A header, and the events of the requests."""
    header = {
        "type": "trace",
        "schema": "specdiag/1",
        "trace_id": "worked",
        "verification": {"rule": "rejection"},
        "drafters": [{"id": "draft", "max_draft_tokens": 3}],
    }
    return [header, *(event for events in requests for event in events)]


def report(path: Path, events: list[dict[str, Any]], *engines: str, **options: Any) -> Report:
    """The report on these events, under the definitions of these engines."""
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return analyze(str(path), Options(engines=engines, **options))


def view(report: Report, engine: str) -> EngineView:
    """One engine's view of the rounds."""
    return next(each for each in report.engines if each.engine == engine and each.of == "all rounds")


def figures(report: Report, engine: str, name: str) -> list[EngineFigure]:
    """A figure of an engine; one for each position."""
    return [each for each in view(report, engine).figures if each.name == name]


def rate(report: Report, engine: str, name: str) -> Rate:
    """The rate of a figure that has one."""
    (found,) = figures(report, engine, name)
    return found.rate


def value(report: Report, engine: str, name: str) -> float | None:
    """Its value."""
    return rate(report, engine, name).value


def values(report: Report, engine: str, name: str) -> list[float]:
    """The values of a figure by position, to three digits."""
    return [round(each.rate.value, 3) for each in figures(report, engine, name) if each.rate.value is not None]
