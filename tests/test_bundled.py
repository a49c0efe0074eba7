"""The recorded traces of the repository: their facts come out."""

from __future__ import annotations

import gzip
import json
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from specdiag.analysis import analyze
from specdiag.report import Drafter, Rate, Report
from specdiag.summary import Options
from tests.compare import differences
from tests.conftest import TRACES

NAMES = sorted(path.name.split(".")[0] for path in TRACES.glob("*.jsonl*"))
CHAINS = ["ngram_chain", "smollm2_chain"]
STRONG = ("code", "near")  # drafters of the verifier's tokenizer


def trace_file(name: str) -> Path:
    """The trace of this name, plain or compressed."""
    (found,) = TRACES.glob(f"{name}.jsonl*")
    return found


def events(path: Path) -> list[dict[str, Any]]:
    """Its events, read with the standard library alone."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    return [json.loads(line) for line in text.splitlines()]


def facts(name: str) -> dict[str, Any]:
    """What a count found that shares nothing with the analysis: of the original recording, or of the JSON of the trace."""
    found: dict[str, Any] = json.loads((TRACES / f"{name}.facts.json").read_text())
    return found


@pytest.fixture(scope="module", params=NAMES)
def bundled(request: pytest.FixtureRequest) -> tuple[str, Report]:
    """Each bundled trace with its report, read strictly."""
    name = str(request.param)
    return name, analyze(str(trace_file(name)), Options(strict=True))


def report_of(name: str) -> Report:
    """The report of one trace, with intervals."""
    return analyze(str(trace_file(name)), Options(strict=True))


def test_every_trace_has_its_card_and_its_facts() -> None:
    """Each recording has a card that the page of the folder leads to, and a facts file."""
    page = (TRACES / "README.md").read_text()
    for name in NAMES:
        assert f"]({name}.md)" in page
        assert (TRACES / f"{name}.md").exists()
    assert sorted(path.name.removesuffix(".facts.json") for path in TRACES.glob("*.facts.json")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_counting_again_finds_the_facts(name: str) -> None:
    """`traces/facts.py` finds what the facts file says, wherever both count it."""
    _agree(facts(name), runpy.run_path(str(TRACES / "facts.py"))["facts"](trace_file(name)))


def _agree(wanted: dict[str, Any], found: dict[str, Any]) -> None:
    if "expected_acceptance" in wanted:  # sums of reals, in another order
        one, other = wanted["expected_acceptance"], found["expected_acceptance"]
        assert (one["sum"] or 0, one["positions"]) == (pytest.approx(other["sum"] or 0, abs=1e-5), other["positions"])
    for key in wanted.keys() & found.keys() - {"expected_acceptance"}:
        if isinstance(wanted[key], dict):
            _agree(wanted[key], found[key])
        else:
            assert wanted[key] == found[key], key


def test_every_figure_is_that_of_the_plain_computation(bundled: tuple[str, Report]) -> None:
    """The slow reference over the JSON of the file agrees with every figure of the report."""
    name, report = bundled
    assert differences(report, events(trace_file(name))) == []


def test_facts_of_the_recording_come_out(bundled: tuple[str, Report]) -> None:
    """Rounds, tokens, recomputed verdicts and Σ min(1, p/q) are those counted on the original recording."""
    name, report = bundled
    totals = facts(name)["totals"]
    assert report.rounds == totals["rounds"]
    assert report.rates["committed_per_round"].numerator == totals["output_tokens"]
    recomputed = report.rates["verdicts_recomputed"]
    assert (recomputed.denominator or 0) == totals["recomputed"]
    assert (recomputed.denominator or 0) - (recomputed.numerator or 0) == totals["misses"] == 0
    assert report.rates["expected_acceptance"].numerator == pytest.approx(
        totals["expected_acceptance"]["sum"], abs=1e-5
    )


def test_position_curves_are_those_of_the_recording(bundled: tuple[str, Report]) -> None:
    """For each drafter the blocks judged and accepted at every position are those counted on the original recording."""
    name, report = bundled
    wanted = facts(name)["drafters"]
    for drafter in report.drafters:
        got = [[p.accepted, p.at_risk] for p in drafter.views["all"].positions if p.at_risk]
        assert got == [pair for pair in wanted[drafter.id]["positions"] if pair[1]]


def test_first_token_acceptance_of_the_sampled_recording() -> None:
    """First-token acceptance is 61/72, 41/69, 18/38, 14/73, 9/73 and 8/73, over 432 rounds and 804 tokens."""
    report = analyze(str(trace_file("smollm2_six_drafters_sampled")), Options(replicates=0))
    first = {d.id: (p.accepted, p.at_risk) for d in report.drafters for p in d.views["all"].positions[:1]}
    assert sorted(first.values(), reverse=True) == [(61, 72), (41, 69), (18, 38), (14, 73), (9, 73), (8, 73)]
    assert (report.rounds, report.rates["committed_per_round"].numerator) == (432, 804)


def test_joint_acceptance_is_not_observed_where_nothing_is_chained(bundled: tuple[str, Report]) -> None:
    """Where no drafter stood behind another one, joint acceptance is absent with its reason, not 0."""
    name, report = bundled
    if "shared" in facts(name) and facts(name)["shared"]["rounds"]:
        assert report.shared is not None
        return
    assert report.shared is None
    assert report.rates["joint_acceptance"].value is None
    assert "not observed" in str(report.rates["joint_acceptance"].absent)
    assert report.headline.verdict == ("not_observed" if len(report.drafters) > 1 else "out_of_scope")


def test_chains_and_blame_are_those_of_the_recording(bundled: tuple[str, Report]) -> None:
    """Shared rounds, their tokens, the depth of truncation, and who dropped whose tokens are those counted from the JSON."""
    name, report = bundled
    wanted = facts(name).get("shared")
    if wanted is None or report.shared is None or report.blame is None:
        assert not wanted or not wanted["rounds"]
        return
    got = report.shared
    assert (got.rounds, got.truncating_rounds) == (wanted["rounds"], wanted["truncated_rounds"])
    assert (got.depth_tokens, [got.fates.accepted, got.fates.submitted]) == (
        wanted["truncation_depth"],
        wanted["joint_acceptance"],
    )
    rows = zip(report.blame.drafters, report.blame.tokens, strict=True)
    dropped = {
        refused: {whose: n for whose, n in zip(report.blame.drafters, row, strict=True) if n} for refused, row in rows
    }
    assert {refused: row for refused, row in dropped.items() if row} == wanted["dropped_behind"]
    for drafter in report.drafters:
        fates = drafter.views["solo"].fates
        assert [fates.accepted, fates.submitted] == facts(name)["drafters"][drafter.id]["alone"]


def _alone(report: Report) -> dict[str, Rate]:
    return {drafter.id: _rate_alone(drafter) for drafter in report.drafters}


def _rate_alone(drafter: Drafter) -> Rate:
    return drafter.views["solo"].rates["draft_acceptance"]


@pytest.mark.parametrize("name", CHAINS)
def test_chained_over_tokenizers_joint_acceptance_is_below_that_of_the_drafters(name: str) -> None:
    """Joint acceptance is below what each strong drafter, and `think`, reaches alone, intervals apart; the refusals are `think`'s."""
    report = report_of(name)
    joint, alone = report.rates["joint_acceptance"], _alone(report)
    assert joint.high is not None
    for drafter in (*STRONG, "think"):
        assert joint.high < (alone[drafter].low or 0)
    assert report.blame is not None
    assert report.blame.drafters[0] == "think"
    assert (report.blame.shares[0].low or 0) > 0.5
    assert "behind a refusal of think, most often at position 1" in report.headline.sentence


