"""MLC-LLM's metrics, and the text of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.importers.common import imported, noted, register, tallies
from tests.importers.noise import hold

WORKED = {
    "draft_count": [4, 4, 4, 4],
    "accept_count": [4, 3, 2, 1],
    "accept_prob": {
        "accept_prob{step=0}": 1.0,
        "accept_prob{step=1}": 0.75,
        "accept_prob{step=2}": 0.5,
        "accept_prob{step=3}": 0.25,
    },
    "accept_rate": {"accept_rate{step=1}": 0.75, "accept_rate{step=2}": 0.6666666666666666, "accept_rate{step=3}": 0.5},
    "accept_len": {
        "accept_len{step=0}": 1.0,
        "accept_len{step=1}": 1.75,
        "accept_len{step=2}": 2.25,
        "accept_len{step=3}": 2.5,
    },
}
USAGE = {"usage": {"completion_tokens": 0, "extra": {"completion_tokens_sum": 11, "spec_decode": WORKED}}}
TEXT = """\
# NOTE: these metrics count token in the unit of serving model's tokenization
completion_tokens_sum\t11

# /spec_decode/accept_prob
spec_decode_accept_prob_accept_prob{step=0}\t1.0
spec_decode_accept_prob_accept_prob{step=1}\t0.75
spec_decode_accept_prob_accept_prob{step=2}\t0.5
spec_decode_accept_prob_accept_prob{step=3}\t0.25

# /spec_decode/accept_rate
spec_decode_accept_rate_accept_rate{step=1}\t0.75
spec_decode_accept_rate_accept_rate{step=2}\t0.6666666666666666
spec_decode_accept_rate_accept_rate{step=3}\t0.5

# /spec_decode/accept_len
spec_decode_accept_len_accept_len{step=0}\t1.0
spec_decode_accept_len_accept_len{step=3}\t2.5
"""
register("mlc/metrics", json.dumps(WORKED) + "\n", json.dumps(USAGE) + "\n")
register("mlc/metrics", TEXT)


def test_index_of_mlc_llm_2789() -> None:
    """Position 0 is the verifier's own token: rounds, and no draft; both kinds of rates fit the counts."""
    for value in (WORKED, USAGE):
        events, notes = imported(json.dumps(value), "mlc/metrics")
        (event,) = tallies(json.dumps(value), "mlc/metrics")
        assert (event.rounds, event.accepted, event.proposed, event.reached) == (4, 6, 12, [3, 2, 1])
        assert (event.max_draft_tokens, event.window) == (3, "lifetime")
        assert event.printed
        assert [*event.printed] == [
            "accept_prob[1]",
            "accept_rate[1]",
            "accept_prob[2]",
            "accept_rate[2]",
            "accept_prob[3]",
            "accept_rate[3]",
            "accept_len",
        ]
        assert not notes.counts
        assert events


def test_cut_blocks() -> None:
    """Rounds without a draft count as none; a rate over rounds with a draft at its position is held against these."""
    value = {**WORKED, "draft_count": [5, 4, 4, 3], "accept_count": [5, 3, 2, 1]}
    (event,) = tallies(json.dumps(value), "mlc/metrics")
    assert (event.rounds, event.accepted, event.proposed) == (4, 6, 11)
    assert event.printed
    assert [*event.printed] == [
        "accept_prob[1]",
        "accept_prob[2]",
        "accept_rate[2]",
        "accept_prob[3]",
        "accept_rate[3]",
    ]
    notes = imported(json.dumps(value), "mlc/metrics")[1]
    assert noted(notes, "rounds_without_draft")
    assert noted(notes, "blocks_cut_short")


@pytest.mark.parametrize(
    "change",
    [
        {"accept_count": [4, 3, 2]},
        {"accept_count": [4, 3, 2, 5]},
        {"draft_count": "4"},
        {"accept_count": [3, 3, 2, 1]},
        {"draft_count": [4, True]},
    ],
)
def test_contradictions(change: dict[str, object]) -> None:
    """Lists that cannot be of the same rounds are left out, and said."""
    _, notes = imported(json.dumps([WORKED, {**WORKED, **change}]), "mlc/metrics")
    assert noted(notes, "not_counts")


def test_text() -> None:
    """The text has no counts; its rates are kept as printed."""
    (event,) = tallies(TEXT, "mlc/metrics")
    assert event.rounds is event.accepted is None
    assert event.printed
    assert event.printed["accept_rate[2]"] == "0.6666666666666666"
    assert event.printed["accept_len"] == "2.5"
    assert len(tallies(TEXT * 2, "mlc/metrics")) == 2


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_noise(seed: int) -> None:
    """Cut and damaged input gives nothing that was not written."""
    hold("mlc/metrics", json.dumps(USAGE) + "\n", seed, mixes=False)
