"""AIPerf: records of requests, with and without their rounds, and the aggregate."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdiag.trace.events import Proposal, TallyEvent, Verdict
from tests.importers.common import imported, noted, register, tallies
from tests.importers.noise import hold

NAME = "aiperf/profile"
ROUNDS = [0, 1, 3, 2]


def acceptance(histogram: dict[int, int], drafted: int, most: int | None = 3, **more: Any) -> dict[str, Any]:
    """`spec_decode_acceptance` with all its identities, as AIPerf writes it."""
    steps, accepted = sum(histogram.values()), sum(length * number for length, number in histogram.items())
    return {
        "engine": "vllm",
        "mean_acceptance_length": 1 + accepted / steps,
        "draft_acceptance_rate": accepted / drafted,
        "acceptance_histogram": {str(length): number for length, number in histogram.items()},
        "num_accepted_draft_tokens": accepted,
        "num_draft_tokens": drafted,
        "num_spec_steps": steps,
        "num_spec_tokens": most,
        **more,
    }


def line(found: dict[str, Any] | None, name: str = "r1", phase: str = "profiling", **more: Any) -> str:
    """A line of profile_export.jsonl."""
    metrics = {}
    if found and found["num_draft_tokens"]:
        emitted = found["num_accepted_draft_tokens"] + found["num_spec_steps"]
        verified = found["num_draft_tokens"] + found["num_spec_steps"]
        metrics = {
            "spec_decode_acceptance_length": {"value": found["mean_acceptance_length"], "unit": "ratio"},
            "spec_decode_draft_acceptance_rate": {"value": found["draft_acceptance_rate"] * 100, "unit": "%"},
            "spec_decode_accepted_per_verified": {"value": emitted / verified, "unit": "ratio"},
        }
    whole = {
        "metadata": {"session_num": 0, "x_request_id": name, "benchmark_phase": phase, "worker_id": "w"},
        "metrics": metrics,
        "spec_decode_acceptance": found,
        **more,
    }
    return json.dumps(whole) + "\n"


DETAILED = acceptance(
    {0: 1, 1: 1, 2: 1, 3: 1}, 12, completion_tokens=11, per_step_accepted=ROUNDS, per_step_drafted=[3] * 4
)
PROFILE = line(DETAILED) + line(acceptance({0: 1}, 3, completion_tokens=2), "r2") + line(None, "r3")
SUMMARY = {
    "schema_version": "1.4",
    "aiperf_version": "0.13.0",
    "request_count": {"unit": "requests", "avg": 2.0},
    "spec_decode_acceptance_length": {"unit": "ratio", "avg": 1.75, "count": 2, "sum": 3.5},
    "spec_decode_token_weighted_acceptance_length": {"unit": "ratio", "avg": 2.2},
    "spec_decode_draft_acceptance_rate": {"unit": "%", "avg": 25.0, "count": 2},
    "spec_decode_overall_draft_acceptance_rate": {"unit": "%", "avg": 40.0},
    "spec_decode_accepted_per_verified": {"unit": "ratio", "avg": 0.4375, "count": 2},
    "spec_decode_steps": {"unit": "count", "avg": 2.5, "count": 2, "sum": 5},
    "total_spec_decode_steps": {"unit": "count", "avg": 5.0},
    "total_accepted_draft_tokens": {"unit": "tokens", "avg": 6.0},
    "total_draft_tokens": {"unit": "tokens", "avg": 15.0},
    "pooled_spec_decode_acceptance_histogram": {"0": 2, "1": 1, "2": 1, "3": 1},
}
register(NAME, PROFILE)
register("aiperf/summary", json.dumps(SUMMARY, indent=2) + "\n")


def test_profile() -> None:
    """Counts of each request; a sparse histogram is one of all positions, and the figures that were printed agree."""
    events, notes = imported(PROFILE, NAME)
    first, second = (event for event in events if isinstance(event, TallyEvent))
    assert (first.request, first.rounds, first.accepted, first.proposed, first.completion_tokens) == (
        "r1",
        4,
        6,
        12,
        11,
    )
    assert (first.reached, first.max_draft_tokens, first.requests) == ([3, 2, 1], 3, 1)
    assert first.printed is not None
    assert first.printed["mean_acceptance_length"] == "2.5"
    assert first.printed["spec_decode_draft_acceptance_rate"] == "50.0%"
    assert (second.request, second.rounds, second.accepted, second.reached) == ("r2", 1, 0, [0, 0, 0])
    assert not notes.counts


def test_rounds_in_order() -> None:
    """Where each step stands there, it is a round: its block begins behind what came out before, prefill's token first."""
    events, _ = imported(PROFILE, NAME)
    blocks = [event for event in events if isinstance(event, Proposal)]
    verdicts = [event for event in events if isinstance(event, Verdict)]
    assert [(block.start, len(block.tokens), block.round) for block in blocks] == [
        (1, 3, 0),
        (2, 3, 1),
        (4, 3, 2),
        (8, 3, 3),
    ]
    assert [verdict.accepted for verdict in verdicts] == ROUNDS
    assert [verdict.next.kind for verdict in verdicts if verdict.next] == [
        "correction",
        "correction",
        "bonus",
        "correction",
    ]


