"""The ratio test has the chances that the mechanism says."""

from __future__ import annotations

import numpy as np
import pytest

from specdiag.simulate.mechanism import THINKING, contexts, judge, judge_plan, shifted
from specdiag.simulate.policy import NAIVE, plan
from tests.simulate.pools import STUDY

MANY = 40_000


@pytest.mark.parametrize("h", [0.05, 0.4, 0.92])
def test_the_mean_of_the_ratio_is_the_chance_of_acceptance(h: float) -> None:
    """Both the mean of min(1, p/q) and the share of accepted tokens come to h, and p and q are probabilities."""
    judged = judge(np.full((MANY, 1), h), np.ones(MANY, np.int64), np.zeros((MANY, 1), bool), np.random.default_rng(1))
    error = 4 * (h * (1 - h) / MANY) ** 0.5
    assert np.minimum(1, judged.p / judged.q).mean() == pytest.approx(h, abs=error)
    assert judged.accepted.mean() == pytest.approx(h, abs=error)
    assert ((judged.p >= 0) & (judged.p <= 1) & (judged.q > 0) & (judged.q <= 1)).all()


def test_the_first_refusal_ends_a_chain() -> None:
    """Accepted is the number of tokens before the first u·q > p, and never more than there are."""
    size = np.array([3, 5] * 500)
    judged = judge(np.full((1000, 5), 0.7), size, np.zeros((1000, 5), bool), np.random.default_rng(2))
    for i in range(1000):
        passes = [bool(u * q <= p) for u, q, p in zip(judged.u[i], judged.q[i], judged.p[i], strict=True)][: size[i]]
        assert judged.accepted[i] == (passes.index(False) if False in passes else size[i])


def test_an_effect_of_nothing_moves_nothing() -> None:
    """The effect is on the logit, and keeps chances chances."""
    h = np.array([0.07, 0.5, 0.92])
    assert shifted(h, np.zeros(1)) == pytest.approx(h)
    assert (shifted(h, np.ones(1)) > h).all()


def test_only_a_block_of_who_thinks_opens_with_a_thinking_token() -> None:
    """The thinking token stands first in a block of the reasoning drafter, in about the declared share of them."""
    rng = np.random.default_rng(3)
    there = contexts(STUDY, 0, np.zeros(MANY), rng)
    tokens = judge_plan(STUDY, plan(STUDY, NAIVE, 0, np.full((MANY, 3), 0.5)), there, rng).tokens == THINKING
    assert tokens[:, 0].mean() == pytest.approx(0.5, abs=0.02)
    assert not tokens[:, 1:].any()


def test_a_seam_between_tokenizers_costs_its_share() -> None:
    """Behind another tokenizer's block the first token fails more often, by the declared share."""
    rng = np.random.default_rng(4)
    there = contexts(STUDY, 0, np.zeros(MANY), rng)
    judged = judge_plan(STUDY, plan(STUDY, NAIVE, 0, np.full((MANY, 3), 0.5)), there, rng)
    came = judged.accepted >= 2
    expected = 0.892 * (1 - STUDY.splice)
    assert (judged.accepted[came] > 2).mean() == pytest.approx(expected, abs=0.02)
