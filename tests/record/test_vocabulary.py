"""Between tokenizers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdiag.record.drafting import LookupDrafter, ModelDrafter
from specdiag.record.laws import Sampling
from specdiag.record.vocabulary import Crossing, Mapping, joined, split_incomplete
from tests.record.toys import OTHER, VERIFIER, ToyModel, ToyTokenizer

OURS, THEIRS = ToyTokenizer(VERIFIER, "ours"), ToyTokenizer(OTHER, "theirs")
CUT = "é".encode()[:1]


@given(st.text(max_size=6), st.integers(0, 24))
def test_a_cut_character_is_held_back(text: str, at: int) -> None:
    """Cut anywhere, what is passed on is whole characters, and nothing is lost."""
    data = text.encode()[:at]
    whole, tail = split_incomplete(data)
    assert whole + tail == data
    assert whole.decode() == text[: len(whole.decode())]
    assert len(tail) < 4


def test_bytes_that_are_no_text_do_not_stop_anything() -> None:
    """A stray continuation byte is no beginning of a character."""
    assert split_incomplete(b"a\x80") == (b"a\x80", b"")
    assert split_incomplete(b"\x80\x80\x80\x80") == (b"\x80\x80\x80\x80", b"")
    assert split_incomplete(b"") == (b"", b"")


def test_shared_tokens_are_those_of_equal_bytes() -> None:
    """Names and ids do not matter; each pair says the same."""
    pairs = Crossing(THEIRS, OURS).pairs()
    assert {THEIRS.tokens[i] for i in pairs.own} == set(VERIFIER) & set(OTHER)
    assert all(THEIRS.tokens[i] == OURS.tokens[j] for i, j in zip(pairs.own, pairs.target, strict=True))


def test_the_law_on_shared_tokens_is_renormalised() -> None:
    """Restricted to what both have; the share that it kept is told."""
    law, share = Crossing(THEIRS, OURS).pairs().law(np.full(len(OTHER), 1 / len(OTHER)))
    assert law.sum() == pytest.approx(1)
    assert share == pytest.approx(len(set(VERIFIER) & set(OTHER)) / len(OTHER))


def test_special_tokens_are_shared_by_the_same_tokenizer_alone() -> None:
    """Two end-of-text tokens without bytes are not the same token."""
    first, second = ToyTokenizer((b"", b"a", b"b"), "x"), ToyTokenizer((b"a", b"", b"b"), "y")
    assert Crossing(first, second).pairs().first == {0: 1, 2: 2}
    assert Crossing(first, first).pairs().first == {0: 0, 1: 1, 2: 2}


@pytest.mark.parametrize("mapping", list(Mapping))
def test_behind_a_cut_character_a_draft_goes_on_with_its_rest(mapping: Mapping) -> None:
    """The drafter says the held-back bytes again, and what is submitted begins behind them."""
    drafter = ModelDrafter("d", ToyModel(THEIRS, 5), Sampling(), OURS, mapping)
    drafts = [drafter.propose(b"ab" + CUT, 3, np.random.default_rng(seed)) for seed in range(40)]
    said = [joined(OURS, draft.submitted) for draft in drafts if draft.submitted]
    assert said
    for draft, text in zip([draft for draft in drafts if draft.submitted], said, strict=True):
        own = joined(THEIRS, draft.tokens)
        assert own.startswith(CUT + text)
        assert (mapping is Mapping.string) is (draft.q is None)
        assert draft.sizes == [len(THEIRS.tokens[token]) for token in draft.tokens]


def test_a_cut_character_that_no_token_spans_is_shown_in_bytes() -> None:
    """A drafter that spells the character byte by byte goes on from its bytes."""
    spelled = ToyTokenizer((b"a", CUT, "é".encode()[1:]), "spelled")
    drafter = ModelDrafter("d", ToyModel(spelled, 5), Sampling(), OURS, Mapping.intersection)
    assert drafter.propose(b"a" + CUT, 3, np.random.default_rng(0)).submitted


def test_a_drafter_that_cannot_split_the_context_abstains() -> None:
    """No token of its own fits: no draft, and no error."""
    drafter = ModelDrafter("d", ToyModel(THEIRS, 5), Sampling(), OURS, Mapping.intersection)
    assert drafter.propose(b"xyz", 3, np.random.default_rng(0)).submitted == []


def test_q_is_the_law_of_each_submitted_token() -> None:
    """One row a token; each sums to 1 and gives its token more than nothing."""
    drafter = ModelDrafter("d", ToyModel(THEIRS, 5), Sampling(0.7), OURS, Mapping.intersection)
    draft = drafter.propose(b"a b", 4, np.random.default_rng(0))
    assert draft.q is not None
    assert draft.q.shape == (4, len(VERIFIER))
    assert draft.q.sum(axis=1) == pytest.approx(np.ones(4))
    assert (draft.q[np.arange(4), draft.submitted] > 0).all()


def test_lookup_continues_the_latest_repetition() -> None:
    """The longest suffix that stood earlier, its latest place, and what followed there; nothing where nothing repeats."""
    drafter, rng = LookupDrafter("l", OURS), np.random.default_rng(0)
    draft = drafter.propose(b"cbcab cb", 2, rng)
    assert joined(OURS, draft.submitted) == b"" or draft.q is not None
    assert LookupDrafter("l", ToyTokenizer((b"a", b"b", b"c"), "t")).propose(b"abcaab", 2, rng).submitted == [2, 0]
    assert LookupDrafter("l", ToyTokenizer((b"a", b"b", b"c"), "t")).propose(b"abc", 2, rng).submitted == []
