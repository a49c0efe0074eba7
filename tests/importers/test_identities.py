"""What the counts of a tally say of each other."""

from __future__ import annotations

from typing import Any

import pytest

from specdiag.importers.fields import count, counts, number_text
from specdiag.importers.identities import readings, told
from specdiag.importers.interface import Found
from specdiag.trace.events import TallyEvent


def tally(**counts: Any) -> TallyEvent:
    return TallyEvent(drafter="draft", window="interval", **counts)


def codes(event: TallyEvent, **options: bool) -> list[str]:
    return [trouble.code for trouble in readings(7, event, **options)]


WORKED = {"rounds": 4, "accepted": 6, "proposed": 12, "max_draft_tokens": 3, "reached": [3, 2, 1]}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (tally(), []),
        (tally(**WORKED, completion_tokens=11, requests=1), []),
        (tally(**WORKED, completion_tokens=9, requests=1), ["output_below_counts"]),
        (tally(**WORKED, completion_tokens=12, requests=1), ["rounds_without_draft"]),
        (tally(rounds=4, accepted=5, proposed=10, max_draft_tokens=3, reached=[3, 1, 1]), ["blocks_cut_short"]),
        (tally(rounds=99, accepted=0, proposed=495, max_draft_tokens=5, reached=[0] * 5), ["padded_rounds"]),
        (tally(rounds=2, accepted=0, proposed=10, max_draft_tokens=5), []),
        (
            tally(rounds=40, accepted=60, proposed=120, max_draft_tokens=3, reached=[40, 20, 0]),
            ["simulated_acceptance"],
        ),
        (tally(rounds=40, accepted=14, proposed=120, max_draft_tokens=3, reached=[14, 0, 0]), []),
        (tally(rounds=40, accepted=120, proposed=120, max_draft_tokens=3, reached=[40, 40, 40]), []),
        (tally(accepted=7, proposed=6), ["not_counts"]),
        (tally(**{**WORKED, "accepted": 7}), ["not_counts"]),
        (tally(**{**WORKED, "rounds": 3}), ["not_counts"]),
        (tally(**{**WORKED, "reached": [1, 2, 3]}), ["not_counts"]),
        (tally(**{**WORKED, "matched": 5}), ["not_counts"]),
    ],
)
def test_readings(event: TallyEvent, expected: list[str]) -> None:
    """Each identity that does not hold has its code; counts that rule each other out have no other reading."""
    assert codes(event) == expected


def test_without_the_token_of_prefill() -> None:
    """Where the first verify round samples the first token, output is accepted tokens and rounds."""
    assert codes(tally(**WORKED, completion_tokens=10, requests=1), prefill_token=False) == []
    assert codes(tally(**WORKED, completion_tokens=10, requests=1)) == ["output_below_counts"]


def test_estimated_rounds_decide_nothing_within_their_width() -> None:
    """A count that may be off by some does not give a reading that its width explains."""
    event = tally(rounds=5, proposed=13, accepted=6, max_draft_tokens=3, completion_tokens=12, estimated={"rounds": 1})
    assert codes(event) == []


def test_contradicting_counts_are_left_out() -> None:
    """`told` gives the event with its readings, or the reason why it is left out."""
    assert [type(item) for item in told(1, tally(**WORKED))] == [Found]
    assert [type(item).__name__ for item in told(1, tally(accepted=7, proposed=6))] == ["Trouble"]


@pytest.mark.parametrize("value", [None, True, -1, 1.5, "3", [1], {}, float("nan"), float("inf"), 2**60, 10**400])
def test_no_count(value: Any) -> None:
    """Whatever is no whole number in range is no count, and nothing raises."""
    assert count(value) is None
    assert counts([1, value]) is None
    assert counts(value if not isinstance(value, list) else None) is None


def test_numbers_as_they_stand() -> None:
    """A float keeps all its digits, and a whole number that was written as a float is a count."""
    assert count(3.0) == 3
    assert counts([1, 2.0]) == [1, 2]
    assert number_text(1.2325581395348837) == "1.2325581395348837"
    assert number_text(True) is None
    assert number_text(float("nan")) is None
