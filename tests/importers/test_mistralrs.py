"""mistral.rs: its line and counters."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.importers.common import imported, noted, register, tallies
from tests.importers.noise import hold

START = "2026-08-01T10:00:00Z  INFO mistralrs_core::engine::logger: Throughput (T/s) 2.00 (prefill 0.00, decode 2.00), Prefix cache hitrate 0.00%, "
OLDER = START + "MTP accept 50.0% (len 2.50), 1 running, 0 waiting\n"
NEWER = START + "MTP accept 50.0% (len 2.50, depth 3.0), 1 running, 0 waiting\n"
METRICS = """\
# TYPE mistralrs_speculative_drafts_total counter
mistralrs_speculative_drafts_total 4

# TYPE mistralrs_speculative_draft_tokens_proposed_total counter
mistralrs_speculative_draft_tokens_proposed_total 12

# TYPE mistralrs_speculative_draft_tokens_accepted_total counter
mistralrs_speculative_draft_tokens_accepted_total 6

# TYPE mistralrs_speculative_draft_tokens_accepted_per_pos_total counter
mistralrs_speculative_draft_tokens_accepted_per_pos_total{position="2"} 1
mistralrs_speculative_draft_tokens_accepted_per_pos_total{position="0"} 3
mistralrs_speculative_draft_tokens_accepted_per_pos_total{position="1"} 2
"""
register("mistralrs/log", OLDER, NEWER)
register("mistralrs/metrics", METRICS)


def test_log() -> None:
    """The line has rates alone: they are kept as printed, and no count is made of them."""
    first, second = tallies(OLDER + NEWER, "mistralrs/log")
    assert first.printed == {"MTP accept": "50.0%", "len": "2.50"}
    assert second.printed == {"MTP accept": "50.0%", "len": "2.50", "depth": "3.0"}
    assert first.rounds is first.accepted is first.proposed is None


def test_torn_line() -> None:
    """A line that lost its end, or whose figures are of two lines, is unreadable."""
    for torn in (NEWER[:-12] + "\n", OLDER.replace("50.0%", "250.0%"), NEWER.replace("2.50", "2.60")):
        _, notes = imported(OLDER + torn, "mistralrs/log")
        assert len(noted(notes, "report_unreadable")) == 1


def test_metrics() -> None:
    """Counters are lifetime counts; positions may come in any order, and the length of a full block is not said."""
    (event,) = tallies(METRICS, "mistralrs/metrics")
    assert (event.rounds, event.accepted, event.proposed, event.reached) == (4, 6, 12, [3, 2, 1])
    assert (event.window, event.max_draft_tokens) == ("lifetime", None)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_noise(seed: int) -> None:
    """Cut, interleaved and damaged input gives nothing that was not written."""
    hold("mistralrs/log", NEWER * 2, seed)
    hold("mistralrs/log", OLDER, seed, mixes=False)
    hold("mistralrs/metrics", METRICS, seed, mixes=False)
