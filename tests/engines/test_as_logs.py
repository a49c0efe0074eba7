"""`--as` on what engines wrote themselves: the counts of one, from its own log or response, as another one would print them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from specdiag.analysis import analyze
from specdiag.report import EngineView, Rate
from specdiag.summary import Options
from tests import build

WORKED = [0, 1, 3, 2]


def views(path: Path, text: str, *engines: str) -> list[EngineView]:
    """The views of what an engine wrote."""
    path.write_text(text)
    return analyze(str(path), Options(engines=engines, replicates=20)).engines


def rates(view: EngineView) -> dict[str, Rate]:
    """Its rates by figure."""
    return {figure.name: figure.rate for figure in view.figures}


def response(steps: list[int], output: int, full: int = 3, reason: str = "stop", name: str = "r1") -> dict[str, Any]:
    """A detailed response of vLLM for rounds that accepted so many of full blocks."""
    proposed = full * len(steps)
    stats = {
        "mean_acceptance_length": 1 + sum(steps) / len(steps),
        "draft_acceptance_rate": sum(steps) / proposed,
        "acceptance_histogram": [steps.count(i) for i in range(full + 1)],
        "num_spec_steps": len(steps),
        "num_accepted_draft_tokens": sum(steps),
        "num_draft_tokens": proposed,
        "num_spec_tokens": full,
        "per_step_accepted": steps,
        "per_step_drafted": [full] * len(steps),
    }
    return {
        "id": name,
        "usage": {"completion_tokens": output},
        "choices": [{"finish_reason": reason}],
        "metrics": {"speculative_decoding": stats},
    }


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_the_last_round_of_a_response_is_cut_where_its_output_is_shorter(tmp_path: Path, reason: str) -> None:
    """Two of ten tokens behind the end: each engine counts the last round as it would have, in rounds and in counts alike."""
    text = json.dumps(response(WORKED, 9, reason=reason))
    found = views(tmp_path / "r.json", text, "vllm", "sglang", "exllama", "transformers")
    rounds = {view.engine: rates(view) for view in found if view.of == "all rounds"}
    counted = {view.engine: rates(view) for view in found if view.of != "all rounds"}
    for each in (rounds, counted):
        assert each["vllm"]["Mean acceptance length"].value == 2.5
        assert each["sglang"]["spec_accept_length"].value == 2.25
    accepted = rounds["exllama"]["accepted"]
    assert (accepted.numerator, accepted.denominator) == (4, 9)
    assert counted["exllama"]["accepted"].absent == (
        "proposed drafts behind a stop are among these, and how many is not known"
    )
    assert rounds["transformers"]["num_matches + 1"].value == counted["transformers"]["num_matches + 1"].value == 2.0


def test_rounds_without_a_draft_follow_from_the_output(tmp_path: Path) -> None:
    """vllm#24344: the n-gram run and the EAGLE run compare as tokens a pass, 5376 / 1814 and 5376 / 2189."""
    text = (
        "total_num_output_tokens: 5376\nnum_drafts: 993\nnum_draft_tokens: 4960\nnum_accepted_tokens: 3562\n"
        "mean acceptance length: 4.59\n"
        + "".join(f"acceptance at token {i}: 0.{n}\n" for i, n in enumerate([81, 74, 70, 68, 66]))
    )
    [view] = views(tmp_path / "bench.txt", text, "trtllm")
    found = rates(view)
    assert (found["acceptanceLength"].numerator, found["acceptanceLength"].denominator) == (4555, 993)
    passes = found["avg_decoded_tokens_per_iter"]
    assert (passes.numerator, passes.denominator) == (5376, 1814)
    assert passes.value == pytest.approx(2.96, abs=0.005)
    assert any("output tokens above the counts are taken to be rounds without a draft" in text for text in view.assumes)