def test_the_chain_of_ngrams_is_worse_than_its_parts_explain() -> None:
    """All four are better alone, and the chain is below what their positions alone compose to."""
    report = report_of("ngram_chain")
    assert report.headline.verdict == "interaction"
    assert report.rates["joint_acceptance"].high < min(rate.low for rate in _alone(report).values())  # type: ignore[operator, type-var]


@pytest.mark.parametrize("name", CHAINS)
def test_partitioned_by_tokenizer_joint_acceptance_recovers(name: str) -> None:
    """The same requests, no block behind one of another tokenizer: joint acceptance is three times as high or more, intervals apart."""
    partitioned = name.replace("chain", "partitioned")
    chained, apart = report_of(name).rates["joint_acceptance"], report_of(partitioned).rates["joint_acceptance"]
    assert (chained.high or 1) < (apart.low or 0)
    assert (apart.value or 0) > 3 * (chained.value or 1)
    assert facts(name)["shared"]["behind_another_tokenizer"] > 0
    assert facts(partitioned)["shared"]["behind_another_tokenizer"] == 0
    both = [
        {event["request"] for event in events(trace_file(one)) if event["type"] == "proposal"}
        for one in (name, partitioned)
    ]
    assert both[0] == both[1]


def test_a_step_commits_one_effect_where_branches_agree_and_none_where_they_fall_back() -> None:
    """Every step is voted on; each agreed one commits one effect, a fallback none; what was staged and not committed is discarded."""
    found, report = facts("smollm2_branches")["votes"], report_of("smollm2_branches")
    agreed, fallback = found["outcomes"]["agreed"], found["outcomes"]["fallback"]
    assert found["commits_by_outcome"] == {"agreed": agreed}
    assert found["effects"]["stage"] == found["effects"]["commit"] + found["effects"]["discard"]
    assert report.consensus is not None
    assert (report.consensus.agreed, report.consensus.fallback) == (agreed, fallback)
    lines = events(trace_file("smollm2_branches"))
    votes = {(e["request"], e["step"]): e for e in lines if e["type"] == "consensus"}
    for vote in votes.values():
        most = max(
            Counter(ballot.get("value") for ballot in vote["ballots"] if ballot.get("value")).values(), default=0
        )
        assert (vote["outcome"] == "agreed") == (most >= vote["quorum"])
    for effect in lines:
        if effect["type"] == "effect" and effect["action"] == "commit":
            vote = votes[effect["request"], effect["step"]]
            cast = {ballot["branch"]: ballot.get("value") for ballot in vote["ballots"]}
            assert cast[effect["branch"]] == vote["value"]


def test_one_drafter_is_out_of_scope() -> None:
    """A recording of one drafter gets its figures, and the joint diagnosis does not apply to it."""
    report = report_of("smollm2_one_drafter")
    assert report.headline.verdict == "out_of_scope"
    assert [drafter.id for drafter in report.drafters] == ["code"]
    assert report.rates["draft_acceptance"].value is not None


def test_contexts_drift_between_tokenizers_of_stock_generation() -> None:
    """In 172 of 539 rounds the drafter was conditioned on other bytes than the verifier, and 99 drafts vanished in translation."""
    found = events(trace_file("transformers_cross_tokenizer"))
    verdicts = {event["proposal"]: event for event in found if event["type"] == "verdict"}
    proposals = [event for event in found if event["type"] == "proposal"]
    drifted = [p for p in proposals if p["context_digest"] != verdicts[p["id"]]["context_digest"]]
    lost = [p for p in proposals if p["tokens"] and not p["submitted"]]
    assert (len(proposals), len(drifted), len(lost)) == (539, 172, 99)
