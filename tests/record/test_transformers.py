"""The backend of the transformers library: with tiny models of random weights where it is installed, its errors everywhere."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from specdiag import MissingExtra, UsageError
from specdiag.record.backends import Models, transformers

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model with its tokenizer."""
    torch = pytest.importorskip("torch", reason="needs torch, of the extra `transformers`", exc_type=ImportError)
    library = pytest.importorskip("transformers", reason="needs transformers", exc_type=ImportError)
    hf = pytest.importorskip("tokenizers")
    inner = hf.Tokenizer(hf.models.BPE())
    inner.pre_tokenizer, inner.decoder = hf.pre_tokenizers.ByteLevel(add_prefix_space=False), hf.decoders.ByteLevel()
    letters = hf.pre_tokenizers.ByteLevel.alphabet()
    trainer = hf.trainers.BpeTrainer(
        vocab_size=280, special_tokens=["<s>", "</s>"], initial_alphabet=letters, show_progress=False
    )
    inner.train_from_iterator(["def f(x): return x\n" * 9], trainer)
    place = tmp_path_factory.mktemp("tiny")
    own = library.PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>")
    own.save_pretrained(place)
    torch.manual_seed(1)
    config = library.LlamaConfig(
        vocab_size=len(own) + 8,  # outputs that no token stands for, as models have them
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        initializer_range=0.3,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=0,
    )
    library.LlamaForCausalLM(config).save_pretrained(place)
    return place


def test_logits_do_not_depend_on_what_was_asked_before(folder: Path) -> None:
    """Whatever the cache holds, a row is that of a fresh model; one pass for several rows gives what single passes give."""
    model = transformers.load({"model": str(folder)})
    ids = model.tokenizer.encode(b"def f(x): return x, f(1)")
    for start, stop in ((5, 9), (5, 6), (3, 9), (9, 9), (1, 3), (2, 9)):
        rows = model.logits(ids[:start], ids[start:stop])
        assert rows.shape == (stop - start + 1, model.tokenizer.size)
        fresh = transformers.load({"model": str(folder)})
        for row, end in zip(rows, range(start, stop + 1), strict=True):
            np.testing.assert_allclose(row, fresh.logits(ids[:end])[0], atol=1e-4)
    assert model.logits(ids[::-1]).shape == (1, model.tokenizer.size)


def test_a_model_says_what_ran_and_where_a_text_ends(folder: Path) -> None:
    """Versions, file and sha256 are facts; special tokens written out in a text stay text."""
    model = transformers.load({"model": str(folder)})
    facts = model.facts()
    assert facts["files"] == "model.safetensors"
    assert len(facts["sha256"]) == 64
    assert "torch" in facts["engine"]
    assert str(folder) not in str(facts)
    assert model.end == {1}
    text = "x </s> é日".encode()
    ids = model.tokenizer.encode(text)
    assert 1 not in ids
    assert b"".join(map(model.tokenizer.token_bytes, ids)) == text
    assert model.tokenizer.token_bytes(1) == b""


def test_weakened_copies_differ_by_their_seed(folder: Path) -> None:
    """Weakening changes the law, the same seed changes it in the same way, and the facts say how."""
    ids = [70, 71, 72]
    plain = transformers.load({"model": str(folder)}).logits(ids)
    options = {"model": str(folder), "weaken": "all-ffn", "bits": "2"}
    one, same = (transformers.load(options) for _ in range(2))
    other = transformers.load({**options, "seed": "1"})
    assert np.array_equal(one.logits(ids), same.logits(ids))
    assert not np.allclose(one.logits(ids), plain)
    assert not np.allclose(one.logits(ids), other.logits(ids))
    assert "2 bits" in one.facts()["weakened"]
    assert one.tokenizer.fingerprint == same.tokenizer.fingerprint


def test_an_empty_context_needs_a_beginning(folder: Path) -> None:
    """Without tokens there is nothing to condition on, unless a begin-of-text token is asked for."""
    with pytest.raises(UsageError, match="empty context"):
        transformers.load({"model": str(folder)}).logits([])
    begun = transformers.load({"model": str(folder), "bos": "1"})
    plain = transformers.load({"model": str(folder)})
    np.testing.assert_allclose(begun.logits([]), plain.logits([0]), atol=1e-5)
    np.testing.assert_allclose(begun.logits([70], [71]), plain.logits([0, 70], [71]), atol=1e-5)


def test_what_is_no_model_is_refused(folder: Path, tmp_path: Path) -> None:
    """An empty folder, a type that does not exist and an unknown option end with what to give instead."""
    for options in (
        {"model": str(tmp_path)},
        {"model": str(folder), "dtype": "load"},
        {"model": str(folder), "size": "2"},
        {},
    ):
        with pytest.raises(UsageError):
            transformers.load(options)


@pytest.mark.parametrize(
    ("kind", "package", "extra"),
    [
        ("transformers", "torch", "transformers"),
        ("transformers", "transformers", "transformers"),
        ("llama-cpp", "llama_cpp", "llama-cpp"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, kind: str, package: str, extra: str
) -> None:
    """The error of a backend without its library says which extra to install."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra) as raised:
        Models().load(kind, {"model": "nowhere"})
    assert f"specdiag-cli[{extra}]" in raised.value.advice
