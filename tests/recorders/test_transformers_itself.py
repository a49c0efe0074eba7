"""The recorder on the library itself, with tiny models of random weights: plumbing only, their acceptance means nothing."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specdiag import UsageError, analyze
from specdiag.record.backends.hf_tokenizer import byte_level
from specdiag.recorders.transformers import record_assisted
from specdiag.report import Report
from specdiag.summary import Options

torch = pytest.importorskip("torch", reason="needs torch, of the extra `transformers`", exc_type=ImportError)
transformers = pytest.importorskip("transformers", reason="needs transformers", exc_type=ImportError)
pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own

TEXT = "def f(x):\n    return x\n\nfor x in range(10):\n    print(f(x), 'é', \"日本\")\n" * 4


def tokenizer(size: int, text: str) -> Any:
    """Byte-level BPE, trained on this text."""
    hf = pytest.importorskip("tokenizers")
    inner = byte_level(hf.models.BPE())
    letters = hf.pre_tokenizers.ByteLevel.alphabet()
    inner.train_from_iterator(
        [text], hf.trainers.BpeTrainer(vocab_size=size, initial_alphabet=letters, show_progress=False)
    )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner)


def llama(vocabulary: int, seed: int) -> Any:
    """A Llama of two small layers."""
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        initializer_range=0.3,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    model.generation_config.num_assistant_tokens = 5
    model.generation_config.num_assistant_tokens_schedule = "constant"
    model.generation_config.assistant_confidence_threshold = 0.0
    return model


def disturbed(model: Any) -> Any:
    """A copy with a little noise on its weights."""
    other = copy.deepcopy(model)
    torch.manual_seed(2)
    with torch.no_grad():
        for weights in other.parameters():
            weights.add_(torch.randn_like(weights) * 0.1 * weights.std())
    return other


@pytest.fixture(scope="module")
def big() -> tuple[Any, Any]:
    """A verifier and its tokenizer."""
    torch.set_num_threads(1)
    own = tokenizer(290, TEXT)
    return llama(len(own), 1), own


def foreign(size: int = 270) -> dict[str, Any]:
    """A drafter with a tokenizer of its own."""
    own = tokenizer(size, TEXT[:90])
    return {"assistant_model": llama(len(own), 3), "assistant_tokenizer": own}


CASES: dict[str, tuple[Callable[[Any], dict[str, Any]], str, str]] = {
    "greedy": (lambda m: {"assistant_model": disturbed(m), "do_sample": False}, "greedy", "AssistedCandidateGenerator"),
    "sampled": (
        lambda m: {"assistant_model": disturbed(m), "do_sample": True, "temperature": 0.8, "top_k": 0},
        "rejection",
        "AssistedCandidateGenerator",
    ),
    "truncated": (
        lambda m: {"assistant_model": disturbed(m), "do_sample": True, "top_k": 20, "top_p": 0.9},
        "rejection",
        "AssistedCandidateGenerator",
    ),
    "lookup": (
        lambda _: {"prompt_lookup_num_tokens": 4, "do_sample": False},
        "greedy",
        "PromptLookupCandidateGenerator",
    ),
    "lookup, sampled": (
        lambda _: {"prompt_lookup_num_tokens": 4, "do_sample": True, "top_k": 5},
        "exact_match",
        "PromptLookupCandidateGenerator",
    ),
    "early exit": (lambda _: {"assistant_early_exit": 1, "do_sample": False}, "greedy", "EarlyExitCandidateGenerator"),
    "strings": (lambda _: foreign() | {"do_sample": False}, "greedy", "AssistedCandidateGeneratorDifferentTokenizers"),
    "intersection": (
        lambda _: foreign() | {"do_sample": True, "top_k": 0},
        "rejection",
        "UniversalSpeculativeDecodingGenerator",
    ),
}


def generate(big: tuple[Any, Any], settings: dict[str, Any], **more: Any) -> list[int]:
    """The tokens of a call, from a fixed seed."""
    model, own = big
    torch.manual_seed(7)
    ids = own(TEXT[:70], return_tensors="pt").input_ids
    given = settings | ({"tokenizer": own} if "assistant_tokenizer" in settings else {}) | more
    found: list[int] = model.generate(ids, max_new_tokens=30, pad_token_id=0, **given)[0, ids.shape[1] :].tolist()
    return found


def read(path: Path) -> tuple[Report, list[dict[str, Any]]]:
    """The report of a recording, read strictly, and its lines."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return analyze(str(path), Options(strict=True, replicates=0)), lines


