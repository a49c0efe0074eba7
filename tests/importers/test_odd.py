"""Inputs that are odd and not torn: each gives its figures, or one clear reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from specdiag.analysis import analyze
from specdiag.errors import InputError
from specdiag.importers.registry import opened
from specdiag.report import Report
from specdiag.summary import Options
from specdiag.trace.events import TallyEvent, Trace
from tests.importers.common import imported, noted, tallies

ANSWER = {"timings": {"draft_n": 12, "draft_n_accepted": 6, "predicted_n": 11}}


def report(path: Path, text: str) -> Report:
    """The report on such an input."""
    path.write_text(text)
    return analyze(str(path), Options(replicates=20))


def response(histogram: list[int], name: str = "r") -> dict[str, Any]:
    """A response of vLLM with full blocks."""
    full, rounds = len(histogram) - 1, sum(histogram)
    accepted = sum(i * n for i, n in enumerate(histogram))
    stats = {
        "acceptance_histogram": histogram,
        "num_spec_steps": rounds,
        "num_accepted_draft_tokens": accepted,
        "num_draft_tokens": rounds * full,
        "num_spec_tokens": full,
    }
    return {
        "id": name,
        "usage": {"completion_tokens": 1 + rounds + accepted},
        "metrics": {"speculative_decoding": stats},
    }


def test_half_of_a_surrogate_pair_is_replaced_and_noted() -> None:
    """Such a half is no character: the record counts, under a name that can be written."""
    text = '{"id": "a\\ud800", ' + json.dumps(response([1, 1, 1, 1]))[1:].replace('"id": "r", ', "")
    events, notes = imported(text, "vllm/response")
    [event] = [event for event in events if isinstance(event, TallyEvent)]
    assert (event.request, event.accepted) == ("a?", 6)
    assert noted(notes, "invalid_utf8") == ["half of a surrogate pair"]


def test_a_task_without_a_draft_has_no_rounds() -> None:
    """llama-server prints a mean length of 1 where nothing was generated: there are no rounds, and no rate."""
    text = (
        "slot print_timing: id  0 | task 5 |        eval time = 1000.00 ms /   11 tokens ( 3.9 ms per token, 255.00 tokens per second)\n"
        "slot print_timing: id  0 | task 5 | draft acceptance = 0.00000 (    0 accepted /    0 generated), mean len =  1.00\n"
    )
    [event] = tallies(text, "llama-cpp/log")
    assert (event.accepted, event.proposed, event.rounds) == (0, 0, 0)


@pytest.mark.parametrize("text", ["[{0},\n{0}]", "[{0}\n,{0}\n]", "[\n{0},\n{0}\n]", "[{0},{0}]"])
def test_a_list_may_be_broken_between_its_members(text: str) -> None:
    """Wherever the line ends stand, both records count."""
    assert len(tallies(text.replace("{0}", json.dumps(ANSWER)), "llama-cpp/response")) == 2


def test_a_paste_wrapped_inside_a_marker_is_recognised(tmp_path: Path) -> None:
    """Eighty columns of a terminal break words; what is broken so is still known by its words."""
    line = (
        "INFO 11-03 10:00:00 [metrics.py:96] SpecDecoding metrics: Mean acceptance length: 2.50, Accepted throughput: 0.60 tokens/s, "
        "Drafted throughput: 1.20 tokens/s, Accepted: 6 tokens, Drafted: 12 tokens, Per-position acceptance rate: 0.750, 0.500, 0.250, "
        "Avg Draft acceptance rate: 50.0%"
    )
    path = tmp_path / "w.log"
    path.write_text("".join(f"{line[i : i + 80]}\n" for i in range(0, len(line), 80)))
    name, stream = opened(str(path))
    assert name == "vllm/log"
    assert b'"accepted":6' in b"".join(piece.data for piece in stream)


def test_conditional_acceptance_is_of_blocks_that_have_the_position(tmp_path: Path) -> None:
    """Blocks of one draft say nothing of a second one: ten rounds came to it, and ten of these accepted it."""
    text = "\n".join(json.dumps(item) for item in (response([10, 90], "a"), response([0, 0, 0, 0, 0, 10], "b")))
    counts = report(tmp_path / "k.jsonl", text).drafters[0].engine_counts
    assert (counts["engine_position_acceptance_2"].numerator, counts["engine_position_acceptance_2"].denominator) == (
        10,
        10,
    )
    assert (counts["engine_position_acceptance_1"].numerator, counts["engine_position_acceptance_1"].denominator) == (
        100,
        110,
    )
    assert (counts["engine_position_reach_2"].numerator, counts["engine_position_reach_2"].denominator) == (10, 110)


def test_windows_that_are_not_added_are_listed(tmp_path: Path) -> None:
    """Intervals of a log beside responses: the report has the rates of one, and the sums of both."""
    line = "Draft acceptance rate: 50.0%, Accepted: 6 tokens, Drafted: 12 tokens\n"
    (tmp_path / "a.log").write_text(f"INFO [metrics.py:1] SpecDecoding metrics: {line}")
    (tmp_path / "b.json").write_text(json.dumps(response([1, 1, 1, 1])))
    [drafter] = analyze([str(tmp_path / "a.log"), str(tmp_path / "b.json")], Options(replicates=20)).drafters
    assert drafter.engine_window is not None
    assert drafter.engine_window.window == "request"
    assert [(each.window, each.counts) for each in drafter.engine_others] == [
        ("interval", {"proposed": 12, "accepted": 6})
    ]


def test_a_drafter_that_the_engine_names_is_the_one_that_is_declared() -> None:
    """No other drafter stands in the header of what was imported."""
    text = json.dumps(
        {"question_id": 1, "model_id": "eagle", "choices": [{"accept_lengths": [1, 2, 4, 3], "new_tokens": [10]}]}
    )
    events, _ = imported(text, "spec-bench/answers")
    [header] = [event for event in events if isinstance(event, Trace)]
    assert [info.id for info in header.drafters or []] == ["eagle"]


@pytest.mark.parametrize(
    ("output", "surplus"), [(10, []), (11, []), (500, ["500 tokens, 6 + 4 = 10 by the counts: 490 more"])]
)
def test_output_that_no_step_gave(output: int, surplus: list[str]) -> None:
    """Every step of Spec-Bench is listed, so output above their sum and a token of prefill for each turn is of other steps."""
    choice = {"accept_lengths": [1, 2, 4, 3], "new_tokens": [output]}
    _, notes = imported(json.dumps({"question_id": 1, "model_id": "m", "choices": [choice]}), "spec-bench/answers")
    assert noted(notes, "rounds_without_draft") == surplus


def test_more_accepted_than_output_is_no_run() -> None:
    """47 accepted tokens cannot be in 10."""
    text = "n_draft   = 8\nn_predict = 10\nn_drafted = 132\nn_accept  = 47\naccept    = 35.606%\n"
    with pytest.raises(InputError, match="47 accepted, 10 output tokens"):
        imported(text, "llama-cpp/cli")


def test_the_wrong_engine_is_told_which_it_looks_like(tmp_path: Path) -> None:
    """`--from` of another engine names the one whose log it is."""
    path = tmp_path / "v.log"
    path.write_text("SpecDecoding metrics: Draft acceptance rate: 50.0%, Accepted: 6 tokens, Drafted: 12 tokens\n")
    with pytest.raises(InputError, match="It looks like vllm/log: --from vllm/log"):
        opened(str(path), "sglang")
