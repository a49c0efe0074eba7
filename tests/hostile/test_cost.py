"""A small trace costs little: what is held and reported grows with the trace, and not with its square."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specdiag.analysis import analyze, collect
from specdiag.measure import contributions, slices
from specdiag.measure.blame import MAX_BLAMED
from specdiag.measure.shared import TOO_DEEP
from specdiag.measure.slices import MAX_SLICES
from specdiag.measure.tables import MAX_POSITIONS, Tables
from specdiag.measure.tally import BlockKind, Key, Tally
from specdiag.measure.weights import poisson_weights
from specdiag.report import Report
from specdiag.summary import MAX_IDLE, MAX_LISTED, Options
from specdiag.trace import notes
from specdiag.trace.blocks import Keys
from specdiag.trace.chains import MAX_ANCESTORS
from specdiag.trace.notes import Notes, Where
from tests import build
from tests.hostile.program import write

PLAIN = Options(replicates=0)


def kinds(file: str) -> list[BlockKind]:
    """The kinds of blocks that are held of a trace."""
    return [key for key in collect([file], PLAIN).tally.number if isinstance(key, BlockKind)]


def alone(count: int, declared: int = 0) -> build.Events:
    """Rounds of one block, each of another drafter; the header declares some more that never come."""
    names = [f"d{i}" for i in range(count + declared)]
    events: build.Events = [build.header(drafters=[{"id": name, "tokenizer": "a"} for name in names])]
    for i, name in enumerate(names[:count]):
        events += [build.block(f"p{i}", name, 3, round=i), build.verdict(f"p{i}", 0, round=i)]
    return events


def skipped(report: Report) -> dict[str, str]:
    """What the report leaves out, and why."""
    return {item.what: item.reason for item in report.skipped}


@pytest.mark.parametrize("length", [200, 400])
def test_the_paths_of_a_chain_are_bounded(length: int, tmp_path: Path) -> None:
    """No path is longer than one ancestor more than are followed; the blocks behind are noted, and what needs them says so."""
    events: build.Events = [build.header()]
    for i in range(length):
        parent = f"c{i - 1}" if i else None
        events.append(build.block(f"c{i}", ("code", "think")[i % 2], 1 + i % 7, start=7 * i, parent=parent))
    events += [build.verdict(f"c{i}", 0) for i in range(length)]
    file = write(tmp_path / "t.jsonl", events)
    assert max(len(kind.path) for kind in kinds(file)) == MAX_ANCESTORS + 1
    report = analyze(file, PLAIN)
    assert {item.code: item.count for item in report.integrity}["chain_too_deep"] == length - MAX_ANCESTORS - 1
    assert report.shared is not None
    assert report.shared.rates["composition_acceptance"].absent == TOO_DEEP
    assert {item.shapley_share.absent for item in report.marginal} == {TOO_DEEP}
    assert report.blame is not None
    assert report.blame.total == report.blame.row_totals[0] == report.fates.submitted - 1


def test_positions_reached_are_listed_up_to_a_limit(tmp_path: Path) -> None:
    """A counter of an engine for ever more positions is read up to the last position that is listed."""
    tally = {
        "type": "tally",
        "drafter": "code",
        "window": "interval",
        "rounds": 9,
        "proposed": 45_000,
        "accepted": 45_000,
    }
    events = [build.header(), tally | {"reached": [9] * 5000}]
    (code, _) = analyze(write(tmp_path / "t.jsonl", events), PLAIN).drafters
    assert sum(name.startswith("engine_position_reach") for name in code.engine_counts) == MAX_POSITIONS


def test_gated_tokens_make_no_kinds(tmp_path: Path) -> None:
    """Blocks that differ in their gated tokens alone are of one kind, and every gated token counts."""
    events: build.Events = [build.header()]
    for i in range(300):
        events += [build.block(f"p{i}", gated=i, round=i), build.verdict(f"p{i}", 1, round=i)]
    file = write(tmp_path / "t.jsonl", events)
    assert len(kinds(file)) == 1
    report = analyze(file, PLAIN)
    assert report.fates.gated == report.drafters[0].views["independent"].fates.gated == sum(range(300))


def test_the_blame_matrix_holds_those_who_cost_most(tmp_path: Path) -> None:
    """Where there are more drafters than the matrix holds, the rest of the tokens is its remainder, and the report says so."""
    report = analyze(write(tmp_path / "t.jsonl", alone(MAX_BLAMED + 10)), PLAIN)
    assert report.blame is not None
    assert (len(report.blame.tokens), report.blame.remainder) == (MAX_BLAMED, 10 * 2)
    assert all(identity.holds for identity in report.identities)
    assert str(MAX_BLAMED + 10) in skipped(report)["blame"]


def test_drafters_are_listed_up_to_a_limit(tmp_path: Path) -> None:
    """Of very many drafters those that proposed most are listed, and of those that never came a few; the pooled figures count all."""
    events = alone(MAX_LISTED + 5, declared=MAX_IDLE + 7)
    events += [build.block("last", f"d{MAX_LISTED + 4}", 9, round=MAX_LISTED + 5)]
    report = analyze(write(tmp_path / "t.jsonl", events), PLAIN)
    assert len(report.drafters) == MAX_LISTED + MAX_IDLE
    assert f"d{MAX_LISTED + 4}" in {drafter.id for drafter in report.drafters}
    assert report.fates.submitted == 3 * (MAX_LISTED + 5) + 9
    assert skipped(report)["drafters"]


def test_slices_look_at_each_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many branches there are, each count is looked at for its own slice only, and the largest slices are listed."""
    looked_at = 0

    class Counting(Tables):
        def __init__(self, tally: Tally, keys: list[Key]) -> None:
            nonlocal looked_at
            looked_at += len(keys)
            super().__init__(tally, keys)

    monkeypatch.setattr(slices, "Tables", Counting)
    events: build.Events = [build.header()]
    for i in range(MAX_SLICES + 20):
        where: dict[str, Any] = {"branch": f"b{i}"}
        events += [build.block(f"p{i}", size=2 if i < 20 else 3, **where), build.verdict(f"p{i}", 1, **where)]
    file = write(tmp_path / "t.jsonl", events)
    options = Options(replicates=0, by=("branch",))
    report = analyze(file, options)
    assert looked_at <= len(collect([file], options).tally.number)
    assert {row.by["branch"] for row in report.slices} == {f"b{i}" for i in range(20, MAX_SLICES + 20)}
    assert skipped(report)["slices"]
    assert report.fates == analyze(file, PLAIN).fates


