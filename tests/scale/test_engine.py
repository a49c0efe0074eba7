"""Counters that an engine keeps by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdiag.measure.tables import MAX_POSITIONS
from specdiag.measure.tally import EngineKind, Tally
from specdiag.scale.engine import EngineCounts
from specdiag.trace import sources
from specdiag.trace.events import TallyEvent
from tests import build
from tests.hostile.program import analyze, write

MOST = 2**53


def counted(*events: TallyEvent) -> dict[EngineKind, int]:
    """What these events add up to."""
    engine, tally = EngineCounts(), Tally(3)
    for event in events:
        engine.add(event)
    engine.count(tally)
    return tally.engine


def sums(*events: TallyEvent) -> dict[str, int]:
    """The same by name, whatever else their reports have."""
    out: dict[str, int] = {}
    for kind, number in counted(*events).items():
        out[kind.name] = out.get(kind.name, 0) + number
    return out


def tally(window: Any = "interval", **fields: Any) -> TallyEvent:
    """A tally event of the drafter `code`."""
    return TallyEvent(drafter="code", window=window, **fields)


def rates(path: Path, *events: dict[str, Any]) -> dict[str, Any]:
    """The engine's rates in the report."""
    base = {"type": "tally", "drafter": "code", "window": "interval"}
    report = analyze(write(path / "t.jsonl", [build.header()], [base | event for event in events])).report
    found: dict[str, Any] = report["drafters"][0]["engine_counts"]
    return found


def test_sums_are_exact_beyond_64_bits() -> None:
    """No sum of counters is clipped, also where tallies are added."""
    total = counted(*[tally(proposed=MOST, accepted=MOST - 1)] * 5000)
    known = "proposed,accepted,accepted_before"
    assert total[EngineKind("code", "interval", "proposed", known=known)] == 5000 * MOST
    assert total[EngineKind("code", "interval", "accepted", known=known)] == 5000 * (MOST - 1)
    one, other = Tally(3), Tally(3)
    one.add_engine(total)
    other.add_engine(total)
    assert (one + other).engine[EngineKind("code", "interval", "proposed", known=known)] == 10_000 * MOST
    assert one == other
    assert one != one + other


