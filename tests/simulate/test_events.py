"""The events say what was played, as an engine would."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from pathlib import Path

import pytest

from specdiag.analysis import analyze
from specdiag.files import written
from specdiag.simulate.incident import Pool, Scenario, trace
from specdiag.simulate.policy import EVERY
from specdiag.summary import Options
from tests.simulate.pools import ENFORCEDLY, NAIVELY, OWN, events, studied, with_steps

SHORT = with_steps(3)
SCENARIOS: list[Scenario] = [*(Pool(policy) for policy in EVERY), OWN]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_a_trace_is_clean_and_its_verdicts_come_out_again(scenario: Scenario, tmp_path: Path) -> None:
    """Strict mode reads it without a note, every identity holds, and p, q and u give every verdict."""
    path = tmp_path / "t.jsonl"
    written(path, trace(SHORT, scenario, 30, 1))
    report = analyze(str(path), Options(strict=True))
    assert report.integrity == []
    assert all(identity.holds for identity in report.identities)
    assert report.rates["verdicts_recomputed"].value == 1
    assert report.rates["verdicts_recomputed"].numerator == report.fates.judged
    assert report.scope.status == "in_scope"


def test_the_same_seed_gives_the_same_bytes() -> None:
    """For any policy; another seed gives others."""
    for scenario in (NAIVELY, ENFORCEDLY, OWN):
        first, again, other = (
            hashlib.sha256(b"".join(trace(SHORT, scenario, 20, seed))).digest() for seed in (3, 3, 4)
        )
        assert first == again != other


def test_output_grows_by_what_was_committed(tmp_path: Path) -> None:
    """The next start of a request is the last one, plus the committed tokens, plus the verifier's own."""
    path = tmp_path / "t.jsonl"
    written(path, trace(SHORT, ENFORCEDLY, 30, 1))
    starts: dict[tuple[object, object], set[int]] = defaultdict(set)
    grown: dict[tuple[object, object], int] = defaultdict(int)
    for event in events(path):
        at = event.get("request"), event.get("round")
        if event["type"] == "proposal" and event.get("parent") is None:
            starts[at].add(int(str(event["start"])))
        elif event["type"] == "verdict":
            grown[at] += int(str(event.get("committed", event["accepted"]))) + ("next" in event)
    for (request, number), begins in starts.items():
        (begin,) = begins
        after = starts.get((request, int(str(number)) + 1))
        assert after in (None, {begin + grown[request, number]})


def test_an_effect_commits_only_behind_a_quorum(tmp_path: Path) -> None:
    """Staged, voted on, then committed where enough drafters agree, else discarded; without a quorum the verifier decodes a token alone."""
    path = tmp_path / "t.jsonl"
    written(path, trace(SHORT, ENFORCEDLY, 60, 1))
    fates: dict[tuple[object, object], list[str]] = defaultdict(list)
    alone = 0
    for event in events(path):
        at = event.get("request"), event.get("step")
        if event["type"] == "effect":
            fates[at].append(str(event["action"]))
        elif event["type"] == "consensus":
            ballots = event["ballots"]
            assert isinstance(ballots, list)
            agree = sum(ballot["value"] == "agrees" for ballot in ballots)
            assert (agree >= SHORT.quorum) == (event["outcome"] == "agreed")
            fates[at].append(str(event["outcome"]))
        alone += event["type"] == "proposal" and event["tokens"] == []
    assert {tuple(fate) for fate in fates.values()} == {("stage", "agreed", "commit"), ("stage", "fallback", "discard")}
    assert len(fates) == 60 * SHORT.steps
    assert alone == sum("fallback" in fate for fate in fates.values())


def test_time_is_that_of_the_passes(tmp_path: Path) -> None:
    """A naive attempt takes its drafting, one pass and six tokens; a fallback takes a pass."""
    report = studied(NAIVELY)
    assert report.time is not None
    assert report.shared is not None
    spent = report.time.rates["tokens_per_second_shared"].denominator
    draft = 2 * (1.5 + 3 + 7) / 70 * 0.75
    assert spent == pytest.approx(report.shared.rounds * 0.040 * (1 + 6 * 0.016 + draft))
    assert report.consensus is not None
    alone = report.time.rates["tokens_per_second_independent"]
    assert alone.numerator == report.consensus.fallback
    assert alone.denominator == pytest.approx(report.consensus.fallback * 0.040)
