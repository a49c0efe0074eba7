"""LMDeploy's line and counters."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.importers.common import imported, noted, register, tallies
from tests.importers.noise import hold

SPECULATION = (
    "SpecDecoding metrics: Draft acceptance rate: 50.00%, Mean acceptance length: 2.50, Accepted: 6 tokens, Drafted: 12 tokens, "
    "Per-position acceptance rate: 0.750, 0.500, 0.250\n"
)
OLDER = (
    "[2025-10-01 10:00:00 DP0] Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Finished: 1 reqs, "
    "Unfinished: 0 reqs, Running: 0 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.1%, Prefix cache hit rate: 0.0%, "
    + SPECULATION
)
NEWER = (
    "[2026-08-01 10:00:00 Engine 001] Avg thr (in/out): 1.0 / 2.0 tokens/s, Server (succeeded/failed/routed/waiting): 1 / 0 / 0 / 0, "
    "Engine (running/waiting): 0 / 0, KV cache: 0.1%, " + SPECULATION
)
METRICS = """\
# TYPE lmdeploy:spec_decode_num_drafts_total counter
lmdeploy:spec_decode_num_drafts_total{engine="0",model_name="m"} 4.0
lmdeploy:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 12.0
lmdeploy:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 6.0
lmdeploy:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 3.0
lmdeploy:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"} 2.0
lmdeploy:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="2"} 1.0
lmdeploy:spec_decode_mean_accept_rate{engine="0",model_name="m"} 0.5
lmdeploy:spec_decode_mean_accept_length{engine="0",model_name="m"} 2.5
lmdeploy:spec_decode_per_position_accept_rate{engine="0",model_name="m",position="0"} 0.75
"""
register("lmdeploy/log", OLDER, NEWER)
register("lmdeploy/metrics", METRICS)


def test_log() -> None:
    """Both layouts give the same counts, each of its own rank."""
    first, second = tallies(OLDER + NEWER, "lmdeploy/log")
    for event in (first, second):
        assert (event.window, event.rounds, event.accepted, event.proposed) == ("interval", 4, 6, 12)
        assert (event.reached, event.max_draft_tokens, event.estimated) == ([3, 2, 1], 3, None)
    assert (first.source, second.source) == ("engine 0", "engine 1")


def test_vllm_is_another() -> None:
    """A percentage of one decimal is vLLM's: not recognised, and not read."""
    _, notes = imported(OLDER + SPECULATION.replace("50.00%", "50.0%"), "lmdeploy/log")
    assert len(noted(notes, "report_unreadable")) == 1


def test_metrics() -> None:
    """Counters are lifetime counts of their engine; the gauges beside them are printed figures."""
    (event,) = tallies(METRICS, "lmdeploy/metrics")
    assert (event.window, event.source, event.rounds, event.accepted, event.proposed) == ("lifetime", "m 0", 4, 6, 12)
    assert (event.reached, event.max_draft_tokens) == ([3, 2, 1], 3)
    assert event.printed == {
        "Draft acceptance rate": "0.5",
        "Mean acceptance length": "2.5",
        "Per-position acceptance rate[1]": "0.75",
    }


def test_two_scrapes() -> None:
    """Each scrape is a tally."""
    later = METRICS.replace(" 4.0", " 5.0").replace(" 12.0", " 15.0")
    assert [event.rounds for event in tallies(METRICS + later, "lmdeploy/metrics")] == [4, 5]


def test_last_sample_without_an_end() -> None:
    """A number at the end of an input whose line was not ended may have lost digits: it is not read."""
    cut = METRICS[: METRICS.index("6.0\n") + 1]
    assert not tallies(cut, "lmdeploy/metrics")


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_noise(seed: int) -> None:
    """Cut, interleaved and damaged input gives nothing that was not written."""
    hold("lmdeploy/log", OLDER + NEWER, seed)
