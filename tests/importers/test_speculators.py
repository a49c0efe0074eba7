"""speculators: acceptance.csv, and the table of sweeps."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdiag.trace.events import TallyEvent
from tests.importers.common import imported, noted, register, tallies
from tests.importers.noise import hold

NAME = "speculators/acceptance-csv"
HEADER = "subset,num_drafts,num_draft_tokens,num_accepted_tokens,acceptance_length,acceptance_at_pos_0,acceptance_at_pos_1,acceptance_at_pos_2\n"
FIRST = "HumanEval,4.0,12.0,6.0,2.5,0.75,0.5,0.25\n"
SECOND = f"math,43.0,129.0,10.0,{1 + 10 / 43},{4 / 43},{3 / 43},{3 / 43}\n"
SWEEP = "subset,strategy,target_rate,rps_median,total_output_tokens," + HEADER.partition(",")[2]
ROW = "HumanEval,constant,1.5,0.5,1000," + FIRST.partition(",")[2]
register(NAME, HEADER + FIRST + SECOND, SWEEP + ROW)


def test_acceptance() -> None:
    """The shares of all rounds are whole numbers of rounds again, and the printed length agrees."""
    events, notes = imported(HEADER + FIRST + SECOND, NAME)
    first, second = (event for event in events if isinstance(event, TallyEvent))
    assert (first.rounds, first.proposed, first.accepted, first.reached) == (4, 12, 6, [3, 2, 1])
    assert (first.source, first.max_draft_tokens, first.printed) == ("HumanEval", 3, {"acceptance_length": "2.5"})
    assert (second.rounds, second.accepted, second.reached) == (43, 10, [4, 3, 3])
    assert not notes.counts


def test_a_sweep_says_the_same_in_every_row() -> None:
    """The counters are those of the whole server: rows that agree count once."""
    events, notes = imported(SWEEP + ROW + ROW.replace("1.5", "3.0") + ROW.replace("4.0,12", "5.0,15"), NAME)
    assert [event.rounds for event in events if isinstance(event, TallyEvent)] == [4, 5]
    assert len(noted(notes, "duplicate_line")) == 1
    assert len(noted(notes, "report_unreadable")) == 0


def test_quoted_names_and_a_header_again() -> None:
    """A subset may hold a comma and a line end; a file that was put behind begins with its header."""
    text = HEADER + FIRST.replace("HumanEval", '"Human,\nEval"') + HEADER + SECOND
    found = tallies(text, NAME)
    assert [event.source for event in found] == ["Human,\nEval", "math"]
    assert [event.line for event in found] == [3, 5]


def test_rounded_shares() -> None:
    """Shares that somebody rounded give rounds by position where one whole number fits, else they are printed figures."""
    [event] = tallies(HEADER + "a,43,129,10,1.23,0.093,0.07,0.07\n", NAME)
    assert event.reached == [4, 3, 3]
    [event] = tallies(HEADER + "a,43000,129000,10000,1.23,0.093,0.07,0.07\n", NAME)
    assert event.reached is None
    assert event.printed == {
        "acceptance_length": "1.23",
        "acceptance_at_pos[1]": "0.093",
        "acceptance_at_pos[2]": "0.07",
        "acceptance_at_pos[3]": "0.07",
    }


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("a,-4.0,12.0,6.0,2.5,0.75,0.5,0.25\n", "no_count"),
        ("a,nan,12.0,6.0,2.5,0.75,0.5,0.25\n", "no_count"),
        ("a,4.5,12.0,6.0,2.5,0.75,0.5,0.25\n", "no_count"),
        ("a,4.0,12.0,6.0\n", "report_unreadable"),
        ("a,4.0,12.0,6.0,2.5,0.75,0.5,0", "report_unreadable"),
        ("a,4.0,5.0,6.0,2.5,0.75,0.5,0.25\n", "not_counts"),
        ("a,4.0,12.0,7.0,2.75,0.75,0.5,0.25\n", "not_counts"),
        ("a,4.0,12.0,6.0,2.5,0.5,0.75,0.25\n", "not_counts"),
    ],
)
def test_rows_that_hold_no_counts(row: str, code: str) -> None:
    """They are left out, with the reason."""
    events, notes = imported(HEADER + SECOND + row, NAME)
    assert sum(isinstance(event, TallyEvent) for event in events) == 1
    assert len(noted(notes, code)) == 1


def test_no_rounds() -> None:
    """A subset without a draft has counts of zero, and no length of zero."""
    [event] = tallies(HEADER + "a,0.0,0.0,0.0,0,0,0,0\n", NAME)
    assert (event.rounds, event.accepted, event.printed) == (0, 0, None)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_noise(seed: int) -> None:
    """Cuts and random bytes make nothing up."""
    hold(NAME, HEADER + FIRST + SECOND, seed, mixes=False)
