"""Tallies add exactly, and the report does not depend on how the input was read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specdiag.analysis import analyze, collect
from specdiag.measure.tally import Tally
from specdiag.render.json import render
from specdiag.scale import assemble
from specdiag.summary import Options
from specdiag.trace import sources
from tests import build
from tests.strategies import traces

QUICK = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
RESAMPLED = Options(replicates=20, seed=7)


def renamed(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The same trace under another id."""
    return [event | {"trace_id": name} if event["type"] == "trace" else event for event in events]


def tally_of(folder: Path, *parts: list[dict[str, Any]]) -> Tally:
    """The tally of these traces, one file each."""
    paths = [build.write(folder / f"{i}-{len(parts)}.jsonl", part) for i, part in enumerate(parts)]
    return collect(paths, RESAMPLED).tally


@QUICK
@given(traces(), traces(), traces())
def test_tallies_of_files_add_bit_for_bit_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, a: list[dict[str, Any]], b: list[dict[str, Any]], c: list[dict[str, Any]]
) -> None:
    """Reading three files together gives the sum of their tallies, replicates included, in whatever order they are added."""
    folder = tmp_path_factory.mktemp("merge")
    a, b, c = renamed(a, "a"), renamed(b, "b"), renamed(c, "c")
    one, two, three = tally_of(folder, a), tally_of(folder, b), tally_of(folder, c)
    together = tally_of(folder, a, b, c)
    assert together == one + two + three
    assert together == three + (two + one)
    assert tally_of(folder, c, b, a) == together


@QUICK
@given(traces())
def test_an_empty_tally_changes_nothing(tmp_path_factory: pytest.TempPathFactory, events: list[dict[str, Any]]) -> None:
    """The tally without a count is the identity of addition."""
    tally = tally_of(tmp_path_factory.mktemp("identity"), events)
    assert tally + Tally(20) == tally == Tally(20) + tally


def test_tallies_with_other_replicates_do_not_add() -> None:
    """Replicates of different number cannot be paired."""
    with pytest.raises(ValueError, match="3 and 5 replicates"):
        Tally(3) + Tally(5)


@pytest.fixture
def long_trace(tmp_path: Path) -> str:
    """A trace of several segments, once the segments are made small: chains, trees of drafters and requests that interleave."""
    events = [build.header()]
    for i in range(600):
        where = {"request": f"r{i % 17}", "round": i // 17}
        start = i // 17 * 7
        events.append(build.block(f"a{i}", "think", 3, start=start, q=[0.5, 0.25, 0.125], ms=1.5, **where))
        events.append(build.block(f"b{i}", "code", 3, parent=f"a{i}", start=start + 3, bytes=[1, 2, 3], **where))
        events.append(build.verdict(f"a{i}", i % 4, p=[0.25, 0.5, 0.1], u=[0.1, 0.2, 0.3], ms=20.0, **where))
        events.append(build.verdict(f"b{i}", i % 3 if i % 4 == 3 else 0, **where))
    return build.write(tmp_path / "long.jsonl", events)


@pytest.mark.parametrize("by", [(), ("branch", "label")])
def test_any_number_of_jobs_gives_the_same_bytes(
    long_trace: str, by: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JSON report is the same to the byte for one process and for several."""
    monkeypatch.setattr(sources, "SEGMENT", 10_000)
    one, two, three = (render(analyze(long_trace, Options(by=by, jobs=jobs))) for jobs in (1, 2, 3))
    assert one == two == three


def test_any_size_of_segment_gives_the_same_bytes(long_trace: str) -> None:
    """The JSON report is the same to the byte wherever the input is cut."""
    whole = render(analyze(long_trace, RESAMPLED))

    @given(st.integers(500, 30_000))
    @settings(deadline=None, max_examples=20)
    def cut(size: int) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sources, "SEGMENT", size)
            assert render(analyze(long_trace, RESAMPLED)) == whole

    cut()


@pytest.mark.parametrize("held", [0, 100, 1 << 30])
def test_what_is_held_back_is_counted(long_trace: str, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tally is the same whether the rounds at the borders of segments are added up one segment at a time or all together."""
    whole = collect([long_trace], RESAMPLED).tally
    monkeypatch.setattr(sources, "SEGMENT", 2000)
    monkeypatch.setattr(assemble, "HELD_AT_MOST", held)
    assert collect([long_trace], RESAMPLED).tally == whole


def test_a_trace_in_two_files_is_one_trace(long_trace: str, tmp_path: Path) -> None:
    """Proposals logged by one process and verdicts by another, each under a header of the same trace, are joined."""
    events = [json.loads(line) for line in Path(long_trace).read_text().splitlines()]
    proposals = [e for e in events if e["type"] in ("trace", "proposal")]
    verdicts = [e for e in events if e["type"] in ("trace", "verdict")]
    halves = [build.write(tmp_path / "p.jsonl", proposals), build.write(tmp_path / "v.jsonl", verdicts)]
    apart, whole = analyze(halves), analyze(long_trace)
    assert (apart.fates, apart.shared, apart.blame) == (whole.fates, whole.shared, whole.blame)


def test_the_same_file_twice_is_said(long_trace: str, tmp_path: Path) -> None:
    """Two inputs with exactly the same evidence get a note: counting both makes intervals too narrow."""
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(Path(long_trace).read_bytes())
    assert "same_evidence" in {item.code for item in analyze([long_trace, str(copy)]).integrity}
    assert "same_evidence" not in {item.code for item in analyze(long_trace).integrity}
