"""Figures that have a known right value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specdiag.analysis import analyze
from specdiag.measure.shared import _shares
from specdiag.report import Report
from specdiag.summary import Options
from tests import build

NO_INTERVALS = Options(replicates=0)


def report(path: Path, events: build.Events, options: Options = NO_INTERVALS) -> Report:
    """The report on these events."""
    return analyze(build.write(path / "t.jsonl", events), options)


def chain(*, size: int = 2, first: int = 2, second: int = 2, **where: Any) -> build.Events:
    """One round of a block of `think` and, behind it, one of `code`."""
    name = f"{where.get('request', 'r0')}/{where.get('round', 0)}"
    return [
        build.block(f"{name}a", "think", size, **where),
        build.block(f"{name}b", "code", size, parent=f"{name}a", start=size, **where),
        build.verdict(f"{name}a", first, **where),
        build.verdict(f"{name}b", second if first == size else 0, **where),
    ]


def test_collateral_is_charged_to_whoever_was_refused(tmp_path: Path) -> None:
    """`think` refused at its first token: its own second token and both of `code` stand in its row of the blame matrix."""
    blame = report(tmp_path, [build.header(), *chain(first=0)]).blame
    assert blame is not None
    assert (blame.drafters, blame.tokens, blame.remainder) == (["think", "code"], [[1, 2], [0, 0]], 0)


def test_depth_counts_the_tokens_behind_the_refused_one(tmp_path: Path) -> None:
    """Rounds cut at tokens 1, 3 and not at all have depths 3, 1 and 0: 4/3 over all, 2 over the truncated ones."""
    events = [build.header(), *chain(first=0), *chain(round=1, second=0), *chain(round=2)]
    joint = report(tmp_path, events).shared
    assert joint is not None
    assert joint.rates["truncation_depth"].value == pytest.approx(4 / 3)
    assert joint.rates["truncation_depth_when_truncated"].value == 2
    assert (joint.rounds, joint.truncating_rounds, joint.fates.rejected) == (3, 2, 2)


def test_a_head_block_is_alone_and_shared_at_once(tmp_path: Path) -> None:
    """The first block of a shared chain has no other drafter before it: it counts as alone, the one behind it does not."""
    found = {d.id: d.views for d in report(tmp_path, [build.header(), *chain()]).drafters}
    assert (found["think"]["solo"].blocks, found["think"]["shared"].blocks) == (1, 1)
    assert (found["code"]["solo"].blocks, found["code"]["shared"].blocks) == (0, 1)


def test_composition_is_what_alone_rates_would_give(tmp_path: Path) -> None:
    """`think` alone passes each of 2 positions half the time, `code` always: (1/2 + 1/4 + 1/4 + 1/4) / 4 of a chain of 2 + 2."""
    events = [build.header()]
    for i, (size, accepted) in enumerate([(2, 0), (2, 0), (2, 1), (2, 2)]):
        events += [
            build.block(f"t{i}", "think", size, request=f"t{i}"),
            build.verdict(f"t{i}", accepted, request=f"t{i}"),
        ]
    events += [build.block("c", "code", 2, request="c"), build.verdict("c", 2, request="c")]
    # Heads of chains count as alone too: four chains that think passes half of the time keep its rates at one half.
    for i, accepted in enumerate([0, 0, 1, 2]):
        events += chain(first=accepted, request=f"x{i}")
    joint = report(tmp_path, events).shared
    assert joint is not None
    composed = joint.rates["composition_acceptance"]
    assert composed.value == pytest.approx((1 / 2 + 1 / 4 + 1 / 4 + 1 / 4) / 4)
    assert composed.source == "estimated"


def test_composition_is_absent_without_evidence_alone(tmp_path: Path) -> None:
    """`code` was never alone: what composition explains is not said, and the reason names the drafter and the position."""
    joint = report(tmp_path, [build.header(), *chain()]).shared
    assert joint is not None
    rate = joint.rates["composition_acceptance"]
    assert rate.value is None
    assert rate.absent == "code was never judged alone at position 1"


def test_survival_is_product_limit_with_mixed_lengths(tmp_path: Path) -> None:
    """With block lengths 1 and 4 and every judged token accepted, acceptance at position 4 is 1 of those that came so far, not 1/2."""
    events = [build.header()]
    for i, size in enumerate([1, 4, 1, 4]):
        events += [build.block(f"p{i}", "code", size, request=f"r{i}"), build.verdict(f"p{i}", size, request=f"r{i}")]
    (drafter,) = [d for d in report(tmp_path, events).drafters if d.id == "code"]
    fourth = drafter.views["all"].positions[3]
    assert (fourth.acceptance.value, fourth.at_risk, fourth.reach.value) == (1, 2, 0.5)


def test_shapley_values_are_those_of_brute_force() -> None:
    """The closed form for three players agrees with the sum over all orders in which they join."""
    x = {"a": 0.5, "b": 0.8, "c": 0.9}
    closed = _shares({name: np.array([value]) for name, value in x.items()})
    orders = [("a", "b", "c"), ("a", "c", "b"), ("b", "a", "c"), ("b", "c", "a"), ("c", "a", "b"), ("c", "b", "a")]
    brute = dict.fromkeys(x, 0.0)
    for order in orders:
        product = 1.0
        for name in order:
            brute[name] += product * (x[name] - 1) / len(orders)
            product *= x[name]
    assert {name: float(value[0]) for name, value in closed.items()} == pytest.approx(brute)


def test_one_drafter_is_out_of_scope_and_still_gets_its_figures(tmp_path: Path) -> None:
    """A trace of one drafter has its acceptance, and a notice that the joint diagnosis does not apply."""
    out = report(tmp_path, build.rounds(40, drafters=("code",)))
    assert (out.scope.status, out.headline.verdict) == ("out_of_scope", "out_of_scope")
    assert out.rates["draft_acceptance"].value == 0.5


def test_a_pool_alike_is_out_of_scope(tmp_path: Path) -> None:
    """Two drafters with tokenizers of one fingerprint and the same sampling act as one, whatever the tokenizers are called."""
    alike = [
        {"id": "code", "tokenizer": "a", "temperature": 0.7},
        {"id": "think", "tokenizer": "b", "temperature": 0.7},
    ]
    same = {"a": {"fingerprint": "f"}, "b": {"fingerprint": "f"}}
    events = build.rounds(40)
    events[0] = build.header(drafters=alike, tokenizers=same)
    assert report(tmp_path, events).scope.status == "out_of_scope"
    events[0] = build.header(drafters=alike)
    assert report(tmp_path, events).scope.status == "in_scope"


def test_scope_is_unknown_where_the_header_does_not_say(tmp_path: Path) -> None:
    """Without tokenizers and temperatures it cannot be said whether the pool is alike."""
    events = build.rounds(40)
    events[0] = build.header(drafters=[{"id": "code"}, {"id": "think"}])
    assert report(tmp_path, events).scope.status == "unknown"


def test_engine_counts_give_the_rates_they_can(tmp_path: Path) -> None:
    """Intervals add, a lifetime counter counts from its last reset, and what needs rounds is absent with its reason."""
    events = [
        build.header(),
        {
            "type": "tally",
            "drafter": "code",
            "window": "interval",
            "rounds": 4,
            "proposed": 12,
            "accepted": 6,
            "reached": [3, 2, 1],
        },
        {"type": "tally", "drafter": "code", "window": "interval", "rounds": 4, "proposed": 12, "accepted": 3},
        *(
            {"type": "tally", "drafter": "think", "window": "lifetime", "rounds": r, "proposed": 3 * r, "accepted": r}
            for r in (10, 20, 5)
        ),
    ]
    out = report(tmp_path, events)
    code, think = ({name: (r.numerator, r.denominator) for name, r in d.engine_counts.items()} for d in out.drafters)
    assert code["engine_draft_acceptance"] == (9, 24)
    assert code["engine_acceptance_length"] == (9, 8)
    assert code["engine_position_reach_1"] == (3, 4), "the second report has no positions"
    assert think["engine_draft_acceptance"] == (25, 75)
    assert out.rates["draft_acceptance"].value is None


def test_slices_add_up_to_the_whole(tmp_path: Path) -> None:
    """By drafter, branch and label the submitted and accepted tokens of the slices sum to those of the trace."""
    out = report(tmp_path, build.rounds(60), Options(replicates=0, by=("drafter", "branch", "label")))
    assert len(out.slices) == 2
    assert sum(row.fates.submitted for row in out.slices) == out.fates.submitted
    assert sum(row.fates.accepted for row in out.slices) == out.fates.accepted


def test_pooled_figures_that_mix_say_so(tmp_path: Path) -> None:
    """Two traces of different temperature, rule and build pool with a word about each."""
    other = build.rounds(20)
    other[0] = build.header(
        trace_id="u", verification={"rule": "greedy"}, labels={"build": "2"}, verifier={"id": "v", "temperature": 0.0}
    )
    paths = [build.write(tmp_path / "a.jsonl", build.rounds(20)), build.write(tmp_path / "b.jsonl", other)]
    said = " ".join(analyze(paths, NO_INTERVALS).mixed)
    assert "verification rules: greedy; rejection" in said
    assert "verifier temperatures: 0.0; 0.7" in said
    assert "builds" in said


def test_greedy_requests_that_repeat_count_once(tmp_path: Path) -> None:
    """Five copies of the same greedy request are one distinct request; under sampling they are five."""
    for rule, distinct in (("greedy", 1), ("rejection", 5)):
        events = [build.header(verification={"rule": rule})]
        for i in range(5):
            events += [build.block(f"p{i}", request=f"r{i}"), build.verdict(f"p{i}", 2, request=f"r{i}")]
        out = report(tmp_path, events)
        assert (out.requests.total, out.requests.distinct) == (5, distinct)


def test_times_give_tokens_per_second(tmp_path: Path) -> None:
    """A shared round of 5 tokens in 50 ms against rounds of 3 tokens in 20 ms of the best drafter alone: 100 against 150, a ratio of 2/3."""
    events = [build.header()]
    for i in range(4):
        where: dict[str, Any] = {"request": f"r{i}"}
        shared = chain(round=0, **where)
        for event in shared:
            event["ms"] = 10.0 if event["type"] == "proposal" else 30.0
        shared[-1]["next"] = {"token": 1, "kind": "bonus"}
        alone = [
            build.block(f"s{i}", "code", 4, round=1, start=9, ms=5.0, **where),
            build.verdict(f"s{i}", 2, round=1, ms=15.0, **where),
        ]
        alone[-1]["next"] = {"token": 1, "kind": "correction"}
        events += shared + alone
    time = report(tmp_path, events).time
    assert time is not None
    assert time.best_single == "code"
    assert time.rates["tokens_per_second_shared"].value == pytest.approx(100)
    assert time.rates["tokens_per_second_of_code"].value == pytest.approx(150)
    assert time.rates["throughput_ratio"].value == pytest.approx(2 / 3)
