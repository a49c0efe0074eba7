"""SpecForge: results of three generations, and the published table."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdiag.trace.events import TallyEvent, Trace
from tests.importers.common import imported, noted, register, tallies
from tests.importers.noise import hold

SHARED = os.environ.get("SPECDIAG_SHARED_DATA", "")


def run(steps: int | None, topk: int | None, verified: int | None, *metrics: dict[str, Any]) -> dict[str, Any]:
    """A run of bench_eagle3.py."""
    return {
        "batch_size": 1,
        "steps": steps,
        "topk": topk,
        "num_draft_tokens": verified,
        "metrics": [*metrics],
        "num_samples": 80,
    }


def metric(output: int, rounds: int, latency: float = 12.3456789) -> dict[str, Any]:
    """Its metrics, computed as there."""
    length = output / rounds if rounds else 1.0
    return {
        "latency": latency,
        "output_throughput": output / latency,
        "accept_length": length,
        "accuracy": None,
        "num_questions": 80,
        "num_valid_predictions": 0,
        "categorical_performance": None,
    }


BENCH = {
    "model": "lmsys/sglang-EAGLE3-LLaMA3.1-Instruct-8B",
    "mtbench": [run(0, 0, 0, metric(30001, 0)), run(3, 1, 4, metric(30011, 13457))],
    "gsm8k": [run(0, 0, 0, metric(20001, 0)), run(3, 1, 4, metric(20011, 8001))],
}
SGLANG = {
    "average_acceptance_length": 2.375,
    "backend": "sglang",
    "dataset": "gsm8k",
    "latency_seconds": 1.25,
    "output_tokens": 13,
    "samples": 2,
    "spec_verify_count": 5,
    "throughput_tokens_per_second": 10.4,
}
REPORT = {
    "concurrency": 8,
    "created_at": "2026-09-01T00:00:00+0000",
    "draft_model": "org/draft",
    "model": "org/verifier",
    "sampling": {"temperature": 0.0},
    "runs": [
        {
            "config": {"label": "1,3,1,4", "batch_size": 1, "num_steps": 3, "topk": 1, "num_draft_tokens": 4},
            "task": {"name": "mtbench", "num_samples": 1},
            "metrics": {
                "num_samples": 1,
                "num_requests": 2,
                "output_tokens": 13,
                "latency_seconds": 1.25,
                "throughput_tokens_per_second": 10.4,
                "accept_length": 2.6,
                "spec_verify_count": 5,
                "accuracy": None,
                "num_scored": 0,
            },
        },
        {
            "config": None,
            "task": {"name": "gsm8k"},
            "metrics": {"num_requests": 2, "output_tokens": 13, "accept_length": None, "spec_verify_count": None},
        },
    ],
}
BUNDLE = {
    "Verifier-8B": {
        "gsm8k": {
            "benchmark_name": "gsm8k",
            "results": [
                {
                    "batch_size": 8,
                    "steps": steps,
                    "topk": 1,
                    "num_draft_tokens": steps + 1,
                    "metrics": [
                        {"Name": "Wihtout EAGLE3", "output_throughput": 1000.0, "accept_length": 1.0},
                        {"Name": name, "output_throughput": 1500.5, "accept_length": length},
                    ],
                }
                for steps, name, length in (
                    (3, "org/Draft-Spec for ge", 2.6400593352844486),
                    (5, "org/Draft-Specforge", 3.01),
                )
            ],
        }
    }
}
register("specforge/bench", json.dumps(BENCH, indent=4), json.dumps(BENCH) + "\n")
register("specforge/sglang", json.dumps(SGLANG, indent=2) + "\n", json.dumps(REPORT, indent=2, sort_keys=True) + "\n")
register("specforge/bundle", json.dumps(BUNDLE, indent=4))


def test_bench_has_counts_in_its_digits() -> None:
    """Throughput times latency is the number of tokens, and that over the length the number of rounds; runs without a drafter are none."""
    first, second = tallies(json.dumps(BENCH, indent=4), "specforge/bench")
    assert (first.source, first.completion_tokens, first.rounds) == ("mtbench", 30011, 13457)
    assert (second.source, second.completion_tokens, second.rounds) == ("gsm8k", 20011, 8001)
    assert (first.drafter, first.max_draft_tokens) == (BENCH["model"], 3)
    assert (first.accepted, first.printed) == (None, None)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 10**7), st.integers(1, 10**7), st.floats(0.01, 1e5))
def test_bench_counts_are_those_that_were_there(rounds: int, drafts: int, latency: float) -> None:
    """Whatever the numbers, the counts that made the figures come back, or none."""
    output = rounds + drafts
    text = json.dumps({"model": "m", "mtbench": [run(3, 1, 4, metric(output, rounds, latency))]})
    [event] = tallies(text, "specforge/bench")
    assert event.completion_tokens in (output, None)
    assert event.rounds in (rounds, None)


def test_bench_of_several_settings() -> None:
    """SpecForge#339: longer blocks and trees. Settings are drafters of their own, and figures that were rounded by hand give no counts."""
    runs = [(3, 1, 4, 1.86), (3, 3, 8, 2.20), (7, 4, 16, 2.52), (8, 8, 60, 3.2)]
    whole = {
        "model": "m",
        "mtbench": [
            run(steps, topk, verified, metric(1000, 500) | {"accept_length": length})
            for steps, topk, verified, length in runs
        ],
    }
    events, _ = imported(json.dumps(whole, indent=4), "specforge/bench")
    found = [event for event in events if isinstance(event, TallyEvent)]
    assert [event.printed for event in found] == [
        {"accept_length": "1.86"},
        {"accept_length": "2.2"},
        {"accept_length": "2.52"},
        {"accept_length": "3.2"},
    ]
    assert [event.max_draft_tokens for event in found] == [3, 7, 15, 59]
    assert {event.rounds for event in found} == {None}
    assert len({event.drafter for event in found}) == 4
    header = events[0]
    assert isinstance(header, Trace)
    assert [info.model for info in header.drafters or []] == ["m"] * 4


