"""ExLlama and tabbyAPI: the line of the log, job results, answers."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from specdiag.trace.events import Proposal, Verdict
from tests.importers.common import imported, noted, register, tallies
from tests.importers.noise import hold

LOG = """\
2026-08-19 10:00:00.123 INFO:     Metrics (ID: 0a1b): 10 tokens generated in 0.5 seconds
2026-08-19 10:00:00.124 INFO:     Draft: 6 / 12 tokens accepted (50.00%)
2026-08-19 10:00:01.124 INFO:     Draft: 4 / 9 tokens accepted (44.44%)
"""
JOB = {
    "job": "Generator job #3",
    "stage": "streaming",
    "eos": True,
    "serial": 3,
    "new_tokens": 10,
    "accepted_draft_tokens": 6,
    "rejected_draft_tokens": 6,
}
ROUNDS = [[1, 3, 0], [3, 3, 1, 0.7], [7, 3, 3], [10, 3, 2]]
TABBY = {"gen_tokens": 10, "draft_accept": 6, "draft_reject": 6, "finish_reason": "stop"}
ANSWER = {
    "id": "chatcmpl-1",
    "usage": {
        "completion_tokens": 10,
        "completion_tokens_per_sec": 20.5,
        "completion_tokens_details": {"accepted_prediction_tokens": 6, "rejected_prediction_tokens": 6},
    },
}
register("exllama/tabby-log", LOG)
register(
    "exllama/job", json.dumps(JOB) + "\n", json.dumps({**JOB, "draft_stats": ROUNDS}) + "\n", json.dumps(TABBY) + "\n"
)
register("exllama/response", json.dumps(ANSWER) + "\n")


def test_log() -> None:
    """Accepted and proposed tokens of each request, and no rounds."""
    first, second = tallies(LOG, "exllama/tabby-log")
    assert (first.accepted, first.proposed, first.requests, first.rounds) == (6, 12, 1, None)
    assert (second.accepted, second.proposed, second.printed) == (4, 9, {"accepted": "44.44%"})


def test_log_with_numbers_that_are_none() -> None:
    """Digits without end, and counts that do not give their rate, are unreadable."""
    for line in (f"Draft: {'9' * 3000} / 12 tokens accepted (50.00%)\n", "Draft: 6 / 120 tokens accepted (50.00%)\n"):
        _, notes = imported(LOG + line, "exllama/tabby-log")
        assert len(noted(notes, "report_unreadable")) == 1


def test_job() -> None:
    """Drafted is accepted + rejected, under the names of ExLlama and of tabbyAPI."""
    for job in (JOB, TABBY):
        (event,) = tallies(json.dumps([job]), "exllama/job")
        assert (event.accepted, event.proposed, event.completion_tokens, event.rounds) == (6, 12, 10, None)


def test_rounds_of_a_job() -> None:
    """Recorded rounds become blocks and verdicts, at their places in the output."""
    events, _ = imported(json.dumps({**JOB, "draft_stats": ROUNDS}), "exllama/job")
    blocks = [event for event in events if isinstance(event, Proposal)]
    verdicts = [event for event in events if isinstance(event, Verdict)]
    assert [(block.request, block.round, block.start, block.tokens) for block in blocks] == [
        ("3", number, start, [-1] * 3) for number, start in enumerate((0, 1, 3, 7))
    ]
    assert [verdict.accepted for verdict in verdicts] == [0, 1, 3, 2]
    assert [verdict.next and verdict.next.kind for verdict in verdicts] == [
        "correction",
        "correction",
        "bonus",
        "correction",
    ]


def test_rounds_that_cannot_be() -> None:
    """Rounds with more accepted than drafted tokens, without end, or of another shape are left out; the counters stay."""
    odd: list[Any] = [[[1, 3, 4]], [[1, 2**40, 0]], "x", [1, 2], [[True, 3, 1]], [[9, 3, 3], [2, 3, 0]], [[4, 9, 9]]]
    for stats in odd:
        events, notes = imported(json.dumps({**JOB, "draft_stats": stats}), "exllama/job")
        assert not [event for event in events if isinstance(event, Proposal)]
        assert noted(notes, "report_unreadable")


def test_answer() -> None:
    """Usage of tabbyAPI is read; that of others, who write zeros there, is not."""
    (event,) = tallies(json.dumps(ANSWER), "exllama/response")
    assert (event.accepted, event.proposed, event.completion_tokens, event.request) == (6, 12, 10, "chatcmpl-1")
    other = {**ANSWER, "usage": {**ANSWER["usage"], "completion_tokens_per_sec": None}}  # type: ignore[dict-item]
    del other["usage"]["completion_tokens_per_sec"]  # type: ignore[attr-defined]
    assert not tallies(json.dumps(other), "exllama/response")


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_noise(seed: int) -> None:
    """Cut, interleaved and damaged input gives nothing that was not written."""
    hold("exllama/tabby-log", LOG, seed)
    hold("exllama/job", json.dumps({**JOB, "draft_stats": ROUNDS}) + "\n", seed, mixes=False)
    hold("exllama/response", json.dumps(ANSWER) + "\n", seed, mixes=False)