def test_problems_of_one_line_are_sorted_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of thousands of problems is counted in full, and its places are put in order for the first ones only."""
    calls = 0
    first = notes._first

    def counting(places: list[Where]) -> list[Where]:
        nonlocal calls
        calls += 1
        return first(places)

    monkeypatch.setattr(notes, "_first", counting)
    found = Notes()
    for i in range(5000):
        found.add("not_json", 3, f"$[{i:05}]")
    assert found.counts["not_json"] == 5000
    assert calls <= notes.KEPT_OF_A_LINE
    found.add("not_json", 2)
    assert found.places["not_json"][0].line == 2


@pytest.mark.parametrize("at_once", [1, 7, 1000])
@pytest.mark.parametrize("zeros", [0, 16, 1 << 40])
def test_requests_are_weighed_a_few_at_a_time(
    at_once: int, zeros: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights are made for some requests at a time, and neither how many these are nor how sums are taken changes a count."""
    file = write(tmp_path / "t.jsonl", build.rounds(400, requests=90, size=5))
    options = Options(replicates=30, seed=3)
    expected = collect([file], options).tally
    most = 0

    def weights(requests: Keys, replicates: int, seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        nonlocal most
        most = max(most, len(requests))
        return poisson_weights(requests, replicates, seed)

    monkeypatch.setattr(contributions, "poisson_weights", weights)
    monkeypatch.setattr(contributions, "REQUESTS_AT_ONCE", at_once)
    monkeypatch.setattr(contributions, "MOSTLY_ZEROS", zeros)
    monkeypatch.setattr(contributions, "ROWS_AT_ONCE", 13)
    assert collect([file], options).tally == expected
    assert most <= at_once
