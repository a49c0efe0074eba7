"""ATOM's two lines."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.importers.common import imported, noted, register, tallies
from tests.importers.noise import hold

WORKED = (
    "[atom 14:45:50] [MTP Stats Interval] Average toks/fwd: 2.50, Accepted/Total Draft tokens: 6/12, Acceptance rate: 50.00%, "
    "Accepted tokens distribution: {0: '25.00%', 1: '25.00%', 2: '25.00%', 3: '25.00%'}\n"
)
# The figures that a user gave in ATOM#560.
THREAD = """\
[atom 14:45:50] [MTP Stats Interval] Average toks/fwd: 1.73, Accepted/Total Draft tokens: 727/1000, Acceptance rate: 72.70%, \
Accepted tokens distribution: {0: '27.30%', 1: '72.70%'}
[atom 14:45:50] [MTP Stats         ] Average toks/fwd: 1.70, Accepted/Total Draft tokens: 64982/93000, Acceptance rate: 69.87%, \
Accepted tokens distribution: {0: '30.13%', 1: '69.87%'}
"""
register("atom/log", WORKED, THREAD)


def test_worked_example() -> None:
    """Rounds follow from full blocks, rounds by position from the shares."""
    (event,) = tallies(WORKED, "atom/log")
    assert (event.window, event.rounds, event.proposed, event.accepted) == ("interval", 4, 12, 6)
    assert (event.reached, event.max_draft_tokens, event.estimated) == ([3, 2, 1], 3, None)


def test_interval_and_lifetime() -> None:
    """The figures of ATOM#560 come out exactly, in their windows, and what was printed fits them."""
    interval, lifetime = tallies(THREAD, "atom/log")
    assert (interval.window, interval.rounds, interval.accepted, interval.reached) == ("interval", 1000, 727, [727])
    assert (lifetime.window, lifetime.rounds, lifetime.accepted, lifetime.reached) == (
        "lifetime",
        93000,
        64982,
        [64982],
    )
    assert lifetime.printed == {"Average toks/fwd": "1.70", "Acceptance rate": "69.87%"}
    assert lifetime.estimated is None


def test_wide_windows_are_estimated() -> None:
    """Where shares of two decimals leave several numbers of rounds by position, these are estimates; the other counts are not."""
    line = (
        "[MTP Stats         ] Average toks/fwd: 2.68, Accepted/Total Draft tokens: 893967/1596000, Acceptance rate: 56.01%, "
        "Accepted tokens distribution: {0: '19.45%', 1: '24.52%', 2: '24.58%', 3: '31.45%'}\n"
    )
    (event,) = tallies(line, "atom/log")
    assert (event.rounds, event.accepted, event.estimated and [*event.estimated]) == (532000, 893967, ["reached"])
    assert sum(event.reached or []) == 893967


def test_figures_that_do_not_fit_are_unreadable() -> None:
    """A line whose counts do not give its own rate is two lines in one."""
    _, notes = imported(THREAD + WORKED.replace("6/12", "16/12"), "atom/log")
    assert len(noted(notes, "report_unreadable")) == 1


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_noise(seed: int) -> None:
    """Cut, interleaved and damaged lines give nothing that was not written."""
    hold("atom/log", WORKED + THREAD, seed)
