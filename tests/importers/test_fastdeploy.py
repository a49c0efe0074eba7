"""FastDeploy's `speculate_metrics`."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.importers.common import imported, noted, register, tallies
from tests.importers.noise import hold

# FastDeploy#5947.
THREAD = {
    "accepted_tokens": 128,
    "rejected_tokens": 112,
    "accept_ratio": 0.53125,
    "average_accept_length": 2.1333333333333333,
    "accepted_tokens_per_head": [60, 36, 23, 9],
    "accept_ratio_per_head": [0.6, 0.6388888888888888, 0.391304347826087],
}
# Without the counts by head, as before that.
OLDER = {
    "accepted_tokens": 167,
    "rejected_tokens": 29,
    "accept_ratio": 0.4131736526946108,
    "average_accept_length": 1.7040816326530612,
    "accept_ratio_per_head": [0.7040816326530612],
}
NGRAM = {
    "accepted_tokens": 100,
    "rejected_tokens": 314,
    "accept_ratio": 0.31000000000000005,
    "average_accept_length": 1.4492753623188406,
    "accepted_tokens_per_head": [69, 13, 9, 3, 3, 3],
    "accept_ratio_per_head": [0.18840579710144928, 0.6923076923076923, 0.3333333333333333, 1.0, 1.0],
}


def answer(metrics: dict[str, object], tokens: int = 128) -> str:
    return json.dumps(
        {"id": "xxx", "choices": [{"index": 0, "speculate_metrics": metrics}], "usage": {"completion_tokens": tokens}}
    )


register(
    "fastdeploy/response",
    answer(THREAD) + "\n",
    answer(OLDER, 167) + "\n",
    f"data: {answer(NGRAM, 100)}\n\ndata: [DONE]\n",
)


def test_thread_36() -> None:
    """Accepted tokens hold the verifier's own: 68 of 180 drafts in 60 rounds, and every printed figure fits."""
    (event,) = tallies(answer(THREAD), "fastdeploy/response")
    assert (event.rounds, event.accepted, event.proposed, event.max_draft_tokens) == (60, 68, 180, 3)
    assert (event.reached, event.completion_tokens, event.request) == ([36, 23, 9], 128, "xxx")
    assert event.printed
    assert event.printed["accept_ratio_per_head[2]"] == "0.6388888888888888"
    assert not imported(answer(THREAD), "fastdeploy/response")[1].counts


@pytest.mark.parametrize(
    ("metrics", "rounds", "accepted", "most", "reached"),
    [(OLDER, 98, 69, 1, [69]), (NGRAM, 69, 31, 5, [13, 9, 3, 3, 3])],
)
def test_other_layouts(metrics: dict[str, object], rounds: int, accepted: int, most: int, reached: list[int]) -> None:
    """Without counts by head, rounds follow from ratios that have all their digits."""
    (event,) = tallies(json.dumps({"speculate_metrics": metrics}), "fastdeploy/response")
    assert (event.rounds, event.accepted, event.max_draft_tokens, event.reached) == (rounds, accepted, most, reached)


def test_worked_example() -> None:
    """γ = 3, accepted 0, 1, 3, 2."""
    metrics = {
        "accepted_tokens": 10,
        "rejected_tokens": 6,
        "accept_ratio": 0.6,
        "accepted_tokens_per_head": [4, 3, 2, 1],
    }
    (event,) = tallies(answer(metrics, 10), "fastdeploy/response")
    assert (event.rounds, event.accepted, event.proposed, event.reached) == (4, 6, 12, [3, 2, 1])


@pytest.mark.parametrize(
    "change",
    [
        {"accepted_tokens": 129},
        {"rejected_tokens": 113},
        {"accepted_tokens_per_head": [60, 36, 23, 10]},
        {"accepted_tokens_per_head": [60, 36, 23, 5, 4]},
        {"accepted_tokens": True},
        {"rejected_tokens": -1},
        {"average_accept_length": 1e-300},
    ],
)
def test_contradictions(change: dict[str, object]) -> None:
    """Numbers that rule each other out give no tally, and say so."""
    _, notes = imported(answer(THREAD) + "\n" + answer({**THREAD, **change}), "fastdeploy/response")
    assert len(noted(notes, "not_counts")) == 1


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_noise(seed: int) -> None:
    """Cut and damaged input gives nothing that was not written."""
    hold("fastdeploy/response", answer(THREAD) + "\n" + answer(OLDER, 167) + "\n", seed, mixes=False)
