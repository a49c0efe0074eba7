"""Laws of the next token."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdiag.record.laws import Sampling, draw, laws, residual

LOGITS = np.log(np.array([[0.5, 0.3, 0.15, 0.05]], dtype=np.float32))


def _law(**options: float) -> list[float]:
    sampling = Sampling(options.get("temperature", 1), int(options.get("top_k", 0)), options.get("top_p", 1))
    return [round(value, 6) for value in laws(LOGITS, sampling)[0].tolist()]


def test_temperature_then_top_k_then_top_p() -> None:
    """Each truncates what the one before it left, and renormalises."""
    assert _law() == [0.5, 0.3, 0.15, 0.05]
    assert _law(temperature=0) == [1, 0, 0, 0]
    assert _law(temperature=0.5) == pytest.approx(
        [0.25 / 0.365, 0.09 / 0.365, 0.0225 / 0.365, 0.0025 / 0.365], abs=1e-5
    )
    assert _law(top_k=2) == [0.625, 0.375, 0, 0]
    assert _law(top_p=0.6) == [0.625, 0.375, 0, 0]
    assert _law(top_k=2, top_p=0.5) == [1, 0, 0, 0]
    assert _law(top_p=0.81) == pytest.approx([0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0], abs=1e-5)


@given(st.lists(st.floats(-30, 30), min_size=2, max_size=9), st.floats(0.05, 5), st.integers(0, 9), st.floats(0.01, 1))
def test_every_law_sums_to_one(weights: list[float], temperature: float, top_k: int, top_p: float) -> None:
    """Whatever the weights and the regime, and its likeliest token is that of the weights."""
    (law,) = laws(np.array([weights], dtype=np.float32), Sampling(temperature, top_k, top_p))
    assert law.sum() == pytest.approx(1)
    near = np.array(weights) >= max(weights) - 1e-5 * max(1, abs(max(weights)))  # rounding may tie them
    assert law[near].max() == law.max()


def test_a_uniform_falls_where_the_law_says() -> None:
    """A token is drawn for the uniforms between the sums before and with it, and never at probability 0."""
    law = np.array([0.0, 0.25, 0.0, 0.75, 0.0])
    assert [draw(law, u) for u in (0, 0.2499, 0.25, 0.999999)] == [1, 1, 3, 3]
    assert draw(np.array([0.1] * 10 + [0.0]), 1 - 2**-53) == 9


def test_the_residual_is_what_the_drafter_did_not_cover() -> None:
    """norm((p - q)+); p itself where both are equal."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.6, 0.2])
    assert residual(p, q).tolist() == [1, 0, 0]
    assert residual(p, p) is p
