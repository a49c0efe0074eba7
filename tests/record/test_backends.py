"""Tokenizers held to bytes, and n-gram models."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from specdiag.errors import UsageError
from specdiag.record.backends import corpus, hf_tokenizer, ngram, parse
from specdiag.record.backends.hf_tokenizer import HfTokenizer, from_json
from specdiag.record.backends.ranks import PATTERNS, from_ranks
from specdiag.record.drafting import ModelDrafter, ModelVerifier
from specdiag.record.laws import Sampling
from specdiag.record.lines import Member
from specdiag.record.verify import Rule
from specdiag.record.vocabulary import Mapping, joined
from tests.conftest import ROOT
from tests.record.conftest import FAR, NEAR, VERIFIER, WRITTEN
from tests.record.test_exactness import no_residual
from tests.record.toys import emitted, excess, law

SMALL = "bpe:400@1/2"


@settings(deadline=None)  # the first one trains the tokenizer
@given(st.binary(max_size=40) | st.text(max_size=20).map(str.encode))
def test_tokens_give_back_every_byte(data: bytes) -> None:
    """Any bytes at all, text or not, and cut anywhere."""
    tokenizer = hf_tokenizer.load(SMALL)
    assert joined(tokenizer, tokenizer.encode(data)) == data


def test_special_tokens_in_a_text_are_text() -> None:
    """Written out they are split as any other text; as tokens they have no bytes."""
    inner = tokenizers.Tokenizer.from_str(hf_tokenizer.trained(300, "0/8")._inner.to_str())
    inner.add_special_tokens(["<|end|>"])
    inner.add_tokens(["plain words"])
    tokenizer = HfTokenizer(inner, "x")
    ids = tokenizer.encode(b"a<|end|> plain words")
    special, plain = (inner.get_vocab()[name] for name in ("<|end|>", "plain words"))
    assert tokenizer.token_bytes(special) == b""
    assert tokenizer.token_bytes(plain) == b"plain words"
    assert special not in ids
    assert plain in ids


def _metaspace(normalizer: dict[str, object] | None) -> str:
    pieces = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "b", "▁a", "é"]
    inner = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            vocab={piece: i for i, piece in enumerate(pieces)},
            merges=[("▁", "a")],
            unk_token="<unk>",
            byte_fallback=True,
        )
    )
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="first")
    whole = json.loads(inner.to_str())
    whole["normalizer"] = normalizer
    return json.dumps(whole)


def test_the_dummy_space_of_metaspace_tokenizers_is_switched_off() -> None:
    """A text gives back its own bytes, without a space before it; unknown characters are spelled in bytes."""
    tokenizer = from_json(_metaspace(None), "m")
    for data in (b"a b", b" a", "b日é".encode(), b"\xff"):
        assert joined(tokenizer, tokenizer.encode(data)) == data
    with pytest.raises(ValueError, match="byte for byte"):
        tokenizer.encode("a▁b".encode())


def test_what_a_normaliser_would_change_is_refused() -> None:
    """A decomposed letter under NFC; everything else is split."""
    tokenizer = from_json(_metaspace({"type": "NFC"}), "m")
    assert tokenizer.encode("é".encode())
    with pytest.raises(ValueError, match="byte for byte"):
        tokenizer.encode("e\u0301".encode())


def test_ranks_and_merges_are_one_tokenizer(tmp_path: Path) -> None:
    """A vocabulary written down as ranks splits every text as its merges do."""
    trained = hf_tokenizer.load("bpe:600@0/8")
    inner = hf_tokenizer.byte_level(tokenizers.models.BPE(), PATTERNS["llama3"])
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=sorted(hf_tokenizer.alphabet()), show_progress=False
    )
    inner.train_from_iterator(corpus.training("0/8"), trainer)
    merges = HfTokenizer(inner, "merges")
    lines = [base64.b64encode(merges.token_bytes(i)) + b" %d" % i for i in range(merges.size)]
    ranks = from_ranks(b"\n".join(lines), "ranks", PATTERNS["llama3"])
    assert ranks.fingerprint == merges.fingerprint != trained.fingerprint
    for text in corpus.training("1/8"):
        assert ranks.encode(text.encode()) == merges.encode(text.encode())
    vocabulary = [
        {"rank": i, "token_bytes": base64.b64encode(merges.token_bytes(i)).decode()} for i in range(merges.size)
    ]
    config = {"pattern": PATTERNS["llama3"], "default_vocab_size": 603, "default_num_special_tokens": 7}
    (tmp_path / "tekken.json").write_text(json.dumps({"config": config, "vocab": vocabulary}))
    tekken = hf_tokenizer.load(f"tekken:{tmp_path / 'tekken.json'}")
    assert [tekken.token_bytes(i) for i in (0, 6, 7, 602)] == [b"", b"", merges.token_bytes(0), merges.token_bytes(595)]
    assert joined(tekken, tekken.encode(b"<special 3> if x:")) == b"<special 3> if x:"
    (tmp_path / "x.tiktoken").write_bytes(b"\n".join(lines[1:]))
    with pytest.raises(UsageError, match="count up"):
        hf_tokenizer.load(f"qwen:{tmp_path / 'x.tiktoken'}")


def test_files_of_a_tokenizer(tmp_path: Path) -> None:
    """tokenizer.json, its folder, and a folder with GPT-2's two files are the tokenizer that was written there."""
    trained = hf_tokenizer.load(SMALL)
    trained._inner.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "pair").mkdir()
    trained._inner.model.save(str(tmp_path / "pair"))
    for path in (tmp_path, tmp_path / "tokenizer.json", tmp_path / "pair"):
        assert hf_tokenizer.load(str(path)).fingerprint == trained.fingerprint
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(UsageError, match="not readable"):
        hf_tokenizer.load(str(tmp_path / "broken.json"))


