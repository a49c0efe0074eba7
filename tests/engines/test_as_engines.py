"""What engines make of chains, trees, gaps, counts and estimates; the worked example itself is in test_worked_example.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from specdiag.engines.catalogue import ENGINES
from specdiag.report import Report
from tests.engines.native import MASKS, WORKED, Round, report, request, trace, value, values, view

EOS = {"accepted": 2, "committed": 1, "stop": "eos"}
PADDING: dict[str, Any] = {"accepted": 0, "stop": "padding", "next": None}


def of(path: Path, *rounds: Round, masks: tuple[str, ...] = ()) -> Report:
    """The report on one request of these rounds, under every definition."""
    return report(path / "t.jsonl", trace(request("r", rounds, masks)), *ENGINES)


@pytest.fixture
def worked(tmp_path: Path) -> Report:
    """The worked example, with p, q and u of every position."""
    return of(tmp_path, *WORKED, masks=MASKS)


def test_counts(worked: Report) -> None:
    """Output tokens hold the token of prefill where the engine samples one there."""
    assert view(worked, "vllm").counts == {"A": 6, "R": 4, "D": 12, "G": 11, "n": 1, "M": 8, "K": 3}
    assert view(worked, "transformers").counts["G"] == 10


def test_nothing_accepted_is_not_0_under_the_old_rule_of_sglang(tmp_path: Path) -> None:
    """With no draft accepted, the rate of SGLang 0.5.4 is 1 / (γ + 1)."""
    found = of(tmp_path, (3, 0), (3, 0))
    assert value(found, "sglang-0.5.4", "accept rate") == 0.25
    assert value(found, "sglang", "accept rate") == 0


def test_a_padded_round(tmp_path: Path) -> None:
    """A round of placeholders is a round to vLLM alone."""
    found = of(tmp_path, (3, 0, PADDING), *WORKED)
    assert view(found, "vllm").counts | {"G": 0} == {"A": 6, "R": 5, "D": 15, "G": 0, "n": 1, "K": 3}
    assert value(found, "vllm", "Mean acceptance length") == 2.2
    assert value(found, "vllm", "Draft acceptance rate") == 0.4
    assert values(found, "vllm", "Per-position acceptance rate") == [0.6, 0.4, 0.2]
    for engine in ("sglang", "llama-cpp", "exllama", "transformers"):
        assert view(found, engine).counts["R"] == 4


def test_a_stop_inside_the_accepted_drafts(tmp_path: Path) -> None:
    """Where the first accepted draft of the last round ends the output, engines differ in what of the round they count."""
    found = of(tmp_path, *WORKED[:3], (3, 2, EOS))
    assert view(found, "vllm").counts["G"] == 9
    assert value(found, "vllm", "Mean acceptance length") == 2.5
    assert value(found, "vllm", "Draft acceptance rate") == 0.5
    assert value(found, "sglang", "spec_accept_length") == 2.25
    assert value(found, "sglang", "spec_accept_rate") == 0.5
    assert value(found, "sglang", "accept len") == 2.5
    assert value(found, "sglang-v1", "accept len") == 2.0
    assert view(found, "sglang-v1").counts["A"] == 4
    assert value(found, "llama-cpp", "draft acceptance") == 0.5
    assert value(found, "exllama", "accepted") == pytest.approx(4 / 9, abs=1e-11)
    assert view(found, "exllama").counts["A"] == 4
    assert view(found, "transformers").counts["A"] == 4
    assert view(found, "transformers").counts["D"] == 12
    assert view(found, "mlx").counts == {"A": 5, "R": 4, "D": 12, "G": 8, "n": 1, "K": 3}


def test_a_round_without_a_draft(tmp_path: Path) -> None:
    """Such a round is invisible to most engines; its token is in the output all the same."""
    found = of(tmp_path, *WORKED, (0, 0))
    for engine in ("vllm", "llama-cpp", "exllama"):
        assert view(found, engine).counts["R"] == 4
    assert view(found, "vllm").counts["G"] == 12
    for engine in ("transformers", "ollama"):
        assert view(found, engine).counts["R"] == 5
    assert value(found, "ollama", "avg_accepted") == 1.2
    assert value(found, "trtllm-bench", "acceptance_length_percentiles") == 2.0


def test_a_gap_tells_matches_of_greedy_verification(tmp_path: Path) -> None:
    """A draft without a gap to the verifier's best token is a match, wherever it stands."""
    rounds = [
        (size, accepted, {"gap": [0.0 if mark == "1" else 1.5 for mark in mask]})
        for (size, accepted), mask in zip(WORKED, MASKS, strict=True)
    ]
    assert value(of(tmp_path, *rounds), "vllm-v0", "Draft acceptance rate") == pytest.approx(8 / 12, abs=1e-11)


