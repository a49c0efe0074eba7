"""Numbers at the edge: no overflow, no warning, no negative count, and the identities hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import build
from tests.hostile.program import Done, analyze, specdiag, write

MOST = 2**53


def rounds(count: int, block: dict[str, Any], verdict: dict[str, Any], requests: int = 1) -> build.Events:
    """Rounds of one block each, with these fields."""
    out: build.Events = [build.header()]
    for i in range(count):
        where: dict[str, Any] = {"request": f"r{i % requests}", "round": i // requests}
        out += [build.block(f"p{i}", **where) | block, build.verdict(f"p{i}", 1, **where) | verdict]
    return out


def paths(done: Done) -> set[str]:
    """The fields that the notes of a report point at."""
    return {place["path"] for note in done.report["integrity"] for place in note["places"]}


def test_many_gated_tokens(tmp_path: Path) -> None:
    """Gated tokens add up beyond 64 bits, or are refused as a field; they never turn negative."""
    done = analyze(write(tmp_path / "t.jsonl", rounds(1100, {"gated": MOST}, {})))
    assert done.report["fates"]["gated"] == 1100 * MOST or "$.gated" in paths(done)


@pytest.mark.parametrize("requests", [1, 12])
def test_long_times(requests: int, tmp_path: Path) -> None:
    """Times of decades add up, and the share of a block's time that was cut is a share."""
    events = rounds(40, {"ms": 9e11, "tokens": [1] * 12}, {"accepted": 0, "ms": 9e11}, requests)
    done = analyze(write(tmp_path / "t.jsonl", events))
    share = done.report["thrash"]["rates"]["truncated_work_ms_share"]["value"]
    assert share == pytest.approx(1) or "$.ms" in paths(done)


@pytest.mark.parametrize("ms", [-1, -0.0, 1.797e308, 5e-324, 1e300, 0])
def test_odd_times(ms: float, tmp_path: Path) -> None:
    """A time that cannot be is noted and missing; one that is tiny is none."""
    done = analyze(write(tmp_path / "t.jsonl", rounds(12, {"ms": ms}, {"ms": ms}, 12)))
    assert paths(done) == (set() if 0 <= ms < 1 else {"$.ms"})


@pytest.mark.parametrize("requests", [1, 12])
def test_large_byte_lengths(requests: int, tmp_path: Path) -> None:
    """Byte lengths add up beyond 64 bits, and their ratio stays one."""
    events = rounds(12, {"tokens": [1] * 200, "bytes": [MOST] * 200}, {"accepted": 200}, requests)
    done = analyze(write(tmp_path / "t.jsonl", events))
    rate = done.report["rates"]["draft_acceptance_per_byte"]["value"]
    assert rate == pytest.approx(1) or "$.bytes[0]" in paths(done)


@pytest.mark.parametrize(
    ("q", "p", "u"),
    [(5e-324, 1.0, 0.5), (1e-310, 1.0, 1e-310), (1e300, 1.0, 1e300), (-1e300, -1e300, -1e300), (0, 0, 0), (1, 1, 1)],
)
@pytest.mark.parametrize("requests", [1, 12])
def test_extreme_probabilities(q: float, p: float, u: float, requests: int, tmp_path: Path) -> None:
    """Probabilities that are tiny, huge or negative give no warning, and the mean of min(1, p/q) stays within [0, 1]."""
    events = rounds(12, {"q": [q] * 4}, {"p": [p] * 4, "u": [u] * 4}, requests)
    rate = analyze(write(tmp_path / "t.jsonl", events)).report["rates"]["expected_acceptance"]
    assert rate["value"] is None or 0 <= rate["value"] <= 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"accepted": 5}, "accepted_above_submitted"),
        ({"accepted": -1}, "accepted_above_submitted"),
        ({"accepted": -MOST}, "accepted_above_submitted"),
        ({"accepted": MOST}, "accepted_above_submitted"),
        ({"accepted": 1, "committed": 2}, "committed_above_accepted"),
        ({"accepted": 1, "committed": -MOST}, "committed_above_accepted"),
        ({"accepted": 1, "judged": 0}, "judged_out_of_range"),
        ({"accepted": 1, "judged": MOST}, "judged_out_of_range"),
    ],
)
def test_impossible_counts(fields: dict[str, int], code: str, tmp_path: Path) -> None:
    """An impossible verdict is a located problem, its tokens count as unjudged, and the other rounds count."""
    events = build.rounds(20)
    events += [build.block("bad", request="bad"), build.verdict("bad", 0, request="bad") | fields]
    file = write(tmp_path / "t.jsonl", events)
    done = analyze(file)
    assert done.report["fates"]["unjudged"] == 4
    assert done.report["fates"]["accepted"] == 40
    assert [place["line"] for place in done.notes[code]["places"]] == [len(events)]
    strict = specdiag("analyze", "--strict", file)
    assert strict.code == 2
    assert f"{file}:{len(events)}: $." in strict.err


