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


def tallies(path: Path, *events: dict[str, Any]) -> str:
    """A trace of such counts."""
    base = {"type": "tally", "drafter": "draft", "window": "request", "requests": 1}
    path.write_text(build.lines([build.header(), *(base | event for event in events)]))
    return str(path)


def test_a_figure_of_some_reports_says_so(tmp_path: Path) -> None:
    """Output tokens of one of two requests: what needs them is of that one, and the report and the view say of how many."""
    counts = {"accepted": 6, "rounds": 4, "proposed": 12, "definitions": "vllm"}
    path = tallies(tmp_path / "t.jsonl", counts | {"completion_tokens": 11}, counts | {"accepted": 0, "rounds": 10})
    report = analyze(path, Options(engines=("specforge", "vllm"), replicates=20))
    specforge, vllm = report.engines
    assert rates(specforge)["accept_length"].reports == 1
    assert specforge.assumes[-1] == "specforge: accept_length is of the 1 of 2 reports that have its counts"
    assert rates(vllm)["Mean acceptance length"].reports is None
    [drafter] = [each for each in report.drafters if each.engine_counts]
    assert drafter.engine_counts["engine_output_per_round"].reports == 1
    assert drafter.engine_counts["engine_acceptance_length"].reports is None


def test_drafts_up_to_a_stop_are_not_those_of_requests_without_one(tmp_path: Path) -> None:
    """One of two outputs was cut: the proposed drafts up to the stop are known of the other alone, which would be another rate."""
    counts = {"accepted": 6, "rounds": 4, "proposed": 12, "definitions": "vllm"}
    path = tallies(tmp_path / "t.jsonl", counts | {"completion_tokens": 11}, counts | {"completion_tokens": 9})
    [view] = analyze(path, Options(engines=("exllama",), replicates=20)).engines
    assert rates(view)["accepted"].absent == "proposed drafts behind a stop are among these, and how many is not known"


def test_every_round_has_a_first_draft(tmp_path: Path) -> None:
    """Of blocks that were cut short only the first position's rounds are known; one full request among them stands for none of the others."""
    counts = {"definitions": "vllm", "max_draft_tokens": 3, "rounds": 4, "reached": [3, 2, 1], "accepted": 6}
    path = tallies(tmp_path / "t.jsonl", counts | {"proposed": 12}, counts | {"proposed": 9})
    [view] = analyze(path, Options(engines=("mlc",), replicates=20)).engines
    found = {f.position: f.rate for f in view.figures if f.name == "accept_prob"}
    assert (found[1].numerator, found[1].denominator) == (6, 8)
    assert {found[i].absent for i in (2, 3)} == {"rounds by their number of drafts not known"}


def test_a_request_that_accepted_nothing_counts_in_the_length(tmp_path: Path) -> None:
    """llama-server: a mean length of 1.00 says nothing of the rounds; they are estimated, since the others alone would give 2.5."""
    path = tmp_path / "l.log"
    path.write_text(
        "slot print_timing: id  0 | task 1 | draft acceptance = 0.50000 (    6 accepted /    12 generated), mean len =  2.50\n"
        "slot print_timing: id  0 | task 2 | draft acceptance = 0.00000 (    0 accepted /    30 generated), mean len =  1.00\n"
    )
    [view] = analyze(str(path), Options(engines=("llama-cpp",), replicates=20)).engines
    rate = rates(view)["mean len"]
    assert rate.low is not None
    assert rate.high is not None
    assert rate.low <= 1 + 6 / 14 <= rate.high < 3
    assert rate.source == "estimated"


def test_a_count_that_may_be_none_leaves_a_bound(tmp_path: Path) -> None:
    """Where an estimated number of rounds may be off by more than itself, there is one round at least, and the length is bounded by it."""
    path = tallies(tmp_path / "t.jsonl", {"accepted": 6, "rounds": 10, "estimated": {"rounds": 20}})
    [view] = analyze(path, Options(engines=("vllm",), replicates=20)).engines
    rate = rates(view)["Mean acceptance length"]
    assert (rate.low, rate.value, rate.high) == (1.2, 1.6, 7.0)


def test_rounds_without_a_draft_beside_logged_rounds(tmp_path: Path) -> None:
    """A detailed response with more output than its rounds gave: figures of all rounds come of the counts alone."""
    found = views(tmp_path / "r.json", json.dumps(response(WORKED, 16)), "specforge", "spec-bench", "vllm")
    rounds = {view.engine: rates(view) for view in found if view.of == "all rounds"}
    counted = {view.engine: rates(view) for view in found if view.of != "all rounds"}
    reason = "5 more output tokens than the logged rounds gave: rounds without a draft, which were not logged"
    assert rounds["specforge"]["accept_length"].absent == reason
    assert rounds["spec-bench"]["#Mean accepted tokens"].absent == reason
    assert rounds["vllm"]["Mean acceptance length"].value == counted["vllm"]["Mean acceptance length"].value == 2.5
    assert counted["specforge"]["accept_length"].value == 4.0
    assert counted["spec-bench"]["#Mean accepted tokens"].value == pytest.approx(15 / 9)


def test_an_output_that_a_draft_ended_is_a_token_short(tmp_path: Path) -> None:
    """mlx-lm counts the drafts that it gave: one output of two ended with one, so transformers would have counted one less, and vLLM is not known."""
    counts = {"accepted": 6, "rounds": 4, "definitions": "mlx"}
    path = tallies(tmp_path / "t.jsonl", counts | {"completion_tokens": 10}, counts | {"completion_tokens": 9})
    transformers, vllm = analyze(path, Options(engines=("transformers", "vllm"), replicates=20)).engines
    length = rates(transformers)["num_matches + 1"]
    assert (length.numerator, length.denominator) == (19, 8)
    assert (
        rates(vllm)["Mean acceptance length"].absent
        == "accepted drafts behind a stop are not among these, and how many is not known"
    )


def test_rounds_of_a_benchmark_may_be_without_a_draft(tmp_path: Path) -> None:
    """Spec-Bench counts every step: that a vLLM would count the same is assumed, and said."""
    path = tallies(tmp_path / "t.jsonl", {"accepted": 6, "rounds": 4, "definitions": "spec-bench"})
    [view] = analyze(path, Options(engines=("vllm",), replicates=20)).engines
    assert "vllm: rounds without a draft, which these counts do not tell, are taken to be none" in view.assumes


def test_scrapes_in_two_files_are_two_runs_and_said_to_be(tmp_path: Path) -> None:
    """They add, and a note says that scrapes of one run belong into one file; where a counter falls they are two runs for sure."""
    text = (
        'vllm:spec_decode_num_drafts_total{{engine="0"}} {}\nvllm:spec_decode_num_draft_tokens_total{{engine="0"}} {}\n'
        'vllm:spec_decode_num_accepted_tokens_total{{engine="0"}} {}\n'
    )
    for name, numbers in (("a", (100, 300, 120)), ("b", (250, 740, 330)), ("c", (50, 150, 60))):
        (tmp_path / f"{name}.txt").write_text(text.format(*numbers))
    for names, noted in (("ab", True), ("ac", False)):
        report = analyze([str(tmp_path / f"{name}.txt") for name in names], Options(replicates=20))
        assert ("lifetimes_added" in {item.code for item in report.integrity}) is noted