def test_means_over_requests_and_sums_differ(tmp_path: Path) -> None:
    """The table of aggregations: (3, 3, 3) and (0, 0, 0, 0, 0) accepted of three give 2.5 as a mean over requests, 2.125 over all rounds."""
    text = "\n".join(
        json.dumps(response(steps, 1 + sum(steps) + len(steps), name=name))
        for name, steps in (("a", [3, 3, 3]), ("b", [0, 0, 0, 0, 0]))
    )
    for view in views(tmp_path / "two.jsonl", text, "aiperf"):
        found = rates(view)
        assert found["spec_decode_acceptance_length"].value == pytest.approx(2.5)
        assert found["spec_decode_token_weighted_acceptance_length"].value == pytest.approx(2.125)


def test_ratios_alone_are_said_to_be_alone(tmp_path: Path) -> None:
    """A decode log of SGLang has no count: no figure of an engine is made of it, with that reason; its rate by the newer rule is said."""
    line = (
        "[2025-11-02 14:03:11] Decode batch [4711], #running-req: 4, #full token: 1204, full token usage: 0.01, accept len: 1.00, "
        "accept rate: 0.11, cuda graph: True, gen throughput (token/s): 428.31, #queue-req: 0\n"
    )
    path = tmp_path / "s.log"
    path.write_text(line)
    report = analyze(str(path), Options(engines=("vllm", "sglang"), replicates=20))
    for view in report.engines:
        assert {rate.absent for rate in rates(view).values()} == {"the engine printed ratios without counts"}
    [told] = [item for item in report.integrity if item.code == "definition_told"]
    assert told.places[0].text == (
        "accept len 1.00, accept rate 0.11: only by (A + R) / (R * (K + 1)), K = 8; A / (R * K) is (1.00 - 1) / 8 = 0.00"
    )


def test_a_full_block_of_the_counts_is_that_of_the_rounds(tmp_path: Path) -> None:
    """Where no round had a full block, its length is that of the report beside the rounds, and nothing is assumed of it."""
    record = response([0, 1, 1], 6)
    stats = record["metrics"]["speculative_decoding"]
    stats |= {"num_draft_tokens": 6, "per_step_drafted": [2, 2, 2], "draft_acceptance_rate": 2 / 6}
    for view in views(tmp_path / "r.json", json.dumps(record), "sglang"):
        rate = rates(view)["accept rate"]
        assert (rate.numerator, rate.denominator) == (2, 9)
        assert not any("longest one seen" in text for text in view.assumes)
    rounds = build.lines([build.header(), *build.rounds(3)])
    [view] = views(tmp_path / "t.jsonl", rounds, "sglang")
    assert any("longest one seen" in text for text in view.assumes)


def test_positions_where_nothing_was_accepted_are_zero(tmp_path: Path) -> None:
    """A block of fifteen of which five are ever accepted: the others have 0 of all rounds, not no figure (DFlash, 9 %)."""
    shares = [0.6, 0.385, 0.215, 0.108, 0.062, *[0.0] * 10]
    line = (
        "(APIServer pid=1) INFO 06-02 10:00:00 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 2.37, "
        "Accepted throughput: 8.90 tokens/s, Drafted throughput: 97.50 tokens/s, Accepted: 89 tokens, Drafted: 975 tokens, "
        f"Per-position acceptance rate: {', '.join(f'{share:.3f}' for share in shares)}, Avg Draft acceptance rate: 9.1%\n"
    )
    [view] = views(tmp_path / "v.log", line, "vllm")
    found = {figure.position: figure.rate for figure in view.figures if figure.name.startswith("Per-position")}
    assert [(found[i].numerator, found[i].denominator) for i in (1, 5, 6, 15)] == [(39, 65), (4, 65), (0, 65), (0, 65)]


def test_a_drafter_with_rounds_and_counts_is_named_once(tmp_path: Path) -> None:
    """The headline takes acceptance of the rounds, and of the counts beside them only where there are no rounds."""
    path = tmp_path / "r.json"
    path.write_text(json.dumps(response(WORKED, 11)))
    headline = analyze(str(path), Options(replicates=20)).headline.sentence
    assert headline.endswith("Acceptance: 0.50 (draft).")