def test_training_gives_the_same_tokenizer_in_every_process() -> None:
    """The fingerprint does not depend on the process."""
    program = f"from specdiag.record.backends.hf_tokenizer import load; print(load({SMALL!r}).fingerprint)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == hf_tokenizer.load(SMALL).fingerprint


def test_an_ngram_model_is_interpolated_absolute_discounting() -> None:
    """Every probability is that of the formula, computed from the texts by hand; longer contexts than seen change nothing."""
    tokenizer = hf_tokenizer.load(SMALL)
    texts = [tokenizer.encode(text[:400].encode()) for text in corpus.training("0/40")]
    model = ngram.NgramModel("m", tokenizer, texts, 3, {})
    stream = [token for text in texts for token in text]
    for context in (stream[5:7], stream[100:102], [stream[3], 5], [399, 399]):
        row = np.exp(model.logits([1, 2, *context]).astype(float))[0]
        assert row == pytest.approx(_by_hand(stream, context, tokenizer.size), rel=1e-4)
        assert row.sum() == pytest.approx(1, abs=1e-5)
    rows = model.logits(stream[:9], stream[9:12])
    for place in range(4):
        assert (rows[place] == model.logits(stream[: 9 + place])[0]).all()


def _by_hand(stream: list[int], context: list[int], size: int) -> list[float]:
    law = [(stream.count(token) + 1) / (len(stream) + size) for token in range(size)]
    for length in (1, 2):
        grams = [tuple(stream[i : i + length + 1]) for i in range(len(stream) - length)]
        counts = {gram: grams.count(gram) for gram in set(grams)}
        once, twice = (list(counts.values()).count(times) for times in (1, 2))
        discount = once / (once + 2 * twice)
        here = {gram[-1]: count for gram, count in counts.items() if list(gram[:-1]) == context[-length:]}
        if not here:
            break
        total = sum(here.values())
        left = discount * len(here) / total
        law = [left * law[t] + max(here.get(t, 0) - discount, 0) / total for t in range(size)]
    return law


@pytest.mark.parametrize(
    ("text", "name", "kind", "options"),
    [
        ("a=ngram:order=3,tokenizer=bpe:500", "a", "ngram", {"order": "3", "tokenizer": "bpe:500"}),
        ("ngram:order=3", "ngram", "ngram", {"order": "3"}),
        ("ngram", "ngram", "ngram", {}),
        ("b=transformers:/x/y=z,dtype=float32", "b", "transformers", {"model": "/x/y=z", "dtype": "float32"}),
        ("llama-cpp:C:/m.gguf", "llama-cpp", "llama-cpp", {"model": "C:/m.gguf"}),
    ],
)
def test_a_specification_is_taken_apart(text: str, name: str, kind: str, options: dict[str, str]) -> None:
    """Name, backend and options; the first part without a key is the model."""
    spec = parse(text)
    assert (spec.name, spec.kind, spec.options) == (name, kind, options)


def test_prompts_are_not_trained_on() -> None:
    """Held-out texts are in no part; two halves do not overlap."""
    halves = [corpus.training("0/2"), corpus.training("1/2")]
    assert not {*halves[0]} & {*halves[1]}
    assert sorted(halves[0] + halves[1]) == sorted(corpus.training())
    held = {text for number, (_, text) in enumerate(corpus.texts()) if not number % corpus.HELD_OUT_EVERY}
    prompts = corpus.prompts(30)
    assert len({prompt.id for prompt in prompts}) == 30
    assert all(any(prompt.text.decode() in text for text in held) for prompt in prompts)


@pytest.fixture(scope="module")
def verifier() -> ModelVerifier:
    """The n-gram verifier of the recordings."""
    spec = parse(VERIFIER, "verifier")
    return ModelVerifier("verifier", ngram.load(_own(spec.options)), Sampling(0.7))


def _own(options: object) -> dict[str, str]:
    assert isinstance(options, dict)
    return {key: value for key, value in options.items() if key in ("order", "tokenizer", "corpus")}


def _member(text: str, verifier: ModelVerifier) -> Member:
    spec = parse(text)
    mapping = Mapping(spec.options.get("map", "intersection"))
    drafter = ModelDrafter(spec.name, ngram.load(_own(spec.options)), Sampling(0.8), verifier.tokenizer, mapping)
    return Member(drafter, 2, spec.name, 0)


PROMPT = b"    def __init__(self, name):\n        self."


@pytest.mark.parametrize("text", [NEAR, FAR, WRITTEN], ids=["near", "far", "written"])
@pytest.mark.parametrize("rule", [Rule.rejection, Rule.exact_match])
def test_ngram_drafters_leave_the_verifiers_law_as_it_is(text: str, rule: Rule, verifier: ModelVerifier) -> None:
    """What is emitted behind a prompt has the verifier's law, for each drafter, within chi-square at 1 in 10,000."""
    counts = emitted([_member(text, verifier)], verifier, PROMPT, rule=rule, draws=1500)
    assert excess(counts, law(verifier, PROMPT)) < 1


@pytest.mark.parametrize("text", [NEAR, FAR], ids=["near", "far"])
def test_a_faulty_sampler_of_ngrams_is_caught(text: str, verifier: ModelVerifier) -> None:
    """The same test fails where the correction is not drawn from the residual."""
    counts = emitted([_member(text, verifier)], verifier, PROMPT, draws=1500, judged=no_residual)
    assert excess(counts, law(verifier, PROMPT)) > 1.2
