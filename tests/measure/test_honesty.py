"""What the evidence cannot carry is not said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specdiag.analysis import analyze
from specdiag.report import Report
from specdiag.summary import Options
from specdiag.trace import sources
from tests import build
from tests.measure.test_figures import chain

QUICK = Options(replicates=0)


def report(path: Path, events: build.Events, options: Options = QUICK) -> Report:
    """The report on these events."""
    return analyze(build.write(path / "t.jsonl", events), options)


def test_no_verdict_at_all_is_no_acceptance_of_zero(tmp_path: Path) -> None:
    """Proposals without a single verdict have no acceptance and no waste: absent, with the reason, never 0 and 1."""
    out = report(tmp_path, [build.header(), build.block("p"), build.block("q", "think")])
    for name in ("draft_acceptance", "waste", "acceptance_length", "judged_acceptance"):
        assert out.rates[name].value is None
        assert out.rates[name].absent
    assert out.fates.unjudged == 8


@pytest.mark.parametrize(
    ("rule", "positions"), [("rejection", 4), ("unknown", 4), ("greedy", None), ("exact_match", None), ("block", None)]
)
def test_only_the_ratio_test_is_run_again(tmp_path: Path, rule: str, positions: int | None) -> None:
    """p, q and u give the verdict again under the ratio test alone: under another rule nothing is recomputed, so nothing is missed."""
    events = [
        build.header(verification={"rule": rule}),
        build.block("p", q=[0.5] * 4),
        build.verdict("p", 4, p=[0.5] * 4, u=[0.9] * 4),
    ]
    assert report(tmp_path, events).rates["verdicts_recomputed"].denominator == positions


def test_a_verdict_against_its_own_numbers_is_counted(tmp_path: Path) -> None:
    """An accepted token with u·q above p is a miss: 3 of 4 verdicts are given again."""
    events = [build.header(), build.block("p", q=[0.5] * 4), build.verdict("p", 4, p=[0.5, 0.5, 0.1, 0.5], u=[0.9] * 4)]
    rate = report(tmp_path, events).rates["verdicts_recomputed"]
    assert (rate.numerator, rate.denominator, rate.source) == (3, 4, "recomputed")


def chains_below_alone(requests: int) -> build.Events:
    """Chains that are refused at once though each drafter alone accepts everything."""
    events = [build.header()]
    for i in range(requests):
        where: dict[str, Any] = {"request": f"r{i}"}
        events += chain(first=0, **where) if i % 2 else chain(first=2, second=0, **where)
        events += [
            build.block(f"t{i}", "think", 2, round=1, start=9, **where),
            build.verdict(f"t{i}", 2, round=1, **where),
        ]
        events += [
            build.block(f"c{i}", "code", 2, round=2, start=15, **where),
            build.verdict(f"c{i}", 2, round=2, **where),
        ]
    return events


def test_the_verdict_waits_for_enough_requests(tmp_path: Path) -> None:
    """Joint acceptance far below alone is `interaction` once an interval shows it; with nine requests it is only `below_alone`, and that
    only where the intervals are apart."""
    enough = report(tmp_path, chains_below_alone(40), Options())
    assert enough.headline.verdict == "interaction"
    apart = [
        event
        for i in range(9)
        for event in (
            *chain(first=0, request=f"r{i}"),
            *(
                event
                for turn in range(1, 6)
                for name in ("think", "code")
                for event in (
                    build.block(
                        f"{name}{i}.{turn}", name, 2, request=f"r{i}", round=2 * turn + (name == "code"), start=9 * turn
                    ),
                    build.verdict(f"{name}{i}.{turn}", 2, request=f"r{i}", round=2 * turn + (name == "code")),
                )
            ),
        )
    ]
    assert report(tmp_path, [build.header(), *apart], Options()).headline.verdict == "below_alone"
    assert report(tmp_path, chains_below_alone(5), Options()).headline.verdict == "undecided"


def test_a_drafter_seldom_seen_alone_decides_nothing(tmp_path: Path) -> None:
    """A drafter refused in its one block alone may be better than that: joint acceptance above its 0 is not `no_collapse`."""
    events = [build.header()]
    for i in range(40):
        events += chain(first=2, second=1 if i % 8 else 0, request=f"r{i}")
    events += [
        build.block("c", "code", 2, request="r0", round=3, start=15),
        build.verdict("c", 0, request="r0", round=3),
    ]
    assert report(tmp_path, events, Options()).headline.verdict == "undecided"


def chains_and_alone(requests: int, think: Callable[[int], int], code: Callable[[int], int]) -> build.Events:
    """Chains of two drafters, and each of them alone, accepted as told: the joint rate is what composition explains."""
    events = [build.header()]
    for i in range(requests):
        where: dict[str, Any] = {"request": f"r{i}"}
        events += chain(first=think(i), second=code(i), **where) if think(i) else chain(first=0, **where)
        for name, start, accepted in (("code", 15, code(i)), ("think", 19, think(i))):
            events += [
                build.block(f"{name}{i}", name, 2, round=start, start=start, **where),
                build.verdict(f"{name}{i}", accepted, round=start, **where),
            ]
    return events


def test_composition_alone_is_no_interaction(tmp_path: Path) -> None:
    """One drafter that refuses at once, alone as in front of another: joint acceptance is far below what the two promise, and composition
    explains all of it."""
    out = report(tmp_path, chains_and_alone(40, lambda i: 0 if i % 4 else 2, lambda _: 2), Options())
    assert out.shared is not None
    assert abs(out.shared.rates["interaction"].value or 0) < 1e-9
    gap = out.shared.rates["inheritance_gap"]
    assert gap.value == pytest.approx(0.25 - (0.25 + 1) / 2)
    assert out.headline.verdict == "below_alone"


def test_below_the_weakest_is_domination(tmp_path: Path) -> None:
    """Two drafters that refuse every other time, in front of each other as alone: the joint rate is below that of either."""
    out = report(tmp_path, chains_and_alone(400, lambda i: i % 2 * 2, lambda i: i // 2 % 2 * 2), Options())
    assert out.rates["joint_acceptance"].value == pytest.approx(0.375)
    assert out.headline.verdict == "domination"


def vote(step: str, outcome: str) -> dict[str, object]:
    """A vote."""
    return {"type": "consensus", "request": "r0", "step": step, "quorum": 1, "ballots": [], "outcome": outcome}


def test_votes_count_once_wherever_they_come_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vote that a second rank logs far behind counts once, the first outcome standing; the same step of another trace is another."""
    monkeypatch.setattr(sources, "SEGMENT", 1000)
    first = [build.header(), vote("s1", "fallback"), *build.rounds(40)[1:], vote("s1", "agreed"), vote("s2", "agreed")]
    out = report(tmp_path, first)
    assert out.consensus is not None
    assert (out.consensus.fallback, out.consensus.steps) == (1, 2)
    both = report(tmp_path, [*first, build.header(trace_id="u"), vote("s1", "agreed")])
    assert both.consensus is not None
    assert (both.consensus.fallback, both.consensus.steps) == (1, 3)