def test_what_could_not_be_confirmed_is_marked(worked: Report) -> None:
    """The definitions that rest on a guess say so."""
    marked = {each.engine for each in worked.engines if any("(not confirmed)" in text for text in each.assumes)}
    assert marked == {"fastdeploy", "fastdeploy-prefill", "trtllm-bench", "trtllm-bench-1"}


def test_a_token_that_is_not_logged_is_assumed(tmp_path: Path) -> None:
    """Where `next` is not logged, each judged round is taken to have one token of the verifier's own, and the view says how many."""
    rounds = [(size, accepted, {"next": None}) for size, accepted in WORKED]
    found = view(of(tmp_path, *rounds), "vllm")
    assert found.counts["G"] == 11
    assert found.assumes == [
        "in 4 of the rounds no token of the verifier's own is logged, and one is taken to have been there"
    ]


def test_how_an_engine_counts_is_said_where_it_makes_a_difference(tmp_path: Path, worked: Report) -> None:
    """A view names what its engine counts otherwise, of what the rounds hold, and nothing else."""
    assert all(not each.counting for each in worked.engines)
    found = of(tmp_path, (3, 0, PADDING), *WORKED[:3], (3, 2, EOS), (0, 0))
    assert view(found, "vllm").counting == [
        "where the output ends inside the accepted drafts, all of them count",
        "rounds of placeholders count as rounds that accepted nothing",
        "rounds without a draft are in no counter",
    ]
    assert view(found, "sglang").counting[-1] == "rounds without a draft are in no counter but output tokens"
    [rate] = [figure for figure in view(found, "vllm-v0").figures if figure.name == "Draft acceptance rate"]
    assert "every block as a full one" in rate.counts_in


CHAIN: list[dict[str, Any]] = [
    {"id": "a", "drafter": "one", "parent": None, "start": 0, "tokens": [1, 2]},
    {"id": "b", "drafter": "two", "parent": "a", "start": 2, "tokens": [3, 4, 5]},
]


@pytest.mark.parametrize(
    ("blocks", "accepted", "want"),
    [
        (CHAIN, (2, 1), {"A": 3, "R": 1, "D": 5, "G": 5, "n": 1, "K": 5}),
        (CHAIN, (1, 0), {"A": 1, "R": 1, "D": 5, "G": 3, "n": 1, "K": 5}),
        ([CHAIN[0], CHAIN[1] | {"parent": None, "start": 0}], (1, 2), {"A": 2, "R": 1, "D": 5, "G": 4, "n": 1, "K": 5}),
        ([CHAIN[0], CHAIN[1] | {"start": 1}], (2, 3), {"A": 4, "R": 1, "D": 5, "G": 6, "n": 1, "K": 5}),
    ],
    ids=["chain", "cut chain", "siblings", "from the middle"],
)
def test_a_chain_or_tree_is_one_round(
    tmp_path: Path, blocks: list[dict[str, Any]], accepted: tuple[int, ...], want: dict[str, int]
) -> None:
    """To an engine the blocks of a chain are one draft; of a tree every node is proposed, and one path is accepted."""
    where = {"request": "r", "round": 0}
    events = trace([{"type": "proposal", **where, **block} for block in blocks])
    for block, number in zip(blocks, accepted, strict=True):
        verdict = {"type": "verdict", "proposal": block["id"], **where, "accepted": number}
        events.append(verdict | {"next": {"token": 9, "kind": "correction"}})
    counts = view(report(tmp_path / "t.jsonl", events, "vllm"), "vllm").counts
    assert {name: n for name, n in counts.items() if name != "M"} == want


def counts(path: Path, *engines: str, **fields: Any) -> list[Any]:
    """The views of one tally of an engine."""
    tally = {"type": "tally", "drafter": "draft", "window": "interval", **fields}
    return list(report(path / "t.jsonl", [*trace(), tally], *engines).engines)


