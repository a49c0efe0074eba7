"""What engines print for rounds that are written out: γ = 3, accepted 0, 1, 3, 2, and what happens when something is odd about them.

The values are from the sources named in `specdiag/engines`; those of vLLM 0.8.5 to 0.33.0 and of SGLang are from their own code, too, in the tests of
the importers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from specdiag.engines.catalogue import ENGINES
from specdiag.report import EngineFigure
from tests.engines.rounds import CLIPPED, DRAFTLESS, ENDED, PADDED, SECOND, WORKED, printed, values

REACH, HAZARD = [0.75, 0.5, 0.25], [0.75, 0.667, 0.5]

LENGTHS = {
    "vllm: Mean acceptance length": 2.5,
    "vllm-0.8.5: Mean acceptance length": 1.5,
    "sglang: accept len": 2.5,
    "sglang: spec_accept_length": 2.75,
    "llama-cpp: mean len": 2.5,
    "llama-cpp-replay: mean len": 3.25,
    "ollama: avg_accepted": 1.5,
    "trtllm: acceptanceLength": 2.5,
    "trtllm: avg_decoded_tokens_per_iter": 2.2,
    "trtllm-bench: acceptance_length_percentiles": 2.2,
    "trtllm-bench-1: acceptance_length_percentiles": 1.833,
    "lmdeploy: Mean acceptance length": 2.5,
    "mlc: accept_len": 2.5,
    "aiperf: spec_decode_acceptance_length": 2.5,
    "spec-bench: #Mean accepted tokens": 2.5,
    "eagle: new_tokens / (idx + 1)": 2.5,
    "specforge: accept_length": 2.75,
    "specforge-sglang: average_acceptance_length": 2.75,
    "speculators: acceptance_length": 2.5,
    "model-optimizer: Average_AL": 2.2,
    "fastdeploy: average_accept_length": 2.5,
    "fastdeploy-prefill: average_accept_length": 2.2,
}
RATES = {
    "vllm: Draft acceptance rate": 0.5,
    "vllm-v0: Draft acceptance rate": 0.667,
    "vllm-v0: System efficiency": 0.625,
    "sglang-0.5.4: accept rate": 0.625,
    "sglang: accept rate": 0.5,
    "sglang: spec_accept_rate": 0.5,
    "llama-cpp: draft acceptance": 0.5,
    "llama-cpp-replay: draft acceptance": 0.75,
    "trtllm: acceptance_rate": 0.5,
    "trtllm-bench: draft_acceptance_rate_percentiles": 0.4,
    "trtllm-bench-1: draft_acceptance_rate_percentiles": 0.278,
    "fastdeploy: accept_ratio": 0.6,
    "fastdeploy-prefill: accept_ratio": 0.545,
    "mlx: from_draft": 0.6,
    "exllama: accepted": 0.5,
    "aiperf: spec_decode_accepted_per_verified": 0.625,
    "transformers: num_matches / candidates": 0.5,
}
POSITIONS = {
    "vllm: Per-position acceptance rate": REACH,
    "llama-cpp: acc per pos": REACH,
    "mlc: accept_prob": REACH,
    "speculators: acceptance_at_pos": REACH,
    "mlc: accept_rate": HAZARD,
    "fastdeploy: accept_ratio_per_head": HAZARD,
}


@pytest.mark.parametrize("expected", [LENGTHS, RATES, POSITIONS], ids=["lengths", "rates", "positions"])
def test_the_worked_example(expected: dict[str, Any], tmp_path: Path) -> None:
    """Four rounds, and every value that an engine gives for them."""
    found = values(tmp_path, WORKED)
    assert {name: found[name] for name in expected} == expected


PERTURBED: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "a padded first round": (
        PADDED,
        {
            "vllm: Mean acceptance length": 2.2,
            "vllm: Draft acceptance rate": 0.4,
            "vllm: Per-position acceptance rate": [0.6, 0.4, 0.2],
            "vllm-0.8.5: Mean acceptance length": 1.5,
            "aiperf: spec_decode_acceptance_length": 2.2,
            "aiperf: mean_acceptance_length": 2.2,
            "specforge-sglang: average_acceptance_length": 2.75,
        },
    ),
    "the end of the output inside the accepted drafts": (
        ENDED,
        {
            "vllm: Mean acceptance length": 2.5,
            "vllm: Draft acceptance rate": 0.5,
            "sglang: spec_accept_length": 2.25,
            "sglang: spec_accept_rate": 0.5,
            "sglang: accept len": 2.5,
            "llama-cpp: draft acceptance": 0.5,
            "exllama: accepted": 0.444,
            "transformers: num_matches / candidates": 0.333,
        },
    ),
    "a last block cut to one draft": (
        CLIPPED,
        {
            "vllm: Draft acceptance rate": 0.5,
            "vllm: Mean acceptance length": 2.25,
            "vllm: Per-position acceptance rate": [0.75, 0.25, 0.25],
            "sglang: spec_accept_rate": 0.417,
            "llama-cpp: draft acceptance": 0.5,
            "exllama: accepted": 0.5,
        },
    ),
    "a round without a draft": (
        DRAFTLESS,
        {
            "vllm: Mean acceptance length": 2.5,
            "vllm: Draft acceptance rate": 0.5,
            "llama-cpp: mean len": 2.5,
            "exllama: accepted": 0.5,
            "transformers: num_matches + 1": 2.2,
            "ollama: avg_accepted": 1.2,
        },
    ),
    "a second request of one round without an accepted draft": (
        [],
        {
            "vllm: Mean acceptance length": 2.2,
            "sglang: accept len": 2.2,
            "aiperf: spec_decode_token_weighted_acceptance_length": 2.2,
            "aiperf: spec_decode_acceptance_length": 1.75,
            "specforge-sglang: average_acceptance_length": 2.375,
            "specforge: accept_length": 2.6,
        },
    ),
}


@pytest.mark.parametrize("name", PERTURBED)
def test_what_is_odd_about_rounds_shows_as_each_engine_counts(name: str, tmp_path: Path) -> None:
    """Padding, an end inside the accepted drafts, a block cut short, a round without a draft, and averaging."""
    rounds, expected = PERTURBED[name]
    found = values(tmp_path, rounds) if rounds else values(tmp_path, WORKED, SECOND)
    assert {name: found[name] for name in expected} == expected


def test_every_figure_shows_what_it_was_made_of(tmp_path: Path) -> None:
    """Numerator and denominator give the value; a figure that is missing says why; each says where the engine has it."""
    found = printed(tmp_path, WORKED)
    assert {name.partition(":")[0] for name in found} == set(ENGINES)
    for figures in found.values():
        for figure in figures:
            assert figure.where
            assert figure.formula
            assert figure.counts_in
            assert (figure.rate.value is None) == bool(figure.rate.absent)
            if figure.rate.value is not None and not figure.formula.startswith("mean over"):
                top, bottom = figure.rate.numerator, figure.rate.denominator
                assert top is not None
                assert bottom
                assert figure.rate.value == pytest.approx(top / bottom)


def test_matches_behind_a_refusal_need_their_draws(tmp_path: Path) -> None:
    """Without u of every draft nobody can tell what vLLM V0 would have counted; the figure is absent, and not zero."""
    from tests import build
    from tests.engines.rounds import events

    for event in (lines := events(WORKED)):
        if "u" in event:
            event["u"] = event["u"][: event["accepted"] + 1]
    path = tmp_path / "u.jsonl"
    path.write_text(build.lines(lines))
    [rate] = [f.rate for f in _figures(path, "vllm-v0") if f.name == "Draft acceptance rate"]
    assert rate.value is None
    assert rate.absent == "matches behind a refusal not known: p, q and u of every draft would tell"


def test_a_full_block_is_declared_or_the_longest(tmp_path: Path) -> None:
    """K is what the header says; without it the longest block stands for it, and that is said."""
    declared, guessed = (values(tmp_path, WORKED, declared=k)["sglang: accept rate"] for k in (5, None))
    assert (declared, guessed) == (0.3, 0.5)


def test_the_verifiers_own_tokens_are_taken_where_none_is_logged(tmp_path: Path) -> None:
    """A log without them gives the figures that need them under the assumption that every round had one, which is said."""
    from specdiag.analysis import analyze
    from specdiag.summary import Options
    from tests import build
    from tests.engines.rounds import events

    path = tmp_path / "n.jsonl"
    path.write_text(build.lines([{k: v for k, v in e.items() if k != "next"} for e in events(WORKED)]))
    [view] = analyze(str(path), Options(engines=("sglang",))).engines
    assert [f.rate.numerator for f in view.figures if f.name == "spec_accept_length"] == [11]
    assert any("own" in text for text in view.assumes)


def _figures(path: Path, engine: str) -> list[EngineFigure]:
    from specdiag.analysis import analyze
    from specdiag.summary import Options

    [view] = analyze(str(path), Options(engines=(engine,))).engines
    return view.figures


def test_the_example_of_the_docs_is_this_one() -> None:
    """The trace that the page analyzes is written out here."""
    from tests import build
    from tests.conftest import ROOT
    from tests.engines.rounds import events

    assert (ROOT / "docs" / "worked_example.jsonl").read_text() == build.lines(events(WORKED))
