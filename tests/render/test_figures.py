"""How figures are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdiag.render.bars import ASCII
from specdiag.render.figures import count, figure, interval, number, percent, ratio, short
from specdiag.report import Rate


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.000"),
        (-0.0, "0.000"),
        (0.0001, "0.001"),
        (-0.0001, "-0.001"),
        (0.9997, "0.999"),
        (1.0, "1.000"),
        (1.0002, "1.001"),
        (0.19, "0.190"),
        (3.92, "3.920"),
        (46.351, "46.35"),
        (12345.67, "12,345.7"),
    ],
)
def test_a_value_is_shown_as_0_or_1_only_where_it_is(value: float, shown: str) -> None:
    """Rounding never makes nothing out of little, or all out of nearly all."""
    assert number(value) == shown


@given(st.floats(-1, 1))
def test_rounding_never_reaches_an_edge(value: float) -> None:
    """For any value, 0.000 and 1.000 mean 0 and 1, up to the rounding error of a sum."""
    shown = float(number(value))
    assert shown not in (0.0, 1.0, -1.0) or abs(value - shown) < 1e-9
    assert abs(shown - value) <= 0.0011


def test_differences_carry_their_sign() -> None:
    """A gain and a loss do not look alike."""
    assert figure(Rate("joint_change", 0.05)) == "+0.050"
    assert interval(Rate("interaction", -0.18, low=-0.19, high=0.01)) == "-0.190 to +0.010"


def test_sources_are_told_apart() -> None:
    """A recorded, a recomputed and an estimated value carry different marks."""
    shown = [figure(Rate("r", 0.5, source=source)) for source in ("recorded", "recomputed", "estimated")]
    assert shown == ["0.500", "*0.500", "~0.500"]


def test_missing_is_not_zero() -> None:
    """A missing value is a dash, and has neither interval nor counts."""
    missing = Rate("r", None, absent="no verdict")
    assert figure(missing) == figure(None) == "—"
    assert figure(missing, ASCII) == "--"
    assert (interval(missing), ratio(missing)) == ("", "")


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        (Rate("r", 0.19, low=0.178, high=0.203, interval="poisson_bootstrap"), "0.178–0.203"),
        (Rate("r", 0.19, low=0.178, high=0.203, interval="poisson_bootstrap_repeats"), "0.178–0.203r"),
        (Rate("r", 0.19, low=0.178, high=0.203, interval="wilson_rounds"), "0.178–0.203w"),
        (Rate("r", 0.0, low=0.0, high=0.0043, interval="exact_one_sided"), "≤ 0.004"),
        (Rate("r", 0.0, low=None, high=0.0043, interval="exact_one_sided"), "≤ 0.004"),
        (Rate("r", 1.0, low=0.9957, high=1.0, interval="exact_one_sided"), "≥ 0.996"),
        (Rate("r", 1.0, low=0.9957, high=None, interval="exact_one_sided"), "≥ 0.996"),
        (Rate("r", 0.0, interval="exact_one_sided"), ""),
        (Rate("r", 0.19), ""),
    ],
)
def test_intervals_say_how_they_were_found(rate: Rate, shown: str) -> None:
    """The usual interval has no mark; the widened, the too narrow and the one-sided ones do."""
    assert interval(rate) == shown


def test_counts_have_separators_and_shrink_only_where_they_must() -> None:
    """numerator/denominator is exact while it fits."""
    rate = Rate("r", 0.1, 1_234_567, 12_345_678)
    assert ratio(rate) == "1,234,567/12,345,678"
    assert ratio(rate, 16) == "1234567/12345678"
    assert ratio(rate, 12) == "1.23M/12.3M"
    assert count(46.4) == "46.4"
    assert count(1665.2) == "1,665"


@given(st.integers(0, 10**14))
def test_short_counts_are_short(n: int) -> None:
    """Any count up to 10**14 has at most five characters."""
    assert len(short(n)) <= 5


def test_levels() -> None:
    """A confidence level is not rounded to 100%."""
    assert (percent(0.95), percent(0.999)) == ("95%", "99.9%")