@pytest.mark.parametrize("case", CASES)
def test_stock_generation_is_recorded_as_it_runs(big: tuple[Any, Any], tmp_path: Path, case: str) -> None:
    """The same tokens with the recorder and without; all of them are in the trace; rule, lengths and digests are there."""
    make, rule, kind = CASES[case]
    settings = make(big[0])
    generate(big, settings)  # the first call may change the drafter: the library prunes its head in place
    plain = generate(big, settings)
    path = tmp_path / "t.jsonl"
    with record_assisted(path, tokenizer=big[1]):
        assert generate(big, settings) == plain
    report, lines = read(path)
    assert report.rates["committed_per_round"].numerator == len(plain)
    assert lines[0]["verification"]["rule"] == rule
    assert lines[0]["labels"]["generator"] == kind
    proposals = [line for line in lines if line["type"] == "proposal"]
    verdicts = [line for line in lines if line["type"] == "verdict"]
    assert all(len(p["bytes"]) == len(p["tokens"]) for p in proposals)
    if "assistant_tokenizer" not in settings:
        assert [p["context_digest"] for p in proposals] == [v["context_digest"] for v in verdicts]
        assert "submitted" not in proposals[0]
    else:
        assert len(lines[0]["tokenizers"]) == 2
        assert all(len(p["submitted_bytes"]) == len(p["submitted"]) for p in proposals)
    if rule == "rejection" and "assistant_tokenizer" not in settings:
        recomputed = report.rates["verdicts_recomputed"]
        assert recomputed.numerator == recomputed.denominator == report.fates.judged > 20
    if rule == "greedy":
        assert all(gap == 0 for v in verdicts for gap in v["gap"][: v["accepted"]])


def test_translated_tokens_say_the_same(big: tuple[Any, Any], tmp_path: Path) -> None:
    """By intersection each drafted token is the submitted token of the same bytes, though the drafter's ids are ranks among shared tokens."""
    settings = CASES["intersection"][0](big[0])
    path = tmp_path / "t.jsonl"
    with record_assisted(path):
        generate(big, settings)
    _, lines = read(path)
    for proposal in (line for line in lines if line["type"] == "proposal"):
        mine = settings["assistant_tokenizer"].convert_ids_to_tokens(proposal["tokens"])
        assert mine == big[1].convert_ids_to_tokens(proposal["submitted"])
        assert proposal["bytes"] == proposal["submitted_bytes"]


def test_a_q_that_the_verifier_was_not_shown_is_told(big: tuple[Any, Any], tmp_path: Path) -> None:
    """The trace holds the probabilities that the drafter drew by. Where verdicts were made with others, a note says so."""
    path = tmp_path / "t.jsonl"
    with record_assisted(path):
        generate(big, CASES["intersection"][0](big[0]))
    report, lines = read(path)
    recomputed = report.rates["verdicts_recomputed"]
    told = [line for line in lines if line["type"] == "note" and "the verifier judged them with" in line["text"]]
    assert bool(told) or recomputed.numerator == recomputed.denominator


def test_an_end_of_text_and_a_batch(big: tuple[Any, Any], tmp_path: Path) -> None:
    """A call that ends at its end-of-text token says so; a batch is refused before the library refuses it."""
    settings = CASES["sampled"][0](big[0])
    plain = generate(big, settings)
    path = tmp_path / "t.jsonl"
    with record_assisted(path):
        ended = generate(big, settings, eos_token_id=plain[12])
        with pytest.raises(UsageError, match="one sequence, not on 2"):
            big[0].generate(
                torch.ones(2, 4, dtype=torch.long), assistant_model=settings["assistant_model"], max_new_tokens=4
            )
    assert ended == plain[: plain.index(plain[12]) + 1]
    report, lines = read(path)
    assert lines[-1]["stop"] == "eos"
    assert report.rates["committed_per_round"].numerator == len(ended)


def test_the_library_is_left_as_it_was(big: tuple[Any, Any], tmp_path: Path) -> None:
    """Neither class nor module keeps a hook, also when generation raises."""
    utils = transformers.generation.utils
    before = utils.GenerationMixin.__dict__["_get_candidate_generator"], utils._speculative_sampling
    with pytest.raises(ZeroDivisionError), record_assisted(tmp_path / "t.jsonl"):
        generate(big, CASES["sampled"][0](big[0]), stopping_criteria=[lambda *_, **__: 1 // 0])
    assert (utils.GenerationMixin.__dict__["_get_candidate_generator"], utils._speculative_sampling) == before