def test_counts_of_an_engine_give_the_figures_of_another(tmp_path: Path) -> None:
    """Where a log has only counts, another engine's figures come from them, as far as they carry."""
    fields = {"accepted": 6, "rounds": 4, "proposed": 12, "completion_tokens": 12, "requests": 2, "definitions": "vllm"}
    sglang, mlx, v0 = counts(tmp_path, "sglang", "mlx", "vllm-v0", **fields)
    assert sglang.of == "draft, counts of an engine: interval"
    found = {figure.name: figure.rate.value for figure in sglang.figures}
    assert found == {"accept len": 2.5, "accept rate": None, "spec_accept_length": 3.0, "spec_accept_rate": None}
    [share] = [figure.rate for figure in mlx.figures]
    assert (share.numerator, share.denominator) == (6, 10), "without the two tokens of prefill"
    assert [figure.rate.value for figure in v0.figures] == [None, None]


def test_counts_past_a_stop_give_no_share_of_the_output(tmp_path: Path) -> None:
    """Nine output tokens of rounds that gave ten: one was cut, and of two requests it is not known where; of one it is."""
    fields = {"accepted": 6, "rounds": 4, "proposed": 12, "definitions": "vllm"}
    sglang, mlx, exllama = counts(tmp_path, "sglang", "mlx", "exllama", completion_tokens=11, requests=2, **fields)
    assert {figure.name: figure.rate.value for figure in sglang.figures}["spec_accept_length"] == 2.75
    assert mlx.figures[0].rate.absent == (
        "accepted drafts behind a stop are among these, and in how many requests is not known"
    )
    assert exllama.figures[0].rate.absent == "proposed drafts behind a stop are among these, and how many is not known"
    [one] = counts(tmp_path, "mlx", completion_tokens=9, requests=1, **fields)
    assert "output tokens below the counts are taken to be drafts behind a stop" in one.assumes[0]
    assert (one.figures[0].rate.numerator, one.figures[0].rate.denominator) == (5, 8)


def test_a_mean_over_requests_of_estimated_counts_has_bounds(tmp_path: Path) -> None:
    """The bounds of one request's length are half as wide in the mean of two."""
    one = {"type": "tally", "drafter": "draft", "window": "request", "requests": 1, "proposed": 12}
    events = [one | {"accepted": 6, "rounds": 4, "estimated": {"rounds": 1}}, one | {"accepted": 4, "rounds": 4}]
    [aiperf] = report(tmp_path / "t.jsonl", [*trace(), *events], "aiperf").engines
    rate = next(figure.rate for figure in aiperf.figures if figure.name == "spec_decode_acceptance_length")
    assert (rate.value, rate.low, rate.high) == (2.25, 2.1, 2.5)
    assert (rate.numerator, rate.denominator, rate.source) == (4.5, 2, "estimated")


def test_a_figure_that_its_counts_give_is_not_one_without_counts(tmp_path: Path) -> None:
    """What a report's counts give is computed again, and not listed as printed alone: passes and blocks by position, too."""
    tally = {"type": "tally", "drafter": "draft", "window": "request", "requests": 1, "accepted": 6, "rounds": 4}
    trtllm = tally | {"definitions": "trtllm", "completion_tokens": 11}
    mlc = tally | {"definitions": "mlc", "reached": [3, 2, 1], "drafted": [4, 4, 3], "proposed": 11}
    events = [
        trtllm | {"printed": {"avg_decoded_tokens_per_iter": "2.2"}},
        mlc | {"printed": {"accept_prob[3]": "0.333", "accept_len": "2.5"}},
    ]
    assert report(tmp_path / "t.jsonl", [*trace(), *events]).drafters[0].engine_printed == []


def test_counts_that_follow_from_rounded_figures_have_bounds(tmp_path: Path) -> None:
    """A figure made of an estimated count is estimated, between what the count may be."""
    [view] = counts(tmp_path, "vllm", accepted=6, rounds=4, proposed=12, estimated={"rounds": 1})
    found = {figure.name: figure.rate for figure in view.figures}
    length, rate = found["Mean acceptance length"], found["Draft acceptance rate"]
    assert (length.value, length.low, length.high) == (2.5, 2.2, 3.0)
    assert (length.interval, length.source) == ("rounding", "estimated")
    assert (rate.value, rate.interval, rate.source) == (0.5, None, "recorded")