@pytest.mark.parametrize("times", [1, 400, 1100, 3000])
def test_ratios_of_large_counters(times: int, tmp_path: Path) -> None:
    """A ratio is right whatever the size of its counters, and the report can carry them."""
    found = rates(
        tmp_path, *[{"rounds": MOST, "proposed": MOST, "accepted": MOST // 4, "reached": [MOST // 4]}] * times
    )
    assert found["engine_draft_acceptance"]["value"] == 0.25
    assert found["engine_draft_acceptance"]["denominator"] == times * MOST
    assert found["engine_acceptance_length"]["value"] == 1.25
    assert found["engine_position_reach_1"]["value"] == 0.25


def test_positions_are_listed_up_to_a_bound(tmp_path: Path) -> None:
    """A counter of a hundred thousand positions is read, and its first ones are listed, in order."""
    size = 100_000
    found = rates(tmp_path, {"rounds": 9, "accepted": 9 * size, "reached": [9] * size})
    listed = [name for name in found if name.startswith("engine_position_reach_")]
    assert listed == [f"engine_position_reach_{i}" for i in range(1, MAX_POSITIONS + 1)]


def test_a_lifetime_counter_that_falls_was_reset() -> None:
    """The value before the fall is added to the last one."""
    events = [tally("lifetime", proposed=n, accepted=n // 2) for n in (10, 20, 4)]
    assert sums(*events)["proposed"] == 24


def test_any_counter_that_falls_tells_of_a_reset() -> None:
    """An engine that counts rounds alone was started again where these fall; a counter that is missing tells nothing."""
    events = [tally("lifetime", rounds=n) for n in (10, 20, 4)]
    assert sums(*events)["rounds"] == 24
    events = [tally("lifetime", proposed=8, accepted=4), tally("lifetime", accepted=5)]
    assert sums(*events) == {"accepted": 5, "accepted_before": 5, "events": 1}


def test_two_traces_are_two_runs(tmp_path: Path) -> None:
    """Lifetime counters of one name in two traces add, whatever their order; within a trace the last value counts, and a fall is noted."""
    base = {"type": "tally", "drafter": "code", "window": "lifetime", "rounds": 5, "proposed": 10, "accepted": 4}
    files = [
        write(tmp_path / f"{i}.jsonl", [build.header(trace_id=str(i)), base | {"proposed": 10 + i}]) for i in (1, 0)
    ]
    report = analyze(*files).report
    assert report["drafters"][0]["engine_counts"]["engine_draft_acceptance"]["denominator"] == 21
    assert not [note for note in report["integrity"] if note["code"] == "counter_reset"]
    fallen = analyze(write(tmp_path / "f.jsonl", [build.header(), base, base | {"proposed": 6}]))
    assert fallen.report["drafters"][0]["engine_counts"]["engine_draft_acceptance"]["denominator"] == 16
    assert fallen.notes["counter_reset"]["places"][0]["text"] == "proposed: 10 before, 6 now"


def test_a_rate_is_made_of_reports_that_have_its_counts(tmp_path: Path) -> None:
    """A report without rounds adds to acceptance, and not to a length; the sums of the window say what was there."""
    found = rates(
        tmp_path, {"accepted": 6, "proposed": 12}, {"accepted": 1, "proposed": 3, "rounds": 1, "reached": [1, 0]}
    )
    assert (found["engine_draft_acceptance"]["numerator"], found["engine_draft_acceptance"]["denominator"]) == (7, 15)
    assert (found["engine_acceptance_length"]["numerator"], found["engine_acceptance_length"]["denominator"]) == (1, 1)
    assert found["engine_position_acceptance_2"]["value"] == 0.0


def test_an_estimate_has_the_bounds_of_its_rounding(tmp_path: Path) -> None:
    """Half widths add; the rate is an estimate between what they leave."""
    report = {"rounds": 100, "proposed": 300, "accepted": 150, "estimated": {"rounds": 2}}
    length = rates(tmp_path, report, report)["engine_acceptance_length"]
    assert (length["source"], length["interval"], length["value"]) == ("estimated", "rounding", 2.5)
    assert length["low"] == pytest.approx(1 + 300 / 204)
    assert length["high"] == pytest.approx(1 + 300 / 196)
    assert rates(tmp_path, report)["engine_draft_acceptance"]["source"] == "recorded"


def test_positions_tell_of_a_reset_and_rounding_does_not() -> None:
    """A fall at one position is a reset; a fall within what two estimates may be off by is none."""
    events = [tally("lifetime", accepted=3, reached=list(n)) for n in ((2, 1), (3, 0))]
    assert sums(*events)["accepted"] == 6
    loose = [tally("lifetime", rounds=n, estimated={"rounds": 2}) for n in (10, 7)]
    assert sums(*loose)["rounds"] == 7


def test_a_reset_is_noted_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note has the line of the event, in whatever segment it stands, and both values."""
    base = {"type": "tally", "drafter": "code", "window": "lifetime", "proposed": 10, "accepted": 4}
    lines = [build.header(), *[{"type": "note", "text": "x" * 80}] * 20, base, base | {"proposed": 7}]
    monkeypatch.setattr(sources, "SEGMENT", 300)
    (place,) = analyze(write(tmp_path / "t.jsonl", lines)).notes["counter_reset"]["places"]
    assert (place["line"], place["text"]) == (23, "proposed: 10 before, 7 now")


def test_a_window_says_what_it_sums(tmp_path: Path) -> None:
    """How many reports, from how many sources, and the length of a full block, where all give the same."""
    base = {"type": "tally", "drafter": "code", "window": "interval", "rounds": 5, "proposed": 10, "accepted": 4}
    given = [base | {"source": s, "max_draft_tokens": 3} for s in ("a", "b", "a")]
    for events, named, full in ((given, 2, 3), ([*given, base], 3, None), ([base], 1, None)):
        window = analyze(write(tmp_path / "t.jsonl", [build.header(), *events])).report["drafters"][0]["engine_window"]
        assert (window["window"], window["reports"]) == ("interval", len(events))
        assert (window["sources"], window["max_draft_tokens"]) == (named, full)


@given(
    st.lists(
        st.builds(
            tally,
            st.sampled_from(("interval", "request")),
            source=st.sampled_from((None, "a", "b")),
            rounds=st.none() | st.integers(0, 9),
            accepted=st.none() | st.integers(0, 9),
            estimated=st.none() | st.just({"accepted": 1}),
            max_draft_tokens=st.sampled_from((None, 2, 3)),
        )
    ),
    st.randoms(use_true_random=False),
    st.integers(0, 20),
)
def test_counts_add_in_any_order(events: list[TallyEvent], random: Any, cut: int) -> None:
    """The counts of two parts add to those of the whole, in whatever order their reports are read."""
    whole, parts = Tally(3), Tally(3)
    whole.add_engine(counted(*events))
    shuffled = random.sample(events, len(events))
    for part in (shuffled[cut:], shuffled[:cut]):
        parts.add_engine(counted(*part))
    assert whole == parts


def test_means_over_requests_are_summed_where_they_are_asked_for() -> None:
    """They cost as much as all other counts of a report, and only `--as` shows them."""
    event = TallyEvent(drafter="d", window="request", requests=1, rounds=4, accepted=6)
    names = {}
    for asked in (False, True):
        engine, tally = EngineCounts(means=asked), Tally(3)
        engine.add(event)
        engine.count(tally)
        names[asked] = {kind.name for kind in tally.engine}
    assert names[False] < names[True]
    assert {name for name in names[True] - names[False] if not name.startswith("of ")} >= {
        "mean over requests of (A + R) / R: accepted_before, drafted_rounds"
    }
