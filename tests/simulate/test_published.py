"""The default parameters come to the published figures."""

from __future__ import annotations

import msgspec
import pytest

from specdiag.errors import UsageError
from specdiag.simulate.ablation import Spread
from specdiag.simulate.parameters import Parameters
from specdiag.simulate.published import Line, check, culprit_found, table

SOME = 150  # requests


def test_the_published_figures_come_out() -> None:
    """Pooled over two seeds of few requests each figure is within its tolerance, and blame names the reasoning drafter."""
    parameters = Parameters()
    against, lines, naive, _ = check(parameters, SOME, range(2))
    for line in lines:
        assert line.measured.value is not None
        slack = 0.1 if line.name.startswith("truncation") else 0.0
        assert line.least <= line.measured.value <= line.most + slack, line
    assert culprit_found(parameters, naive)
    text = table(parameters, against, lines, naive, SOME, range(2)).splitlines()
    assert len(text) == len(lines) + 6
    assert max(map(len, text)) <= 78


def test_one_seed_outside_is_outside() -> None:
    """A figure holds if every seed is within its tolerance; without evidence it does not."""
    assert Line("x", "", 0.1, 0.3, Spread(0.2, 0.1, 0.3)).holds
    assert not Line("x", "", 0.1, 0.3, Spread(0.2, 0.1, 0.31)).holds
    assert not Line("x", "", 0.1, 0.3, Spread(None, None, None)).holds


def test_another_pool_has_no_published_figures() -> None:
    """The check is of the three domains that were published."""
    two = msgspec.structs.replace(Parameters(), drafters=Parameters().drafters[1:])
    with pytest.raises(UsageError, match="published"):
        check(two, 10, [0])
