"""Figures pool by their numerators and denominators, and every round's time is in them."""

from __future__ import annotations

import pytest

from specdiag.report import Rate
from specdiag.simulate.measured import Ratio, pool_figures
from tests.simulate.pools import ENFORCEDLY, NAIVELY, studied


def test_absent_rates_add_nothing() -> None:
    """Missing is never zero."""
    assert Ratio.of(None, Rate("x", None, absent="no evidence")).value is None
    assert Ratio.of(Rate("x", 0.5, 1, 2), None, Rate("x", 0.25, 1, 4)) == Ratio(2, 6)


@pytest.mark.parametrize("scenario", [NAIVELY, ENFORCEDLY], ids=["naive", "enforced"])
def test_speed_covers_every_token_of_the_output(scenario: object) -> None:
    """Tokens of shared rounds, of one drafter's rounds and of the verifier alone are all that were committed."""
    report = studied(ENFORCEDLY if scenario is ENFORCEDLY else NAIVELY)
    own = report.rates["committed_per_round"].numerator
    assert pool_figures(report).speed.top == own