def test_null_is_missing(tmp_path: Path) -> None:
    """null in an optional field, branch and header lists included, is the same as leaving it out."""
    header = build.header(labels=None, tokenizers=None, drafters=None, verification={"rule": None}, engine=None)
    events = [header, build.block("p", branch=None, gated=None, q=None), build.verdict("p", 2, stop=None, next=None)]
    out = report(tmp_path, events, Options(strict=True, replicates=0))
    assert out.integrity[0].code == "undeclared_drafter"
    assert (out.fates.accepted, out.traces[0].rule) == (2, "unknown")


def test_labels_may_be_numbers(tmp_path: Path) -> None:
    """A label is text to us, and a number or a flag to whoever writes it."""
    out = report(
        tmp_path,
        [build.header(labels={"batch": 8, "graph": True}), *build.rounds(4)[1:]],
        Options(strict=True, by=("label:batch",)),
    )
    assert out.traces[0].labels == {"batch": "8", "graph": "true"}
    assert out.slices[0].by == {"label:batch": "8"}


def test_a_header_part_that_cannot_be_read_does_not_cost_the_header(tmp_path: Path) -> None:
    """Drafters of the wrong type are noted, and the rule and verifier of the header still stand."""
    out = report(tmp_path, [build.header(drafters=[{"id": 7}]), *build.rounds(4)[1:]])
    assert {item.code for item in out.integrity} >= {"bad_optional_field", "undeclared_drafter"}
    assert (out.traces[0].rule, out.rounds) == ("rejection", 4)


def test_long_lines_may_have_unknown_fields(tmp_path: Path) -> None:
    """A line of more than a MiB with a field that is not known is read like any other."""
    prompt = json.loads(json.dumps({"type": "note", "text": "x", "prompt": list(range(300_000))}))
    out = report(tmp_path, [*build.rounds(4), prompt], Options(strict=True))
    assert {item.code for item in out.integrity} == {"unknown_field"}


def test_any_number_of_unknown_fields_is_no_error(tmp_path: Path) -> None:
    """A thousand fields that are not known cost no line: they are counted, and the events count."""
    events = build.rounds(4)
    events[1] |= {f"field{i}": i for i in range(1000)}
    out = report(tmp_path, events, Options(strict=True))
    assert {item.code: item.count for item in out.integrity} == {"unknown_field": 1000}
    assert out.rounds == 4


def test_a_drafter_that_abstains_pays_for_its_rounds(tmp_path: Path) -> None:
    """Half of the rounds without a block: tokens per second are over all of the drafter's rounds, 3 + 1 tokens in 40 ms."""
    events = [build.header()]
    for i, (size, accepted) in enumerate([(2, 2), (0, 0)]):
        events.append(build.block(f"p{i}", "code", size, round=i, start=3 * i, ms=0.0))
        events.append(build.verdict(f"p{i}", accepted, round=i, ms=20.0, next={"token": 1, "kind": "bonus"}))
    time = report(tmp_path, events).time
    assert time is not None
    assert time.rates["tokens_per_second_of_code"].value == pytest.approx(100)
