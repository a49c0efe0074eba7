"""LM Studio's statistics of a prediction."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.importers.common import imported, noted, register, tallies
from tests.importers.noise import hold

SDK: dict[str, Any] = {
    "stopReason": "eosFound",
    "predictedTokensCount": 10,
    "usedDraftModelKey": "small",
    "totalDraftTokensCount": 14,
    "acceptedDraftTokensCount": 6,
    "rejectedDraftTokensCount": 6,
    "ignoredDraftTokensCount": 2,
}
# Figures that users pasted, of the REST interface of 0.3.10 and of a later release.
REST: dict[str, Any] = {
    "id": "chatcmpl-a",
    "usage": {"completion_tokens": 60},
    "stats": {
        "draft_model": "llama-3.2-1b-instruct",
        "total_draft_tokens_count": 90,
        "accepted_draft_tokens_count": 41,
        "rejected_draft_tokens_count": 49,
        "ignored_draft_tokens_count": 0,
    },
}
LATER: dict[str, Any] = {
    "id": "chatcmpl-b",
    "usage": {
        "completion_tokens": 300,
        "total_draft_tokens_count": 492,
        "accepted_draft_tokens_count": 176,
        "rejected_draft_tokens_count": 316,
    },
    "stats": {"stop_reason": "maxPredictedTokensReached"},
}
register("lm-studio/stats", json.dumps(SDK) + "\n", json.dumps(REST, indent=1) + "\n", json.dumps(LATER) + "\n")


@pytest.mark.parametrize(
    ("value", "accepted", "proposed", "output", "drafter"),
    [
        (SDK, 6, 12, 10, "small"),
        ({"content": "…", "stats": SDK}, 6, 12, 10, "small"),
        (REST, 41, 90, 60, "llama-3.2-1b-instruct"),
        (LATER, 176, 492, 300, "draft"),
    ],
)
def test_layouts(value: dict[str, Any], accepted: int, proposed: int, output: int, drafter: str) -> None:
    """Proposed is accepted + rejected: what was ignored never came to the verifier."""
    (event,) = tallies(json.dumps(value), "lm-studio/stats")
    assert (event.accepted, event.proposed, event.completion_tokens) == (accepted, proposed, output)
    assert (event.drafter, event.rounds, event.requests) == (drafter, None, 1)


def test_missing_counts() -> None:
    """Without the rejected ones they follow from the others; without the ignored ones, too, proposed tokens are not known."""
    rest = {name: number for name, number in SDK.items() if name != "rejectedDraftTokensCount"}
    assert tallies(json.dumps(rest), "lm-studio/stats")[0].proposed == 12
    del rest["ignoredDraftTokensCount"]
    assert tallies(json.dumps(rest), "lm-studio/stats")[0].proposed is None


def test_contradictions() -> None:
    """A total that its parts do not give is left out, and said."""
    _, notes = imported(
        json.dumps([SDK, {**SDK, "totalDraftTokensCount": 15}, {**SDK, "acceptedDraftTokensCount": "6"}]),
        "lm-studio/stats",
    )
    assert len(noted(notes, "not_counts")) == 2


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_noise(seed: int) -> None:
    """Cut and damaged input gives nothing that was not written."""
    hold("lm-studio/stats", "".join(json.dumps(value) + "\n" for value in (SDK, REST, LATER)), seed, mixes=False)
