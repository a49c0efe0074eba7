"""The table of the eight policies."""

from __future__ import annotations

import pytest

from specdiag.simulate.ablation import FIGURES, Baseline, Row, Spread, ablation, table
from specdiag.simulate.measured import Ratio
from specdiag.simulate.parameters import Parameters
from tests.simulate.pools import with_steps

SEEDS = range(2)


@pytest.fixture(scope="module")
def found() -> tuple[Baseline, list[Row]]:
    """The ablation of a short simulation of the defaults."""
    return ablation(with_steps(6, Parameters()), 50, SEEDS)


def test_a_spread_pools_and_has_its_ends() -> None:
    """Ratios pool by numerators and denominators; a quotient is taken seed by seed; what is absent stays absent."""
    ratios = [Ratio(1, 2), Ratio(3, 10)]
    assert Spread.of(ratios) == Spread(4 / 12, 0.3, 0.5)
    assert Spread.of(ratios, [Ratio(1, 4), Ratio(1, 4)]) == Spread(4 / 12 / 0.25, 1.2, 2.0)
    assert Spread.of([Ratio()]) == Spread(None, None, None)


def test_each_measure_does_what_the_story_says(found: tuple[Baseline, list[Row]]) -> None:
    """Attribution carries the joint rate and the throughput, re-proposal with partition the fallback rate; attribution alone raises fallback."""
    rows = {(r.policy.partition, r.policy.attribution, r.policy.reproposal): r.figures for r in found[1]}

    def of(name: str, *measures: bool) -> float:
        value = rows[measures].__getitem__(name).value  # type: ignore[index]
        assert value is not None
        return value

    assert of("joint", False, True, False) - of("joint", False, False, False) > 0.1
    assert of("joint", True, False, False) - of("joint", False, False, False) < 0.1
    assert of("throughput", True, True, True) > 1.4 * of("throughput", True, False, True)
    assert of("fallback", True, True, True) < 0.25 < of("fallback", True, True, False)
    assert of("fallback", False, True, False) > of("fallback", False, False, False)


def test_the_table_has_a_row_for_each_policy_and_fits(found: tuple[Baseline, list[Row]]) -> None:
    """Eight rows, each with its range over the seeds, named baseline, at most 78 columns."""
    text = table(found[1], found[0], 50, SEEDS)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 78
    assert all(name in lines[0] for name in FIGURES)
    assert sum("–" in line for line in lines) == 8
    assert lines[-1].startswith(found[0].drafter)
    assert "–" not in table(found[1], found[0], 50, [0])
