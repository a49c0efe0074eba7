"""The recorder around assisted generation: on an imitation of the library everywhere, on the library itself where it is installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specdiag import MissingExtra, SpecdiagError, UsageError, analyze
from specdiag.recorders.transformers import record_assisted
from specdiag.report import Report
from specdiag.summary import Options
from tests.recorders import fake

PROMPT = [[1, 2, 3, 1, 2]]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> fake.GenerationMixin:
    """A verifier of the imitation, which takes the library's place."""
    for name, module in fake.MODULES.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(fake, "rng", np.random.default_rng(3))
    return fake.GenerationMixin()


def places() -> tuple[object, object]:
    """What stands where the hooks go."""
    utils = fake.MODULES["transformers.generation.utils"]
    return fake.GenerationMixin.__dict__["_get_candidate_generator"], utils._speculative_sampling


def events(path: Path, kind: str) -> list[dict[str, Any]]:
    """The lines of a type."""
    return [event for event in map(json.loads, path.read_text().splitlines()) if event["type"] == kind]


def read(path: Path) -> Report:
    """The report of a recording that must be without fault."""
    report = analyze(str(path), Options(strict=True, replicates=0))
    assert {note.code for note in report.integrity} <= {"repeated_requests"}
    return report


def test_recorded_verdicts_follow_from_what_was_recorded(model: fake.GenerationMixin, tmp_path: Path) -> None:
    """Every verdict of the rejection sampler follows from p, q and u of the trace; every token that came out is in it."""
    path = tmp_path / "t.jsonl"
    with record_assisted(path, drafter="small", labels={"build": "7"}) as recording:
        lengths = [len(model.generate(PROMPT)) for _ in range(20)]
    report = read(path)
    recomputed = report.rates["verdicts_recomputed"]
    assert recomputed.numerator == recomputed.denominator == report.fates.judged > 100
    assert report.rates["committed_per_round"].numerator == sum(lengths) - 20 * len(PROMPT[0])
    assert recording.requests == [f"r{i}" for i in range(20)]
    (header,) = events(path, "trace")
    assert header["drafters"] == [{"id": "small", "kind": "model", "tokenizer": "fake-verifier", "temperature": 1.0}]
    assert (header["verification"]["rule"], header["verifier"]["id"]) == ("rejection", "fake-verifier")
    assert header["labels"] == {"generator": "AssistedCandidateGenerator", "build": "7"}