def test_rounds_and_starts_at_the_edge(tmp_path: Path) -> None:
    """The largest rounds and starts are read exactly."""
    events: build.Events = [build.header()]
    for i in range(3):
        where: dict[str, Any] = {"request": "r", "round": MOST - i}
        events += [build.block(f"p{i}", start=(-1) ** i * MOST, **where), build.verdict(f"p{i}", 1, **where)]
    assert analyze(write(tmp_path / "t.jsonl", events)).report["rounds"] == 3


def test_tokens_of_any_size(tmp_path: Path) -> None:
    """Token ids are labels: negative and huge ones are counted like any."""
    events = [build.header(), build.block("p", tokens=[-1, 2**63, 2**70, -(2**80)]), build.verdict("p", 4)]
    assert analyze(write(tmp_path / "t.jsonl", events)).report["fates"]["accepted"] == 4


def test_counters_of_an_engine_add_up(tmp_path: Path) -> None:
    """An engine's counters add up beyond 64 bits."""
    tally = {"type": "tally", "drafter": "code", "window": "interval"}
    events = [build.header(), *[tally | {"rounds": MOST, "proposed": MOST, "accepted": MOST // 2}] * 1100]
    done = analyze(write(tmp_path / "t.jsonl", events))
    counts = done.report["drafters"][0]["engine_counts"]
    assert "$.rounds" in paths(done) or counts["engine_draft_acceptance"]["value"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    "counts", [{"rounds": 10, "proposed": 10, "accepted": 20}, {"rounds": 10, "accepted": 5, "reached": [5, 9]}]
)
def test_counters_that_contradict_each_other(counts: dict[str, Any], tmp_path: Path) -> None:
    """More accepted than proposed, or more rounds that reach position 2 than position 1, is a finding."""
    events = [build.header(), {"type": "tally", "drafter": "code", "window": "interval"} | counts]
    assert analyze(write(tmp_path / "t.jsonl", events)).report["integrity"]


def test_lists_of_the_wrong_length(tmp_path: Path) -> None:
    """q, bytes or u of another length than the tokens, and p longer than what was submitted, are findings."""
    for fields in ({"q": [0.5]}, {"bytes": [1]}, {"submitted": [1, 2], "submitted_bytes": [1]}):
        events = [build.header(), build.block("p") | fields, build.verdict("p", 1)]
        assert analyze(write(tmp_path / "t.jsonl", events)).report["integrity"], fields
    for fields in ({"p": [0.5] * 9}, {"u": [0.5] * 9}):
        events = [build.header(), build.block("p"), build.verdict("p", 1, **fields)]
        assert analyze(write(tmp_path / "t.jsonl", events)).report["integrity"], fields


@pytest.mark.parametrize("level", ["0.9999999999999999", "1e-300", "0.5"])
def test_extreme_levels(level: str, tmp_path: Path) -> None:
    """A level that is between 0 and 1 gives intervals, or is refused as an option."""
    for requests in (2, 20):
        specdiag("analyze", "--level", level, write(tmp_path / "t.jsonl", build.rounds(40, requests=requests)))


@pytest.mark.parametrize("option", [("--level", "nan"), ("--level", "1"), ("--jobs", "0"), ("--replicates", "-1")])
def test_impossible_options(option: tuple[str, str], tmp_path: Path) -> None:
    """An option that cannot be is an error of usage, told before anything is read."""
    assert specdiag("analyze", *option, str(tmp_path / "no.jsonl")).code == 2
