"""TGI's histogram of skipped tokens."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.importers.common import imported, noted, register, tallies
from tests.importers.noise import hold

# One request: prefill's message, then rounds with 0, 1, 3 and 2 accepted tokens.
HISTOGRAM = """\
# TYPE tgi_request_count counter
tgi_request_count 1

# TYPE tgi_request_success counter
tgi_request_success 1

# TYPE tgi_request_skipped_tokens histogram
tgi_request_skipped_tokens_bucket{le="0"} 2
tgi_request_skipped_tokens_bucket{le="1"} 3
tgi_request_skipped_tokens_bucket{le="2"} 4
tgi_request_skipped_tokens_bucket{le="3"} 5
tgi_request_skipped_tokens_bucket{le="+Inf"} 5
tgi_request_skipped_tokens_sum 6
tgi_request_skipped_tokens_count 5
"""
SUMMARY = """\
tgi_request_count 3
tgi_request_success 1
tgi_request_skipped_tokens{quantile="0.5"} 1
tgi_request_skipped_tokens_sum 6
tgi_request_skipped_tokens_count 7
"""
register("tgi/metrics", HISTOGRAM, SUMMARY)


def test_histogram() -> None:
    """The sum is A; the messages of prefill are no rounds; buckets are rounds by position; nothing says D."""
    (event,) = tallies(HISTOGRAM, "tgi/metrics")
    assert (event.rounds, event.accepted, event.proposed, event.requests) == (4, 6, None, 1)
    assert (event.reached, event.window, event.estimated) == ([3, 2, 1], "lifetime", None)


def test_requests_on_their_way() -> None:
    """Where requests are not all done, rounds are known as far as the number of prefills is."""
    (event,) = tallies(SUMMARY, "tgi/metrics")
    assert (event.rounds, event.estimated, event.accepted, event.reached) == (5, {"rounds": 1}, 6, None)


def test_without_requests() -> None:
    """Without their counters, rounds are not known."""
    text = "".join(line + "\n" for line in SUMMARY.splitlines()[2:])
    (event,) = tallies(text, "tgi/metrics")
    assert (event.rounds, event.accepted) == (None, 6)


def test_without_speculation() -> None:
    """Where nothing was accepted, messages may be of a server that drafts nothing: they are no rounds."""
    (event,) = tallies(SUMMARY.replace("_sum 6", "_sum 0"), "tgi/metrics")
    assert (event.rounds, event.accepted) == (None, 0)


def test_no_counts() -> None:
    """A sum that is no count is unreadable."""
    _, notes = imported(SUMMARY + SUMMARY.replace("_sum 6", "_sum NaN"), "tgi/metrics")
    assert len(noted(notes, "report_unreadable")) == 1


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_noise(seed: int) -> None:
    """Cut and damaged input gives nothing that was not written."""
    hold("tgi/metrics", HISTOGRAM, seed, mixes=False)