def test_figures_of_real_threads() -> None:
    """vllm#48915 (43 rounds, 10 of 129) and the payload of aiperf#1433 and TRT-LLM#19311 (20 rounds, 30 of 60): the identities hold."""
    vllm = acceptance({0: 39, 1: 1, 3: 3}, 129)
    assert (vllm["mean_acceptance_length"], vllm["draft_acceptance_rate"]) == (1.2325581395348837, 0.07751937984496124)
    trtllm = acceptance({0: 8, 2: 6, 3: 6}, 60) | {"engine": "trtllm"}
    events, notes = imported(line(vllm) + line(trtllm, "r2"), NAME)
    first, second = (event for event in events if isinstance(event, TallyEvent))
    assert (first.rounds, first.accepted, first.proposed, first.reached) == (43, 10, 129, [4, 3, 3])
    assert (second.rounds, second.accepted, second.proposed, second.reached) == (20, 30, 60, [12, 12, 6])
    assert not notes.counts


def test_padded_first_rounds() -> None:
    """Requests that all begin with a full block of which nothing was accepted, and do not go on so."""
    padded = acceptance(
        {0: 1, 2: 2, 3: 1}, 12, completion_tokens=12, per_step_accepted=[0, 2, 3, 2], per_step_drafted=[3] * 4
    )
    _, notes = imported("".join(line(padded, f"r{i}") for i in range(5)), NAME)
    assert noted(notes, "padded_rounds") == ["the first round of 5 of 5 requests, against 0 of their 15 others"]


def test_warm_up_and_failures_do_not_count() -> None:
    """AIPerf leaves them out of its aggregates, too."""
    text = line(DETAILED, "w", "warmup") + line(DETAILED, "e", error={"code": 500}) + PROFILE
    assert [event.request for event in tallies(text, NAME)] == ["r1", "r2"]


@pytest.mark.parametrize(
    "change",
    [
        {"num_spec_steps": 5},
        {"num_accepted_draft_tokens": 7},
        {"num_draft_tokens": 5},
        {"acceptance_histogram": {"0": 4}},
        {"acceptance_histogram": {"4": 1, "2": 1, "0": 2}},
        {"per_step_accepted": [0, 1, 3]},
        {"per_step_drafted": [3, 3, 3, 4]},
        {"per_step_accepted": [3, 3, 0, 0], "per_step_drafted": [2, 4, 3, 3]},
        {"num_spec_tokens": 1},
    ],
)
def test_counts_that_rule_each_other_out(change: dict[str, Any]) -> None:
    """Such a record is left out, and said to be one."""
    events, notes = imported(line(DETAILED | change) + PROFILE, NAME)
    assert len([event for event in events if isinstance(event, TallyEvent)]) == 2
    assert len(noted(notes, "not_counts")) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"num_spec_steps": True},
        {"num_spec_steps": -4},
        {"num_draft_tokens": 1e300},
        {"num_draft_tokens": None},
        {"acceptance_histogram": [1, 1, 1, 1]},
        {"acceptance_histogram": {"99999999999": 1}},
        {"acceptance_histogram": {"x": 1}},
    ],
)
def test_what_is_no_count(change: dict[str, Any]) -> None:
    """A record of other types is left out with the path of its first wrong number, and never a zero."""
    _, notes = imported(line(DETAILED | change) + PROFILE, NAME)
    [said] = noted(notes, "no_count")
    assert said.startswith(f"spec_decode_acceptance.{next(iter(change))}: expected ")


def test_summary() -> None:
    """One tally of all requests; means over requests are told to be such, pooled figures agree."""
    events, notes = imported(json.dumps(SUMMARY), "aiperf/summary")
    [event] = (event for event in events if isinstance(event, TallyEvent))
    assert (event.window, event.requests) == ("interval", 2)
    assert (event.rounds, event.accepted, event.proposed, event.reached) == (5, 6, 15, [3, 2, 1])
    said = noted(notes, "printed_differs")
    assert len(said) == 3
    assert all("mean of means" in text for text in said)
    assert any("25.0% printed" in text and "40.00% over all rounds" in text for text in said)
    assert any("1.75 printed" in text and "2.2 over all rounds by (A + R) / (R) = 11 / 5" in text for text in said)


def test_summary_whose_totals_are_others() -> None:
    """A histogram beside other totals is left out."""
    changed = SUMMARY | {"total_spec_decode_steps": {"unit": "count", "avg": 6.0}}
    _, notes = imported(json.dumps(SUMMARY) + "\n" + json.dumps(changed), "aiperf/summary")
    assert noted(notes, "not_counts") == ["6 accepted in 5 rounds by the histogram, 6 in 6 by the totals"]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_noise(seed: int) -> None:
    """Cuts and random bytes make nothing up."""
    hold(NAME, PROFILE, seed, mixes=False)
    hold("aiperf/summary", json.dumps(SUMMARY, indent=2), seed, mixes=False)
