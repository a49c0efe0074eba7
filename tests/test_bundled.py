"""The recorded traces of the repository: their facts come out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from specdiag.analysis import analyze
from specdiag.report import Report
from specdiag.summary import Options
from tests.compare import differences
from tests.conftest import TRACES

NAMES = sorted(path.name.removesuffix(".facts.json") for path in TRACES.glob("*.facts.json"))


def trace_file(name: str) -> Path:
    """The trace of this name, plain or compressed."""
    (found,) = TRACES.glob(f"{name}.jsonl*")
    return found


def events(path: Path) -> list[dict[str, Any]]:
    """Its events, read with the standard library alone."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    return [json.loads(line) for line in text.splitlines()]


def facts(name: str) -> dict[str, Any]:
    """What an independent count over the original recording found."""
    found: dict[str, Any] = json.loads((TRACES / f"{name}.facts.json").read_text())
    return found


@pytest.fixture(scope="module", params=NAMES)
def bundled(request: pytest.FixtureRequest) -> tuple[str, Report]:
    """Each bundled trace with its report, read strictly."""
    name = str(request.param)
    return name, analyze(str(trace_file(name)), Options(strict=True))


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
    """No bundled recording chains drafters: joint acceptance is absent with its reason, not 0."""
    _, report = bundled
    assert report.shared is None
    assert report.rates["joint_acceptance"].value is None
    assert "not observed" in str(report.rates["joint_acceptance"].absent)
    assert report.headline.verdict == ("not_observed" if len(report.drafters) > 1 else "out_of_scope")


def test_contexts_drift_between_tokenizers_of_stock_generation() -> None:
    """In 172 of 539 rounds the drafter was conditioned on other bytes than the verifier, and 99 drafts vanished in translation."""
    found = events(trace_file("transformers_cross_tokenizer"))
    verdicts = {event["proposal"]: event for event in found if event["type"] == "verdict"}
    proposals = [event for event in found if event["type"] == "proposal"]
    drifted = [p for p in proposals if p["context_digest"] != verdicts[p["id"]]["context_digest"]]
    lost = [p for p in proposals if p["tokens"] and not p["submitted"]]
    assert (len(proposals), len(drifted), len(lost)) == (539, 172, 99)
