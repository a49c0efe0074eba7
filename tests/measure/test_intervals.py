"""Intervals hold what they promise."""

from __future__ import annotations

import numpy as np
import pytest

from specdiag.measure.intervals import Rates, wilson
from specdiag.measure.weights import poisson_weights
from specdiag.trace.blocks import key_of


def keys(count: int, run: int = 0) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Keys of so many requests."""
    return np.array([key_of(f"{run}/{i}") for i in range(count)], np.uint64)


def test_weights_are_poisson_of_mean_one() -> None:
    """Over many requests and replicates the weights have the mean, variance and share of zeros of Poisson(1)."""
    weights = poisson_weights(keys(2000), 200, seed=1)
    assert weights.mean() == pytest.approx(1, abs=0.01)
    assert weights.var() == pytest.approx(1, abs=0.01)
    assert (weights == 0).mean() == pytest.approx(np.exp(-1), abs=0.005)


def test_weights_depend_on_the_request_alone() -> None:
    """A request has the same weights whatever else is in the shard; another seed gives others."""
    some = keys(5)
    assert (poisson_weights(some, 50, 3)[2] == poisson_weights(some[2:3], 50, 3)[0]).all()
    assert (poisson_weights(some, 50, 3) != poisson_weights(some, 50, 4)).any()


def test_wilson_has_its_published_value() -> None:
    """Wilson's interval of 15 of 148 at 95 % is .0624 to .1605 (Newcombe 1998, Table I, method 3)."""
    assert wilson(15 / 148, 148, 0.95) == pytest.approx((0.0624, 0.1605), abs=5e-5)


def test_none_of_n_has_an_upper_bound() -> None:
    """0 accepted of 692 is reported with its one-sided bound 1 - 0.05^(1/692) = 0.43 %, never as an interval of nothing."""
    rate = Rates(50, 200).rate("draft_acceptance", np.zeros(201), np.full(201, 692.0))
    assert (rate.value, rate.low, rate.interval) == (0, 0, "exact_one_sided")
    assert rate.high == pytest.approx(1 - 0.05 ** (1 / 692))


def test_few_requests_get_wilson_on_rounds() -> None:
    """Below ten requests there is no bootstrap: a share gets Wilson's interval on rounds, another ratio none."""
    few = Rates(9, 200)
    share = few.rate("draft_acceptance", np.full(201, 30.0), np.full(201, 100.0), rounds=25)
    assert share.interval == "wilson_rounds"
    assert (share.low, share.high) == pytest.approx(wilson(0.3, 25, 0.95))
    length = few.rate("acceptance_length", np.full(201, 30.0), np.full(201, 25.0), proportion=False)
    assert (length.low, length.high, length.interval) == (None, None, None)


def test_missing_is_not_zero() -> None:
    """Without a denominator there is no value, only the reason."""
    rate = Rates(50, 10).rate("joint_acceptance", np.zeros(11), np.zeros(11), absent="not observed")
    assert (rate.value, rate.numerator, rate.absent) == (None, None, "not observed")


def test_bootstrap_over_requests_covers_what_tokens_do_not() -> None:
    """With a strong request effect the 95 % interval over 60 requests covers the truth in at least 90 of 100 runs; Wilson on tokens in
    fewer than 60: the reason for resampling requests."""
    generator = np.random.default_rng(5)
    covered, naive = 0, 0
    logit = generator.normal(0, 1, 200_000)
    truth = float(np.mean(1 / (1 + np.exp(-logit))))
    for run in range(100):
        chance = 1 / (1 + np.exp(-generator.normal(0, 1, 60)))
        submitted = np.full(60, 60)
        accepted = generator.binomial(submitted, chance)
        weights = np.concatenate([np.ones((60, 1)), poisson_weights(keys(60, run), 200, 0)], axis=1)
        rate = Rates(60, 200).rate("draft_acceptance", accepted @ weights, submitted @ weights)
        assert rate.low is not None
        assert rate.high is not None
        covered += rate.low <= truth <= rate.high
        low, high = wilson(accepted.sum() / submitted.sum(), float(submitted.sum()), 0.95)
        naive += low <= truth <= high
    assert covered >= 90
    assert naive < 60


def test_repeats_widen_the_interval() -> None:
    """Four copies of each request widen the interval by two, its width being that of the distinct ones."""
    values = np.concatenate([[50], 50 + 10 * np.random.default_rng(0).standard_normal(200)])
    once, repeated = (
        Rates(40, 200, widen=w).rate("r", values, np.full(201, 100.0), proportion=False) for w in (1.0, 2.0)
    )
    width = [(rate.high or 0) - (rate.low or 0) for rate in (once, repeated)]
    assert width[1] == pytest.approx(2 * width[0])
    assert repeated.interval == "poisson_bootstrap_repeats"
