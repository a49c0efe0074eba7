"""NVIDIA Model-Optimizer: acceptance_rate.json."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdiag.trace.events import TallyEvent
from tests.importers.common import imported, noted, register, tallies
from tests.importers.noise import hold

NAME = "model-optimizer/acceptance"


def result(*turns: list[int], flat: bool = False) -> dict[str, Any]:
    """What is written for these chunks of tokens, each list a turn of one request."""
    histogram: dict[int, int] = {}
    for length in sorted(length for turn in turns for length in turn):
        histogram[length] = histogram.get(length, 0) + 1
    own = [sum(turn) / len(turn) for turn in turns]
    number, left, before = sum(histogram.values()), sum(histogram.values()), 1.0
    conditional, joint, product = {}, {}, 1.0
    for length, many in histogram.items():
        conditional[str(length)] = left / number / before
        before, left = left / number, left - many
        product *= conditional[str(length)]
        joint[str(length)] = product
    return {
        "Request_AL": {str(i): value if flat else {"0": value} for i, value in enumerate(own)},
        **({"Category_AL": {"math": sum(own) / len(own)}} if flat else {}),
        "Average_AL": sum(own) / len(own),
        "Acceptance_Length_Histogram": {str(length): many for length, many in histogram.items()},
        "Conditional_Acceptance_Rate": conditional,
        "Joint_Acceptance_Rate": joint,
    }


ONE = result([1, 1, 2, 4, 3])
TWO = result([1, 1, 2, 4, 3], [1, 1])
register(NAME, json.dumps([ONE, TWO], indent=4), json.dumps([result([1, 1, 2, 4, 3], flat=True)]))


def test_one_turn() -> None:
    """The chunk of prefill is no round: four rounds of 0, 1, 3 and 2 drafts; the printed 2.2 has it, and agrees."""
    assert ONE["Average_AL"] == 2.2
    events, notes = imported(json.dumps([ONE], indent=4), NAME)
    [event] = (event for event in events if isinstance(event, TallyEvent))
    assert (event.rounds, event.accepted, event.reached, event.completion_tokens) == (4, 6, [3, 2, 1], 11)
    assert (event.requests, event.printed, event.definitions) == (1, {"Average_AL": "2.2"}, "model-optimizer")
    assert notes.counts == {"definition_told": 1}
    assert noted(notes, "definition_told") == ["1 of 5 chunks are taken for prefill, one a turn"]


def test_average_of_averages() -> None:
    """With a second turn of one empty round the printed average is that of 2.2 and 1; all chunks give 13 / 7."""
    events, notes = imported(json.dumps([TWO], indent=4), NAME)
    [event] = (event for event in events if isinstance(event, TallyEvent))
    assert (event.rounds, event.accepted, event.requests) == (5, 6, 2)
    [said] = noted(notes, "printed_differs")
    assert said.startswith("Average_AL 1.6 printed, a mean of means")
    assert "1.857 over all rounds by (A + R + n) / (R + n) = 13 / 7" in said


def test_an_average_that_is_none() -> None:
    """A printed average that its own requests do not give, and shares that the histogram does not give, are told."""
    changed = TWO | {"Average_AL": 1.9, "Joint_Acceptance_Rate": {"1": 1.0, "2": 0.9}}
    said = noted(imported(json.dumps([changed]), NAME)[1], "printed_differs")
    assert "Average_AL 1.9 printed, 1.6 by the mean of its requests" in said
    assert "Joint_Acceptance_Rate 2: 0.9 printed, 0.4286 by the histogram" in said


def test_questions_only() -> None:
    """The variants of SpecBench and MT-Bench leave open how many turns there were, so rounds are an estimate; what was accepted is exact."""
    questions = result([1, 1, 2, 4, 3], [1, 3, 3], flat=True)
    events, notes = imported(json.dumps([questions]), NAME)
    [event] = (event for event in events if isinstance(event, TallyEvent))
    assert (event.accepted, event.reached, event.rounds, event.estimated) == (10, [5, 4, 1], 6, {"rounds": 2})
    assert event.requests is None
    assert len(noted(notes, "definition_open")) == 1


def test_prefill_without_a_chunk_of_its_own() -> None:
    """Where fewer chunks of one token are than turns, none is taken for prefill."""
    events, notes = imported(json.dumps([result([3, 4, 2])]), NAME)
    [event] = (event for event in events if isinstance(event, TallyEvent))
    assert (event.rounds, event.accepted, event.printed) == (3, 6, None)
    assert "prefill has no chunks of its own" in noted(notes, "definition_told")[0]


def test_first_releases() -> None:
    """`Request_AR` is of turns without their ends: every chunk is a round."""
    old = {
        "Request_AR": {"0": {"0": 2.0}},
        "Average_AR": 2.0,
        "Acceptance_Length_Histogram": {"1": 1, "2": 1, "3": 1},
        "Conditional_Acceptance_Rate": {"1": 1.0, "2": 0.6666666666666666, "3": 0.5},
    }
    events, notes = imported(json.dumps([old], indent=4), NAME)
    [event] = (event for event in events if isinstance(event, TallyEvent))
    assert (event.rounds, event.accepted, event.completion_tokens) == (3, 3, None)
    assert (event.definitions, event.printed) == ("model-optimizer-trimmed", {"Average_AR": "2.0"})
    assert not notes.counts


@pytest.mark.parametrize(
    "change",
    [
        {"Acceptance_Length_Histogram": {}},
        {"Acceptance_Length_Histogram": [1, 2]},
        {"Acceptance_Length_Histogram": {"1": -1}},
        {"Acceptance_Length_Histogram": {"1": 0}},
        {"Acceptance_Length_Histogram": {"9999999": 1}},
        {"Request_AL": {}},
        {"Request_AL": {"0": {"0": "2"}}},
        {"Request_AL": {"0": {"0": 2.0}, "1": 2.0}},
        {"Request_AL": None},
    ],
)
def test_what_is_no_result(change: dict[str, Any]) -> None:
    """Other types are unreadable."""
    _, notes = imported(json.dumps([ONE | change, TWO]), NAME)
    assert len(noted(notes, "report_unreadable")) == 1


def test_chunks_without_a_token() -> None:
    """They are no rounds: the record is left out."""
    changed = ONE | {"Acceptance_Length_Histogram": {"0": 2, "1": 1}}
    assert len(noted(imported(json.dumps([changed, TWO]), NAME)[1], "not_counts")) == 1
    assert len(tallies(json.dumps([ONE, TWO]), NAME)) == 2


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_noise(seed: int) -> None:
    """Cuts and random bytes make nothing up."""
    hold(NAME, json.dumps([ONE, TWO], indent=4), seed, mixes=False)