def test_tokens_are_those_without_the_recorder(
    model: fake.GenerationMixin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same seed the same text comes out, and what the library is told of each round is the same."""
    found = []
    for is_recorded in (False, True):
        monkeypatch.setattr(fake, "rng", np.random.default_rng(11))
        if is_recorded:
            with record_assisted(tmp_path / "t.jsonl"):
                tokens = model.generate(PROMPT)
        else:
            tokens = model.generate(PROMPT)
        found.append((tokens, model.generator.updates))
    assert found[0] == found[1]


def test_an_end_of_text_inside_a_draft_is_accepted_and_not_all_of_it_committed(
    model: fake.GenerationMixin, tmp_path: Path
) -> None:
    """Where the text ends, the verdict says why, counts what the sampler accepted, and commits what came out."""
    path = tmp_path / "t.jsonl"
    with record_assisted(path):
        for _ in range(60):
            model.generate(PROMPT)
        model.generate(PROMPT, max_length=7, eos_token_id=None)
    verdicts = events(path, "verdict")
    ended = [v for v in verdicts if v.get("stop") == "eos"]
    assert any(v["accepted"] > v["committed"] for v in ended)
    assert all("next" not in v for v in ended if v["accepted"] > v["committed"])
    assert all(v["next"]["token"] == fake.END for v in ended if "next" in v)
    assert verdicts[-1]["stop"] == "length"
    read(path)


@pytest.mark.parametrize(
    ("settings", "rule", "has_q"),
    [
        ({"do_sample": False}, "greedy", False),
        ({"lookup": True}, "exact_match", True),
        ({"lookup": True, "do_sample": False}, "greedy", False),
        ({"assistant_ensemble_weight": 0.5}, "unknown", False),
    ],
)
def test_a_rule_is_recorded_with_the_numbers_that_it_judges_by(
    model: fake.GenerationMixin, tmp_path: Path, settings: dict[str, Any], rule: str, has_q: bool
) -> None:
    """Greedy verdicts carry gaps, 0 exactly where a token was accepted; no other rule than rejection claims uniform draws."""
    path = tmp_path / "t.jsonl"
    with record_assisted(path):
        for first in range(5):
            model.generate([[first, *PROMPT[0]]], **settings)
    read(path)
    proposals, verdicts = events(path, "proposal"), events(path, "verdict")
    assert events(path, "trace")[0]["verification"]["rule"] == rule
    assert all(("q" in proposal) == has_q for proposal in proposals)
    assert all("u" not in verdict for verdict in verdicts)
    for proposal, verdict in zip(proposals, verdicts, strict=True):
        assert len(verdict["p"]) == len(proposal["tokens"])
        if rule == "greedy":
            ranks = [gap == 0 for gap in verdict["gap"]]
            assert ([*ranks, False]).index(False) == verdict["accepted"]


def test_settings_that_differ_stand_under_headers_of_their_own(model: fake.GenerationMixin, tmp_path: Path) -> None:
    """A greedy call between two sampled ones: three headers, two traces, and requests named as asked."""
    path = tmp_path / "t.jsonl"
    with record_assisted(path, requests=["first"], trace_id="t") as recording:
        model.generate(PROMPT)
        recording.request("second")
        model.generate(PROMPT, do_sample=False)
        model.generate(PROMPT)
    assert [(h["trace_id"], h["verification"]["rule"]) for h in events(path, "trace")] == [
        ("t", "rejection"),
        ("t.1", "greedy"),
        ("t", "rejection"),
    ]
    assert recording.requests == ["first", "second", "r2"]
    assert len(read(path).traces) == 2


def test_everything_is_put_back(model: fake.GenerationMixin, tmp_path: Path) -> None:
    """After the block, also after one that raised, no hook is left, neither on the library nor on a generator; a cut round is aborted."""
    before = places()
    path = tmp_path / "t.jsonl"
    with record_assisted(path):
        assert places() != before
        with pytest.raises(RuntimeError, match="fell over"):
            model.generate(PROMPT, fails=3, eos_token_id=None)
    assert places() == before
    with pytest.raises(RuntimeError, match="fell over"), record_assisted(path):
        model.generate(PROMPT, fails=1)
    assert places() == before
    assert set(vars(model.generator)) == {"do_sample", "fails", "rounds", "updates"}
    with record_assisted(tmp_path / "again.jsonl"):
        model.generate(PROMPT)
    assert places() == before


def test_a_call_that_broke_off_leaves_an_aborted_round(model: fake.GenerationMixin, tmp_path: Path) -> None:
    """A draft whose verdict never came counts as aborted."""
    path = tmp_path / "t.jsonl"
    with record_assisted(path):
        config = {
            "do_sample": True,
            "temperature": 1.0,
            "top_p": None,
            "top_k": None,
            "eos_token_id": None,
            "max_length": 9,
        }
        from types import SimpleNamespace

        generator = model._get_candidate_generator(
            SimpleNamespace(**config, lookup=False, fails=-1), input_ids=fake.tensor(PROMPT)
        )
        generator.get_candidates(fake.tensor(PROMPT))
    assert [(v["accepted"], v["stop"]) for v in events(path, "verdict")] == [(0, "aborted")]
    assert read(path).fates.unjudged == 3


def test_a_recording_inside_a_recording_is_refused(model: fake.GenerationMixin, tmp_path: Path) -> None:
    """One at a time; the one that goes on is not disturbed."""
    with record_assisted(tmp_path / "t.jsonl") as recording:
        with pytest.raises(UsageError, match="going on already"), record_assisted(tmp_path / "u.jsonl"):
            pass
        model.generate(PROMPT)
    assert recording.requests == ["r0"]


def test_what_cannot_be_recorded_is_refused(model: fake.GenerationMixin, tmp_path: Path) -> None:
    """A batch, a name given twice, and a file that cannot be written end with what to do instead."""
    with record_assisted(tmp_path / "t.jsonl", requests=["a", "a"]):
        with pytest.raises(UsageError, match="one sequence, not on 2"):
            model.generate([PROMPT[0], PROMPT[0]])
        model.generate(PROMPT)
        with pytest.raises(UsageError, match="recorded already"):
            model.generate(PROMPT)
    with pytest.raises(OSError, match="directory"), record_assisted(tmp_path):
        pass


def test_another_library_is_refused_by_its_version(
    model: fake.GenerationMixin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a hook has no place, the error names the version and the place; nothing is written."""
    monkeypatch.delattr(fake.MODULES["transformers.generation.utils"], "_speculative_sampling")
    with (
        pytest.raises(SpecdiagError, match=r"5\.24\.0-fake.*_speculative_sampling"),
        record_assisted(tmp_path / "t.jsonl"),
    ):
        pass
    assert not (tmp_path / "t.jsonl").exists()


@pytest.mark.parametrize("missing", ["torch", "transformers"])
def test_a_missing_library_is_named_with_the_extra(
    model: fake.GenerationMixin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """The error says what to install."""
    for name in [name for name in fake.MODULES if name.split(".")[0] == missing]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=missing) as raised, record_assisted(tmp_path / "t.jsonl"):
        pass
    assert raised.value.advice == "pip install 'specdiag-cli[transformers]'"
