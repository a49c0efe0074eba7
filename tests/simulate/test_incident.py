"""Exact figures of the mechanism, worked out by hand, against what `analyze` finds in the simulated events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from specdiag.analysis import analyze
from specdiag.errors import UsageError
from specdiag.files import written
from specdiag.simulate.incident import LONGEST_ALONE, Alone, Scenario, expected_alone, fastest_block, trace
from specdiag.simulate.measured import alone_figures, report_on
from specdiag.simulate.parameters import Parameters
from tests.simulate.pools import ENFORCEDLY, NAIVELY, OWN, STUDY, events, studied, with_steps

NAIVE_REACH = (0.4785, 0.3805, 0.1691, 0.1030, 0.0199, 0.0048)
"""Chance that a naive prefix of the study is accepted up to each of its positions, by enumeration."""


def naive_reach(parameters: Parameters) -> list[float]:
    """The same by the product of the conditional acceptances, over domains and request effects."""
    total = np.zeros(6)
    code, prose, reason = parameters.drafters
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    for domain in parameters.drafters:
        order = [reason, code, prose] if domain is code else [reason, prose, code]
        for node, weight in zip(nodes, weights / weights.sum(), strict=True):

            def moved(h: float, node: float = node) -> float:
                return float(1 / (1 + (1 - h) / h * np.exp(-node * parameters.request_sd)))

            factors = []
            for place, d in enumerate(order):
                ordinary = moved(d.on_domain if d is domain else d.off_domain)
                thinking = moved(d.thinking_on if d is domain else d.thinking_off)
                first = d.thinking * thinking + (1 - d.thinking) * ordinary
                factors += [first * (1 - parameters.splice * (place == 1)), ordinary]
            total += domain.share * weight * np.cumprod(factors)
    return total.tolist()


def test_the_naive_prefix_has_its_exact_reach() -> None:
    """By hand, by enumeration, and on the events: joint acceptance is the mean reach, fallback the refusal before the second block."""
    exact = naive_reach(STUDY)
    assert exact == pytest.approx(NAIVE_REACH, abs=1e-3)
    report = studied(NAIVELY)
    assert report.shared is not None
    assert report.consensus is not None
    reach = [position.reach.value for position in report.shared.positions]
    assert reach == pytest.approx(exact, abs=0.02)
    assert report.shared.rates["joint_acceptance"].value == pytest.approx(sum(exact) / 6, abs=0.01)
    assert report.consensus.fallback_rate.value == pytest.approx(1 - exact[2], abs=0.015)


@pytest.mark.parametrize(("drafter", "exact"), [(0, 0.682), (1, 0.609), (2, 0.541)])
def test_a_drafter_alone_has_its_exact_acceptance(drafter: int, exact: float) -> None:
    """Accepted / proposed of blocks of six on the own domain is the mean reach, and comes out of the events."""
    assert expected_alone(STUDY, drafter, 6, domain=drafter).mean() == pytest.approx(exact, abs=1e-3)
    found = alone_figures(studied(OWN)).acceptance[STUDY.ids[drafter]].value
    assert found == pytest.approx(exact, abs=0.035)


@pytest.mark.parametrize("scenario", [NAIVELY, ENFORCEDLY])
def test_length_is_accepted_plus_refused_plus_depth(scenario: object) -> None:
    """Per shared round: n = accepted + P(refusal) + depth, exactly."""
    shared = studied(ENFORCEDLY if scenario is ENFORCEDLY else NAIVELY).shared
    assert shared is not None
    assert shared.fates.submitted == shared.fates.accepted + shared.truncating_rounds + shared.depth_tokens
    assert shared.fates.unjudged == 0


def test_blame_finds_the_reasoning_drafter_where_averages_hide_it() -> None:
    """On the naive prefix its refusals drop most tokens by far, at the first position; yet it is accepted more often than any, where judged."""
    report = studied(NAIVELY)
    assert report.blame is not None
    assert report.blame.drafters[0] == "reason_7b"
    assert report.blame.row_totals[0] > 2 * sum(report.blame.row_totals[1:])
    assert "reason_7b, most often at position 1" in report.headline.sentence
    rates = {d.id: d.views["all"].rates["draft_acceptance"].value or 0 for d in report.drafters}
    assert max(rates, key=lambda name: rates[name]) == "reason_7b"


def test_policies_meet_the_same_requests_under_the_same_parameters(tmp_path: Path) -> None:
    """Headers differ in name and in the label that says the measures; the requests are the same."""
    seen = []
    for scenario in (NAIVELY, ENFORCEDLY):
        path = tmp_path / "t.jsonl"
        written(path, trace(with_steps(2), scenario, 30, 0))
        found = events(path)
        headers = [event for event in found if event["type"] == "trace"]
        kept = [{k: v for k, v in header.items() if k not in ("trace_id", "labels")} for header in headers]
        domains = [header["labels"]["domain"] for header in headers]  # type: ignore[index]
        requests = list(dict.fromkeys(event["request"] for event in found if "request" in event))
        seen.append((kept, domains, requests))
    assert seen[0] == seen[1]
    assert len(seen[0][2]) == 30


def test_the_fastest_block_is_the_fastest() -> None:
    """No other length makes more tokens per second on the events, beyond chance."""
    best = fastest_block(STUDY, 0)
    assert 1 < best < LONGEST_ALONE
    speeds = {
        block: alone_figures(report_on(STUDY, Alone(False, block), 120, 0)).speed["code_1.5b"].value or 0
        for block in (2, best, LONGEST_ALONE)
    }
    assert max(speeds, key=lambda block: speeds[block]) == best


@pytest.mark.parametrize(("requests", "seed"), [(0, 0), (10**9, 0), (10, -1)])
def test_impossible_numbers_are_refused(requests: int, seed: int) -> None:
    """No requests, too many, a negative seed."""
    with pytest.raises(UsageError):
        next(trace(STUDY, NAIVELY, requests, seed))


def test_simulations_can_be_analyzed_together(tmp_path: Path) -> None:
    """No header continues another one's trace: tokens of two policies and of the drafters alone add up, without a note."""
    paths: list[str] = []
    scenarios: list[Scenario] = [NAIVELY, ENFORCEDLY, OWN]
    for number, scenario in enumerate(scenarios):
        paths.append(str(tmp_path / f"{number}.jsonl"))
        written(Path(paths[-1]), trace(with_steps(2), scenario, 20, 0))
    together = analyze(paths)
    assert together.integrity == []
    assert together.fates.proposed == sum(analyze(path).fates.proposed for path in paths)
    assert len({header.trace_id for header in together.traces}) == 9
