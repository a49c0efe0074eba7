"""Rounds from exact sums beside rounded rates."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from specdiag.importers.rounded import bounds, fitted


@st.composite
def windows(draw: st.DrawFn) -> tuple[int, list[int], int]:
    """(R, S_i, D) of some rounds."""
    most, rounds = draw(st.integers(1, 8)), draw(st.integers(1, 3000))
    reached: list[int] = []
    for _ in range(most):
        reached.append(draw(st.integers(0, reached[-1] if reached else rounds)))
    return rounds, reached, draw(st.integers(max(sum(reached), rounds), rounds * most))


@settings(max_examples=150, deadline=None)
@given(windows())
def test_the_true_counts_are_within_what_is_said(window: tuple[int, list[int], int]) -> None:
    """R and each S_i are no further from the truth than their widths; the S_i fall, and add up to A."""
    rounds, reached, proposed = window
    accepted = sum(reached)
    rates = [bounds(f"{number / rounds:.3f}") for number in reached]
    found = fitted(accepted, proposed, rates, bounds(f"{1 + accepted / rounds:.2f}").less(1))
    assert found is not None
    assert abs(found.rounds - rounds) <= found.spread
    assert all(abs(a - b) <= found.reached_spread for a, b in zip(found.reached, reached, strict=True))
    assert sum(found.reached) == accepted
    assert sorted(found.reached, reverse=True) == [*found.reached]


def test_one_number_is_exact() -> None:
    """Where one number of rounds alone gives the figures, it has no width (89 of 975 at K = 15: AEON-7 DFlash, issue 6)."""
    rates = [bounds(text) for text in (".600 .385 .215 .108 .062" + " 0.000" * 10).split()]
    found = fitted(89, 975, rates, bounds("2.37").less(1))
    assert found is not None
    assert (found.rounds, found.reached[:5], found.estimated) == (65, (39, 25, 14, 7, 4), None)


def test_nothing_fits() -> None:
    """Rates of other rounds fit no number; nor do more drafts than full blocks, or a number of rounds that is known to be another."""
    rates = [bounds("0.750"), bounds("0.500"), bounds("0.250")]
    assert fitted(6, 12, rates) is not None
    assert fitted(7, 12, rates) is None
    assert fitted(6, 12, rates[:2]) is None
    assert fitted(6, 12, rates, rounds=5) is None
    assert fitted(6, 12, []) is None


def test_a_window_too_wide_to_search() -> None:
    """Of a huge window the width is given without a search."""
    found = fitted(10**15, 2 * 10**15, [bounds("0.700"), bounds("0.300")])
    assert found is not None
    assert (found.rounds, sum(found.reached)) == (10**15, 10**15)
    assert found.spread > 10**11


def test_drafts_that_a_grammar_ruled_out() -> None:
    """More rounds than proposed drafts are possible, where drafts were taken out before they were judged."""
    found = fitted(80, 95, [bounds("0.800")], bounds("1.80").less(1))
    assert found is not None
    assert (found.rounds, found.estimated) == (100, None)
