"""Weaker copies of a model, and the words that ask for them."""

from __future__ import annotations

import numpy as np
import pytest

from specdiag import UsageError
from specdiag.record.backends.weaken import Weakening, weakening

RNG = np.random.default_rng(1)
MATRIX = RNG.normal(size=(40, 72)).astype(np.float32)


def asked(**options: str) -> Weakening:
    """What these options ask for."""
    found = weakening(options)
    assert found is not None
    return found


def test_each_block_takes_few_values_between_its_least_and_its_greatest() -> None:
    """Three bits leave eight values a block of 32, within its range, and a short block at the end of a row."""
    coarse = asked(weaken="all").rounded("layers.0.q", MATRIX)
    for first, last in ((0, 32), (32, 64), (64, 72)):
        for row, given in zip(coarse[:, first:last], MATRIX[:, first:last], strict=True):
            assert len(np.unique(row)) <= 8
            assert given.min() - 1e-5 <= row.min() <= row.max() <= given.max() + 1e-5


def test_rounding_keeps_the_mean() -> None:
    """Over many seeds the mean of a rounded weight is the weight."""
    many = [asked(weaken="all", bits="2", seed=str(seed)).rounded("layers.0.q", MATRIX) for seed in range(400)]
    step = np.ptp(MATRIX) / 3  # the widest there is; a rounded weight deviates by half of it or less
    assert np.abs(np.mean(many, axis=0) - MATRIX).max() < 6 * step / 2 / np.sqrt(len(many))
    assert abs(np.mean(many) - MATRIX.mean()) < 1e-3


def test_the_same_seed_gives_the_same_copy() -> None:
    """Seed and name decide, and nothing else."""
    one = asked(weaken="all-ffn", seed="5")
    assert np.array_equal(one.rounded("a", MATRIX), asked(weaken="all", seed="5").rounded("a", MATRIX))
    assert not np.array_equal(one.rounded("a", MATRIX), one.rounded("b", MATRIX))
    assert not np.array_equal(one.rounded("a", MATRIX), asked(weaken="all-ffn").rounded("a", MATRIX))


def test_a_constant_block_stays() -> None:
    """Where all weights of a block are equal there is nothing to round."""
    flat = np.full((2, 32), 0.25, np.float32)
    assert np.array_equal(asked(weaken="all").rounded("x", flat), flat)


@pytest.mark.parametrize(
    ("asked_for", "number"), [("ffn:0.5", 15), ("ffn:0.1", 3), ("ffn:1", 30), ("all-ffn", 30), ("all", 30)]
)
def test_a_share_of_the_layers_is_taken(asked_for: str, number: int) -> None:
    """As many layers as asked for, under the names of either library; attention only with all; never the embeddings."""
    weak = asked(weaken=asked_for)
    for name, attention in (
        ("model.layers.{}.mlp.up_proj.weight", "self_attn.q_proj"),
        ("blk.{}.ffn_down.weight", "attn_q"),
    ):
        assert sum(weak.takes(name.format(layer)) for layer in range(30)) == number
        prefix = name.split("{}")[0]
        assert weak.takes(f"{prefix}7.{attention}.weight") == (asked_for == "all")
    assert not weak.takes("model.embed_tokens.weight")
    assert not weak.takes("token_embd.weight")


@pytest.mark.parametrize(
    "options",
    [
        {"weaken": "ffn"},
        {"weaken": "ffn:0"},
        {"weaken": "ffn:2"},
        {"weaken": "ffn:nan"},
        {"weaken": "half"},
        {"weaken": "all", "bits": "0"},
        {"weaken": "all", "bits": "9"},
        {"weaken": "all", "seed": "-1"},
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, str]) -> None:
    """A weakening that does not exist ends with those that do."""
    with pytest.raises(UsageError, match="="):
        weakening(options)


def test_nothing_asked_for_is_nothing_done() -> None:
    """Without the option there is no weakening."""
    assert weakening({"model": "x"}) is None