def test_lengths_of_a_pull_request() -> None:
    """sglang#4247: 5.39 with 8 steps, 4.68 with 5, and 3.76 of another drafter; of a length with two decimals no count is made, but it is kept."""
    whole = {
        "model": "eagle3",
        "mtbench": [
            run(steps, 1, steps + 1, metric(30011, 8001) | {"accept_length": length})
            for steps, length in ((8, 5.39), (5, 4.68), (7, 3.76))
        ],
    }
    events, notes = imported(json.dumps(whole), "specforge/bench")
    found = [event for event in events if isinstance(event, TallyEvent)]
    assert [(event.max_draft_tokens, (event.printed or {})["accept_length"]) for event in found] == [
        (8, "5.39"),
        (5, "4.68"),
        (7, "3.76"),
    ]
    assert {(event.completion_tokens, event.rounds) for event in found} == {(30011, None)}
    assert len(noted(notes, "ratios_alone")) == 3


def test_bench_without_a_launched_server() -> None:
    """Then the setting is null, and stays unknown."""
    [event] = tallies(json.dumps({"model": None, "gsm8k": [run(None, None, None, metric(100, 40))]}), "specforge/bench")
    assert (event.drafter, event.max_draft_tokens, event.rounds) == ("draft", None, 40)


def test_sglang() -> None:
    """Both counts stand there; the printed mean of SGLang's lengths is not what they give, and that is said."""
    events, notes = imported(json.dumps(SGLANG, indent=2), "specforge/sglang")
    [event] = (event for event in events if isinstance(event, TallyEvent))
    assert (event.rounds, event.completion_tokens, event.requests, event.accepted) == (5, 13, 2, None)
    [said] = noted(notes, "printed_differs")
    assert "2.375 printed, a mean of means" in said
    assert "2.6 over all rounds by (G) / (R) = 13 / 5" in said


def test_report() -> None:
    """The runs of a report; one without a drafter is none."""
    events, notes = imported(json.dumps(REPORT), "specforge/sglang")
    [event] = (event for event in events if isinstance(event, TallyEvent))
    assert (event.drafter, event.source) == ("org/draft", "mtbench, batch 1, steps 3, topk 1, verified 4")
    assert (event.rounds, event.completion_tokens, event.requests) == (5, 13, 2)
    assert not notes.counts


def test_bundle() -> None:
    """Lengths without counts are what was printed, and no more; a name in two spellings is told, and stays two."""
    events, notes = imported(json.dumps(BUNDLE, indent=4), "specforge/bundle")
    first, second = (event for event in events if isinstance(event, TallyEvent))
    assert (first.drafter, first.printed) == ("org/Draft-Spec for ge", {"accept_length": "2.6400593352844486"})
    assert (first.rounds, first.accepted, first.completion_tokens, first.max_draft_tokens) == (None, None, None, 3)
    assert first.source == "Verifier-8B, gsm8k, batch 8, steps 3, topk 1, verified 4"
    assert (second.drafter, second.max_draft_tokens) == ("org/Draft-Specforge", 5)
    assert noted(notes, "drafter_respelled") == ["org/Draft-Spec for ge and org/Draft-Specforge"]
    assert noted(notes, "ratios_alone")[1] == "org/Draft-Specforge: 1 interval: accept_length 3.01"


@pytest.mark.skipif(not SHARED, reason="SPECDIAG_SHARED_DATA names no folder")
def test_published_bundle() -> None:
    """440 of its 740 lengths are of a drafter, and one drafter stands there under two names."""
    events, notes = imported((Path(SHARED) / "specforge_spec_bundle_data.json").read_bytes(), "specforge/bundle")
    found = [event for event in events if isinstance(event, TallyEvent)]
    assert len(found) == 440
    assert not any("ihtout" in event.drafter for event in found)
    [said] = noted(notes, "drafter_respelled")
    assert said.count("Llama-3.3-70B") == 2


@pytest.mark.parametrize(
    "change",
    [
        {"accept_length": "2.5"},
        {"accept_length": True},
        {"accept_length": 0.5},
        {"accept_length": -3},
        {"accept_length": 0},
        {"accept_length": 1e308},
        {"accept_length": 2.5, "latency": 0},
        {"accept_length": 2.5, "latency": 1e308, "output_throughput": 1e308},
        {"accept_length": 2.5, "latency": 5e-324, "output_throughput": 5e-324},
    ],
)
def test_bench_figures_that_give_no_counts(change: dict[str, Any]) -> None:
    """Nothing is raised, and no count is made of them."""
    whole = {"model": "m", "a": [run(3, 1, 4, metric(100, 40) | change)], "b": [run(3, 1, 4, metric(100, 40))]}
    found = tallies(json.dumps(whole), "specforge/bench")
    assert [event.rounds for event in found if event.source == "b"] == [40]
    assert not any(event.rounds for event in found if event.source == "a")


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_noise(seed: int) -> None:
    """Cuts and random bytes make nothing up."""
    hold("specforge/bench", json.dumps(BENCH, indent=4), seed, mixes=False)
    hold("specforge/sglang", json.dumps(REPORT, indent=2), seed, mixes=False)
    hold("specforge/bundle", json.dumps(BUNDLE, indent=4), seed, mixes=False)
