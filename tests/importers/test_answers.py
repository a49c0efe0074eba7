"""Answer files of Spec-Bench, EAGLE and Medusa."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdiag.engines.catalogue import ENGINES
from specdiag.engines.definitions import Counts, Ratio
from specdiag.trace.events import TallyEvent
from tests.importers.common import imported, noted, register, tallies
from tests.importers.noise import hold

SHARED = os.environ.get("SPECDIAG_SHARED_DATA", "")


def answer(question: int, model: str = "vicuna-7b-v1.3-pld", turns: tuple[str, ...] = ("a", "b"), **choice: Any) -> str:
    """A line of an answer file."""
    choices = [{"index": 0, "turns": [*turns], "wall_time": [0.5] * len(turns), **choice}]
    return (
        json.dumps(
            {
                "question_id": question,
                "category": "math",
                "answer_id": "x",
                "model_id": model,
                "choices": choices,
                "tstamp": 1.5,
            }
        )
        + "\n"
    )


STEPS: dict[str, Any] = {"decoding_steps": [4, 1], "new_tokens": [10, 1], "accept_lengths": [1, 2, 4, 3, 1]}
SPEC_BENCH = answer(81, **STEPS) + answer(
    82, turns=("a",), decoding_steps=[1], new_tokens=[4], accept_lengths=[4], category="qa"
)
OLD = answer(81, idxs=[3, 0], new_tokens=[10, 1], accept_lengths=[1, 2, 4, 3, 1])
EAGLE = answer(81, "ess-vicuna-7b", idxs=[3, 0], new_tokens=[10, 1]) + answer(
    82, "ess-vicuna-7b", ("a",), idxs=[29], new_tokens=[90]
)
register("spec-bench/answers", SPEC_BENCH, OLD)
register("eagle/answers", EAGLE)


@pytest.mark.parametrize("text", [answer(81, **STEPS), OLD])
def test_spec_bench(text: str) -> None:
    """An entry is a + 1: four rounds of the first turn and one of the second, 0, 1, 3, 2 and 0 drafts."""
    [event] = tallies(text, "spec-bench/answers")
    assert (event.rounds, event.accepted, event.completion_tokens, event.reached) == (5, 6, 11, [3, 2, 1])
    assert (event.request, event.drafter, event.proposed) == ("81", "vicuna-7b-v1.3-pld", None)


def test_spec_bench_tokens_behind_the_end() -> None:
    """Where a method takes none off, the output has fewer tokens than the steps appended; an entry of 0 is a round that gave nothing."""
    _, notes = imported(answer(81, **STEPS | {"new_tokens": [8, 1]}), "spec-bench/answers")
    assert noted(notes, "output_below_counts") == ["9 tokens, 6 + 5 = 11 by the counts: 2 fewer"]
    [event] = tallies(answer(81, new_tokens=[3, 0], accept_lengths=[3, 0]), "spec-bench/answers")
    assert (event.rounds, event.accepted, event.reached) == (2, 2, [1, 1])


def test_spec_bench_after_an_error() -> None:
    """A turn that ended in a RuntimeError has the steps of the turn before once more: the choice is left out."""
    failed = answer(83, turns=("a", "ERROR"), **STEPS)
    events, notes = imported(failed + SPEC_BENCH, "spec-bench/answers")
    assert [event.request for event in events if isinstance(event, TallyEvent)] == ["81", "82"]
    assert noted(notes, "not_counts") == ["turn 2 of 83 failed: the steps of the turn before stand again"]


def test_baseline() -> None:
    """A file in which every step gave one token is told to be one of a run without a drafter."""
    baseline = answer(81, new_tokens=[20, 20], decoding_steps=[20, 20], accept_lengths=[1] * 40)
    _, notes = imported(baseline, "spec-bench/answers")
    assert noted(notes, "no_drafter") == ["40 steps, 40 tokens"]
    _, notes = imported(answer(81, idxs=[39], new_tokens=[40]), "eagle/answers")
    assert noted(notes, "no_drafter") == ["40 steps, 40 tokens"]
    assert not noted(imported(SPEC_BENCH, "spec-bench/answers")[1], "no_drafter")


def test_eagle() -> None:
    """The index counts from 0, and each round adds a token of the verifier: ten tokens of four rounds are a length of 2.5 (EAGLE#153, #195)."""
    first, second, third = tallies(EAGLE, "eagle/answers")
    assert (first.request, first.rounds, first.accepted, first.completion_tokens) == ("81/0", 4, 6, 10)
    assert (second.request, second.rounds, second.accepted) == ("81/1", 1, 0)
    assert (third.request, third.rounds, third.accepted, third.reached) == ("82/0", 30, 60, None)
    figure = ENGINES["eagle"].figure("new_tokens / (idx + 1)")
    assert figure is not None
    ratio = figure.of(Counts(A=first.accepted, R=first.rounds))
    assert isinstance(ratio, Ratio)
    assert ratio.value == 2.5


@pytest.mark.parametrize(
    "choice",
    [
        {"idxs": [3], "new_tokens": [10, 1]},
        {"idxs": [True], "new_tokens": [10]},
        {"idxs": [-1], "new_tokens": [0]},
        {"idxs": None, "new_tokens": [10]},
        {"idxs": {"a": 1}, "new_tokens": "ten"},
    ],
)
def test_eagle_without_two_lists(choice: dict[str, Any]) -> None:
    """A choice of other types is unreadable."""
    _, notes = imported(answer(80, **choice) + EAGLE, "eagle/answers")
    assert len(noted(notes, "report_unreadable")) == 1


def test_eagle_with_fewer_tokens_than_rounds() -> None:
    """Each round gives a token: fewer are no counts; and a turn that failed stands for nothing."""
    events, notes = imported(answer(80, idxs=[9], new_tokens=[9]) + EAGLE, "eagle/answers")
    assert noted(notes, "not_counts") == ["9 tokens from 10 rounds in turn 80/0"]
    _, notes = imported(answer(80, turns=("a", "ERROR"), idxs=[3, 3], new_tokens=[10, 10]) + EAGLE, "eagle/answers")
    assert noted(notes, "not_counts") == ["turn 80/1 failed: the numbers of the turn before stand again"]
    assert len(events) == 4


@pytest.mark.skipif(not SHARED, reason="SPECDIAG_SHARED_DATA names no folder")
def test_medusa_file() -> None:
    """The 2.565 of the Medusa file is its pooled length, 43,754 / 17,058; the mean over its 160 turns is 2.567, that over its questions 2.566."""
    found = tallies((Path(SHARED) / "medusa_vicuna7b_mtbench.jsonl").read_bytes(), "eagle/answers")
    pooled, mean = ENGINES["eagle"].figures
    rounds, accepted = (sum(getattr(event, name) or 0 for event in found) for name in ("rounds", "accepted"))
    whole = pooled.of(Counts(A=accepted, R=rounds))
    assert isinstance(whole, Ratio)
    assert (int(whole.numerator), int(whole.denominator)) == (43754, 17058)
    assert f"{float(whole.value):.3f}" == "2.565"
    own = [
        ratio.value for event in found if isinstance(ratio := mean.of(Counts(A=event.accepted, R=event.rounds)), Ratio)
    ]
    assert (len(own), f"{float(sum(own) / len(own)):.3f}") == (160, "2.567")


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_noise(seed: int) -> None:
    """Cuts and random bytes make nothing up."""
    hold("spec-bench/answers", SPEC_BENCH, seed, mixes=False)
    hold("eagle/answers", EAGLE, seed, mixes=False)
