"""The yardstick itself is measured here: worked examples first, then the identities that hold on every trace."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import (
    ROLE_COUNTS,
    Event,
    drafters_of,
    expected_accepted,
    figures,
    hazards,
    read,
    shared_paths,
)
from tests.strategies import odd_traces, traces

ANY_TRACE = st.one_of(traces(), odd_traces())
PATIENT = settings(deadline=None)


def block(name: str, n: int, parent: str | None = None, start: int = 0, **more: Any) -> Event:
    """A proposal of n tokens; the drafter is the first letter of its name."""
    event: Event = {
        "type": "proposal",
        "id": name,
        "request": "r",
        "round": 0,
        "drafter": name[0],
        "parent": parent,
        "start": start,
        "tokens": list(range(n)),
    }
    return event | more


def verdict(name: str, accepted: int, **more: Any) -> Event:
    """The verdict on a proposal."""
    event: Event = {"type": "verdict", "proposal": name, "request": "r", "round": 0, "accepted": accepted}
    return event | more


def fates(figure: dict[str, Any]) -> tuple[int, int, int, int, int]:
    """(accepted, rejected, discarded own, discarded collateral, unjudged) of a drafter or of the totals."""
    names = ("accepted", "rejected", "discarded_own", "discarded_collateral", "unjudged")
    accepted, rejected, own, collateral, unjudged = (figure[name] for name in names)
    return accepted, rejected, own, collateral, unjudged


# Three drafters a, b and c share one prefix of 3 + 4 + 2 tokens, and the second token of b is refused.
CHAIN = [
    block("a", 3),
    block("b", 4, parent="a", start=3),
    block("c", 2, parent="b", start=7),
    verdict("a", 3),
    verdict("b", 1, next={"token": 9, "kind": "correction"}),
    verdict("c", 0),
]


def test_chain_refused_in_its_second_block() -> None:
    """The author of the refused token answers for its own tail and for all of the block behind it."""
    got = figures(CHAIN)
    assert fates(got["drafters"]["a"]) == (3, 0, 0, 0, 0)
    assert fates(got["drafters"]["b"]) == (1, 1, 2, 0, 0)
    assert fates(got["drafters"]["c"]) == (0, 0, 0, 2, 0)
    assert got["blame"] == {("b", "b"): 2, ("b", "c"): 2}
    assert got["shared"] == {
        "rounds": 1,
        "truncating_rounds": 1,
        "depth": 4,
        "submitted": 9,
        "accepted": 4,
        "rejected": 1,
        "unjudged": 0,
    }
    assert got["totals"] == {
        "proposed": 9,
        "submitted": 9,
        "gated": 0,
        "accepted": 4,
        "rejected": 1,
        "discarded_own": 2,
        "discarded_collateral": 2,
        "unjudged": 0,
        "judged": 5,
        "committed": 4,
        "rounds": 1,
        "verifier_tokens": 1,
        "requests": 1,
    }
    assert got["notes"] == {}


def test_roles_and_positions_on_a_chain() -> None:
    """The head of a shared chain is solo and shared, and only judged positions are at risk."""
    drafters = figures(CHAIN)["drafters"]
    head = {"blocks": 1, "submitted": 3, "accepted": 3, "rejected": 0, "judged": 3, "committed": 3}
    nothing = dict.fromkeys(head, 0)
    assert (drafters["a"]["solo"], drafters["a"]["shared"], drafters["a"]["independent"]) == (head, head, nothing)
    assert drafters["b"]["solo"] == nothing
    assert drafters["b"]["shared"]["judged"] == 2
    assert drafters["b"]["positions"]["shared"] == {1: (1, 1, 1), 2: (0, 1, 1), 3: (0, 0, 1), 4: (0, 0, 1)}
    assert drafters["b"]["positions"]["all"] == drafters["b"]["positions"]["shared"]
    assert drafters["b"]["positions"]["solo"] == {}
    assert drafters["c"]["positions"]["all"] == {1: (0, 0, 1), 2: (0, 0, 1)}


def test_chain_without_one_of_its_drafters() -> None:
    """What stood before the drafter is decided by the log, what stood behind it is estimated or unknown."""
    got = figures(CHAIN)
    assert got["marginal"] == {
        "a": (0, 0, Fraction(1), 6),  # b keeps its first token for certain and never its second, c is never reached
        "b": (3, 3, None, 2),  # nobody knows what c is worth: no token of it was ever judged
        "c": (4, 7, Fraction(0), 0),
    }
    assert got["shapley"] is None
    assert got["composition"] is None


def test_drafter_behind_a_refusal_changes_nothing_for_those_behind_it() -> None:
    """Without a drafter that was not reached itself, the blocks behind it are still lost, and that is decided."""
    events = [*CHAIN[:5], block("d", 1, parent="c", start=9), verdict("d", 0)]
    assert figures(events)["marginal"]["c"] == (4, 8, Fraction(0), 0)


def test_tree_joined_before_and_behind_the_refused_token() -> None:
    """A child that joins inside the accepted part lives, its sibling behind the refused token does not."""
    events = [
        block("a", 3),
        block("b", 2, parent="a", start=2),
        block("c", 1, parent="a", start=3),
        verdict("a", 2),
        verdict("b", 1),
        verdict("c", 0, judged=0),
    ]
    got = figures(events)
    assert fates(got["drafters"]["a"]) == (2, 1, 0, 0, 0)
    assert fates(got["drafters"]["b"]) == (1, 1, 0, 0, 0)
    assert fates(got["drafters"]["c"]) == (0, 0, 0, 1, 0)
    assert got["blame"] == {("a", "c"): 1}
    assert shared_paths(read(events)[0]) == [
        [("a", 3)],
        [("a", 2), ("b", 2)],
        [("a", 3), ("c", 1)],
    ]


def test_parallel_roots_share_a_round_and_no_prefix() -> None:
    """Two roots of two drafters in one round are solo, and neither shared nor independent."""
    got = figures([block("a", 2), block("b", 2), verdict("a", 2), verdict("b", 0)])
    for drafter in ("a", "b"):
        assert [got["drafters"][drafter][role]["blocks"] for role in ("solo", "shared", "independent")] == [1, 0, 0]
    assert got["shared"]["rounds"] == 0
    assert got["totals"]["rounds"] == 1
    assert got["composition"] is None
    assert got["shapley"] == {}


def test_abstaining_block_shares_nothing_and_counts_its_round() -> None:
    """A block of no tokens passes the verifier on, makes no chain shared and takes no round its independence."""
    events = [
        block("a", 0, gated=2),
        block("b", 2, parent="a"),
        verdict("b", 1),
        block("a2", 0, round=1, start=2),
        verdict("a2", 0, round=1, next={"token": 1, "kind": "bonus"}),
    ]
    got = figures(events)
    a, b = got["drafters"]["a"], got["drafters"]["b"]
    assert (a["blocks"], a["abstained"], a["rounds"], a["proposed"], a["gated"]) == (0, 2, 0, 2, 2)
    assert fates(b) == (1, 1, 0, 0, 0)
    assert [b[role]["blocks"] for role in ("solo", "shared", "independent")] == [1, 0, 1]
    assert (got["totals"]["rounds"], got["totals"]["verifier_tokens"]) == (2, 1)
    assert got["notes"] == {"proposal_orphan": 1}


def test_aborted_round_refuses_nothing() -> None:
    """Tokens of an aborted round are unjudged, nobody is blamed, and the round does not count."""
    events = [
        block("a", 3),
        block("b", 2, parent="a", start=3),
        block("c", 1, parent="b", start=5),
        verdict("a", 1, stop="aborted", next={"token": 1, "kind": "correction"}),
        verdict("b", 0, stop="aborted"),
        block("a2", 2, round=1),
        verdict("a2", 1, round=1, stop="padding"),
    ]
    got = figures(events)
    assert fates(got["totals"]) == (2, 0, 0, 0, 6)
    assert (got["totals"]["rounds"], got["totals"]["verifier_tokens"]) == (0, 0)
    assert got["blame"] == {}
    assert (got["shared"]["rounds"], got["shared"]["truncating_rounds"]) == (0, 0)
    assert got["marginal"]["b"] == (1, 4, Fraction(0), 0)  # c would not have been reached without b either
    assert got["notes"] == {"proposal_orphan": 1}


def test_committed_defaults() -> None:
    """What was accepted is committed, unless the verdict says less or its branch lost."""
    events = [
        block("a", 3),
        block("b", 3, round=1),
        block("c", 3, round=2),
        verdict("a", 2, next={"token": 1, "kind": "correction"}),
        verdict("b", 2, round=1, stop="branch_lost", next={"token": 1, "kind": "correction"}),
        verdict("c", 3, round=2, stop="eos", committed=1),
    ]
    got = figures(events)
    assert {d: got["drafters"][d]["committed"] for d in "abc"} == {"a": 2, "b": 0, "c": 1}
    assert (got["totals"]["rounds"], got["totals"]["verifier_tokens"]) == (3, 1)
    assert [got["drafters"][d]["independent"]["committed"] for d in "abc"] == [2, 0, 1]


def test_composition_of_two_drafters() -> None:
    """The joint acceptance that composition alone explains follows from the hazards of solo blocks."""
    events = [
        *[block("a1", 2, round=1), verdict("a1", 2, round=1)],
        *[block("a2", 2, round=2), verdict("a2", 1, round=2)],
        *[block("b1", 1, round=3), verdict("b1", 1, round=3)],
        *[block("b2", 1, round=4), verdict("b2", 0, round=4)],
        *[block("a3", 2, round=5), block("b3", 1, parent="a3", start=2, round=5)],
        *[verdict("a3", 0, round=5), verdict("b3", 0, round=5)],
    ]
    # a: first token kept 2 of 3 times, second 1 of 2; b: 1 of 2. Expected: 2/3 + 1/3 of a's two, 1/3 * 1/2 of b's one.
    assert figures(events)["composition"] == Fraction(7, 6) / 3


def test_hazard_behind_a_certain_refusal_is_not_needed() -> None:
    """A drafter that never keeps its first token is worth nothing, though its second was never judged."""
    events = [
        *[block("b1", 1, round=1), verdict("b1", 1, round=1)],
        *[block("a", 2), block("b", 1, parent="a", start=2), verdict("a", 0), verdict("b", 0)],
    ]
    got = figures(events)
    assert got["composition"] == 0
    assert got["shapley"] is None  # without a, b's shared blocks would matter, and none of them was ever judged


def test_shapley_of_an_airport_game() -> None:
    """Where each token is certain to be kept or refused, the shares are those of the airport game."""
    events = [
        *[block("a1", 4, round=1), block("b1", 4, "a1", 4, round=1), block("c1", 2, "b1", 8, round=1)],
        *[verdict("a1", 2, round=1), verdict("b1", 0, round=1), verdict("c1", 0, round=1)],
        *[block("b2", 4, round=2), block("c2", 2, "b2", 4, round=2)],
        *[verdict("b2", 2, round=2), verdict("c2", 0, round=2)],
        *[block("c3", 2, round=3), block("a3", 4, "c3", 2, round=3)],
        *[verdict("c3", 0, round=3), verdict("a3", 0, round=3)],
    ]
    # Tokens lost if only that drafter could fail: round 1 a 8, b 4, c 2; round 2 b 4, c 2; round 3 c 6, a 2.
    first = {"c": Fraction(2, 3), "b": Fraction(2, 3) + Fraction(2, 2), "a": Fraction(2, 3) + Fraction(2, 2) + 4}
    second = {"c": Fraction(2, 2), "b": Fraction(2, 2) + 2, "a": Fraction(0)}
    third = {"a": Fraction(2, 2), "c": Fraction(2, 2) + 4, "b": Fraction(0)}
    assert figures(events)["shapley"] == {d: -(first[d] + second[d] + third[d]) for d in "abc"}


def test_shapley_of_two_uncertain_drafters() -> None:
    """Half the loss that both would cause goes to each, on top of what each causes alone."""
    events = [
        *[block("a1", 1, round=1), block("b1", 1, "a1", 1, round=1), verdict("a1", 1, round=1)],
        *[block("a2", 1, round=2), block("b2", 1, "a2", 1, round=2), verdict("a2", 0, round=2)],
        *[block("a3", 1, round=3), block("b3", 1, "a3", 1, round=3), verdict("a3", 1, round=3)],
        *[verdict("b1", 1, round=1), verdict("b2", 0, round=2), verdict("b3", 0, round=3)],
    ]
    # h[a] = 2/3 and h[b] = 1/2. Each round: v() = 2, v(a) = 4/3, v(b) = 3/2, v(a, b) = 2/3 + 1/3 = 1.
    a = Fraction(1, 2) * (Fraction(4, 3) - 2) + Fraction(1, 2) * (1 - Fraction(3, 2))
    b = Fraction(1, 2) * (Fraction(3, 2) - 2) + Fraction(1, 2) * (1 - Fraction(4, 3))
    assert figures(events)["shapley"] == {"a": 3 * a, "b": 3 * b}


def test_marginal_skips_every_block_of_the_drafter() -> None:
    """Behind the first block of a removed drafter its later blocks fall out and the others keep their order."""
    events = [
        *[block("b1", 1, round=1), block("c1", 2, "b1", 1, round=1), verdict("b1", 1, round=1)],
        *[verdict("c1", 1, round=1)],
        *[block("b2", 1, round=2), block("c2", 2, "b2", 1, round=2), verdict("b2", 1, round=2)],
        *[verdict("c2", 2, round=2)],
        *[block("a3", 2, round=3), block("b3", 1, "a3", 2, round=3), block("a4", 1, "b3", 3, round=3)],
        *[block("c3", 2, "a4", 4, round=3), verdict("a3", 1, round=3), verdict("b3", 0, round=3)],
        *[verdict("a4", 0, round=3), verdict("c3", 0, round=3)],
        *[block("a5", 1, round=4), block("b5", 1, "a5", 1, round=4), verdict("a5", 0, round=4)],
    ]
    # Rounds 1 and 2 hold without a: 5 of 6. In round 3, b then c: b 1 of 1, c's first 2 of 2, its second 1 of 2.
    # In round 4, b is alone.
    assert figures(events)["marginal"]["a"] == (5, 6, 1 + 1 + Fraction(1, 2) + 1, 3 + 1)
    # Without b, c stands alone in rounds 1 and 2; in round 3 b was not reached, so the 3 tokens behind it stay lost.
    assert figures(events)["marginal"]["b"] == (1, 2 + 1 + 2 + 1, 2 * (1 + Fraction(1, 2)), 4)


def test_expected_acceptance_and_reexecution() -> None:
    """Ratios are capped at 1 and summed exactly over judged positions, and a draw on the ratio itself accepts."""
    events = [
        block("a", 4, q=[0.5, 0.5, 0.5, 0.5]),
        verdict("a", 2, p=[0.75, 0.25, 0.125, 1.0], u=[0.9, 0.5, 0.25]),
    ]
    got = figures(events)
    assert got["expected"] == {"a": (3, 1 + Fraction(1, 2) + Fraction(1, 4))}
    assert got["recomputed"] == (3, 1)  # the third token was refused though u * q = p


def test_probabilities_that_cannot_be_used() -> None:
    """Nulls, short lists and translated blocks are missing, values out of range are missing and remarked on."""
    events = [
        *[block("a", 3, q=[0.0, None, 1.5]), verdict("a", 3, p=[0.5, 0.5, 0.5])],
        *[block("b", 3, q=[0.5, 0.5, 0.5], round=1), verdict("b", 3, p=[2.0, 0.5], round=1)],
        *[block("c", 1, q=[0.5], submitted=[7, 8], round=2), verdict("c", 2, p=[0.5, 0.5], round=2)],
    ]
    got = figures(events)
    assert got["expected"] == {"b": (1, Fraction(1))}
    assert got["recomputed"] == (0, 0)
    assert got["notes"] == {"probability_out_of_range": 2}


def test_bytes_of_submitted_tokens() -> None:
    """Bytes count where each submitted token has a length: its own list, or that of the tokens submitted as drafted."""
    events = [
        *[block("a1", 3, bytes=[1, 2, 4]), verdict("a1", 2)],
        *[block("a2", 2, bytes=[8, 9], submitted=[7, 8], round=1), verdict("a2", 2, round=1)],
        *[block("a3", 1, bytes=[5], submitted=[7, 8], submitted_bytes=[2, 3], round=2), verdict("a3", 1, round=2)],
        *[block("a4", 3, bytes=[1, 2], round=3), verdict("a4", 1, round=3)],
        *[block("b1", 0, bytes=[], round=4), verdict("b1", 0, round=4)],
    ]
    assert figures(events)["bytes"] == {"a": (7 + 5, 3 + 2)}


def test_thrash() -> None:
    """A round that starts where the last one of its branch did is a re-proposal, two refusals in a row no progress."""
    events = [
        *[block("a1", 2, start=5, round=1), verdict("a1", 0, round=1)],
        *[block("a2", 3, start=5, round=2), verdict("a2", 0, round=2)],
        *[block("a3", 4, start=5, round=7), block("b3", 1, "a3", start=4, round=7), verdict("a3", 1, round=7)],
        *[block("a4", 4, start=7, round=8), verdict("a4", 0, round=8)],
        *[block("a5", 1, start=7, round=9, branch="other"), verdict("a5", 0, round=9)],
    ]
    assert figures(events)["thrash"] == {"reproposal_rounds": 2, "no_progress_rounds": 1, "reproposed_tokens": 8}


def test_consensus_counts_each_step_once() -> None:
    """A vote that is logged twice is one vote."""
    vote = {"type": "consensus", "request": "r", "step": "s", "quorum": 1, "ballots": [], "outcome": "fallback"}
    assert figures([vote, dict(vote), vote | {"step": "t", "outcome": "agreed"}])["consensus"] == (1, 2)


def test_impossible_verdicts_are_no_verdicts() -> None:
    """A verdict that cannot be is remarked on and leaves its block unjudged, without making it an orphan."""
    events = [
        *[block("a", 2), verdict("a", 3)],
        *[block("b", 2, round=1), verdict("b", 1, round=1, committed=2)],
        *[block("c", 2, round=2), verdict("c", 1, round=2, judged=0)],
        *[block("d", 3, round=3), verdict("d", 0, round=3, judged=3)],
    ]
    got = figures(events)
    assert fates(got["totals"]) == (0, 1, 2, 0, 6)
    assert got["totals"]["rounds"] == 1
    assert got["notes"] == {
        "accepted_above_submitted": 1,
        "committed_above_accepted": 1,
        "judged_out_of_range": 1,
        "judged_past_refusal": 1,
    }


def test_logs_that_contradict_themselves() -> None:
    """Tokens accepted where the verifier cannot have been are unjudged, and those behind them are still lost."""
    events = [
        *[block("a", 2), block("b", 2, "a", 2), block("c", 1, "b", 4)],
        *[verdict("a", 1), verdict("b", 2), verdict("c", 0)],
        *[block("a2", 2, round=1), block("b2", 2, "a2", 2, round=1), verdict("b2", 1, round=1)],
    ]
    got = figures(events)
    assert fates(got["totals"]) == (1, 1, 0, 1, 2 + 2 + 2)
    assert got["blame"] == {("a", "c"): 1}
    assert got["notes"] == {"accepted_behind_refusal": 1, "accepted_behind_stop": 1, "proposal_orphan": 1}


def test_parents_that_are_not_there() -> None:
    """Blocks with no parent in their round, and blocks on or behind a cycle, are roots; a gap joins at the end."""
    events = [
        *[block("a", 2), block("b", 1, "a", 2, round=1)],
        *[block("c", 1, "d", 0, round=2), block("d", 1, "c", 1, round=2), block("e", 1, "d", 2, round=2)],
        *[block("f", 2, round=3), block("g", 1, "f", 9, round=3)],
        *[verdict(name, 1, round=n) for name, n in [("a", 0), ("b", 1), ("c", 2), ("d", 2), ("e", 2), ("f", 3)]],
        verdict("g", 0, round=3),
    ]
    got = figures(events)
    assert fates(got["totals"]) == (6, 2, 0, 1, 0)
    assert got["notes"] == {"parent_missing": 1, "parent_cycle": 3, "parent_gap": 1}


def test_lines_logged_twice_and_late() -> None:
    """Repeats count once, the first of two different verdicts stands, and early verdicts find their proposal."""
    events = [
        verdict("b", 1),
        block("a", 2),
        block("a", 2, ts=4.5, source="other"),
        verdict("a", 2),
        verdict("a", 2, ms=3.0),
        verdict("a", 1),
        block("b", 1),
        verdict("ghost", 0),
        block("c", 1),
    ]
    got = figures(events)
    assert fates(got["totals"]) == (3, 0, 0, 0, 1)
    assert got["notes"] == {
        "duplicate_line": 2,
        "verdict_conflict": 1,
        "verdict_before_proposal": 1,
        "verdict_orphan": 1,
        "proposal_orphan": 1,
    }


def test_ids_used_again() -> None:
    """An id used again in its request names the newest open block, and another request is another world."""
    events = [
        *[block("a", 1), block("a", 2), verdict("a", 2), verdict("a", 1)],
        *[block("a", 3, request="s"), verdict("a", 3, request="s")],
        *[block("a", 4, round=1), verdict("a", 4, round=1)],
    ]
    got = figures(events)
    assert fates(got["totals"]) == (10, 0, 0, 0, 0)
    assert got["totals"]["requests"] == 2
    assert got["notes"] == {"id_reused": 2}


@PATIENT
@given(ANY_TRACE)
def test_every_token_has_one_fate(events: list[Event]) -> None:
    """Proposed tokens are gated, accepted, rejected, discarded or unjudged, per drafter and in total."""
    got = figures(events)
    for figure in [got["totals"], *got["drafters"].values()]:
        assert figure["submitted"] == sum(fates(figure))
        assert figure["proposed"] == figure["gated"] + figure["submitted"]
        assert figure["judged"] == figure["accepted"] + figure["rejected"]
        assert 0 <= figure["committed"] <= figure["accepted"]
    for fate in ("proposed", "submitted", "accepted", "rejected", "unjudged", "committed"):
        assert got["totals"][fate] == sum(figure[fate] for figure in got["drafters"].values())


@PATIENT
@given(ANY_TRACE)
def test_blame_adds_up_to_what_was_discarded(events: list[Event]) -> None:
    """The diagonal of the blame matrix is own loss, the rest is collateral, seen from the victims."""
    got = figures(events)
    for drafter, figure in got["drafters"].items():
        assert got["blame"].get((drafter, drafter), 0) == figure["discarded_own"]
        others = [tokens for (culprit, victim), tokens in got["blame"].items() if victim == drafter != culprit]
        assert sum(others) == figure["discarded_collateral"]
    totals = got["totals"]
    assert sum(got["blame"].values()) == totals["discarded_own"] + totals["discarded_collateral"]


@PATIENT
@given(ANY_TRACE)
def test_shared_tokens_add_up(events: list[Event]) -> None:
    """Shared tokens are accepted, rejected, dropped behind a refusal or unjudged, and are those of the drafters."""
    got = figures(events)
    shared = got["shared"]
    assert shared["submitted"] == sum(shared[fate] for fate in ("accepted", "rejected", "depth", "unjudged"))
    assert shared["truncating_rounds"] <= min(shared["rounds"], shared["rejected"])
    for count in ("submitted", "accepted", "rejected"):
        assert shared[count] == sum(figure["shared"][count] for figure in got["drafters"].values())


@PATIENT
@given(ANY_TRACE)
def test_roles_are_parts_of_the_whole(events: list[Event]) -> None:
    """Independent blocks are solo and never shared, and positions repeat the counts of their role."""
    for figure in figures(events)["drafters"].values():
        for count in ("blocks", *ROLE_COUNTS):
            assert figure["independent"][count] <= figure["solo"][count] <= figure[count]
            assert figure["independent"][count] + figure["shared"][count] <= figure[count]
        for role in ("solo", "shared", "independent"):
            positions = figure["positions"][role].values()
            assert sum(accepted for accepted, _, _ in positions) == figure[role]["accepted"]
            assert sum(at_risk for _, at_risk, _ in positions) == figure[role]["judged"]
            assert all(blocks == figure[role]["blocks"] for _, _, blocks in positions)


@PATIENT
@given(ANY_TRACE)
def test_marginal_counts_the_blocks_of_the_others(events: list[Event]) -> None:
    """Decided and estimated tokens without a drafter are the shared tokens of all other drafters."""
    got = figures(events)
    for drafter, (decided, decided_of, estimated, estimated_of) in got["marginal"].items():
        others = [figure["shared"] for other, figure in got["drafters"].items() if other != drafter]
        assert decided_of + estimated_of == sum(figure["submitted"] for figure in others)
        assert 0 <= decided <= min(decided_of, sum(figure["accepted"] for figure in others))
        assert estimated is None or 0 <= estimated <= estimated_of


@PATIENT
@given(ANY_TRACE)
def test_shapley_shares_add_up(events: list[Event]) -> None:
    """The shares are losses and add up to the difference between all drafters failing and none."""
    blocks, _ = read(events)
    shares = figures(events)["shapley"]
    everyone = expected_accepted(shared_paths(blocks), hazards(blocks, "shared"), drafters_of(blocks))
    if shares is not None:
        assert everyone is not None
        assert sum(shares.values()) == everyone - figures(events)["shared"]["submitted"]
        assert all(share <= 0 for share in shares.values())


@PATIENT
@given(ANY_TRACE)
def test_shapley_has_a_closed_form(events: list[Event]) -> None:
    """The shares are those of the closed form: what a drafter takes away, times the mean worth of its coalitions."""
    blocks, _ = read(events)
    h = hazards(blocks, "shared")
    shares = figures(events)["shapley"]
    if shares is None:
        return
    m = len(shares)
    closed = dict.fromkeys(shares, Fraction(0))
    for path in shared_paths(blocks):
        for position in range(1, path[-1][1] + 1):
            kept = dict.fromkeys(shares, Fraction(1))
            for drafter, length in [*path[:-1], (path[-1][0], position)]:
                for k in range(1, length + 1):
                    kept[drafter] *= h.get((drafter, k), Fraction(0))  # unknown only behind a certain refusal
            for drafter in shares:
                rest = [kept[other] for other in shares if other != drafter]
                for k in range(m):
                    symmetric = sum((math.prod(some, start=Fraction(1)) for some in combinations(rest, k)), Fraction(0))
                    weight = Fraction(math.factorial(k) * math.factorial(m - k - 1), math.factorial(m))
                    closed[drafter] += (kept[drafter] - 1) * weight * symmetric
    assert shares == closed


@PATIENT
@given(ANY_TRACE)
def test_only_the_order_within_a_request_matters(events: list[Event]) -> None:
    """Writing the requests one after the other, in any order of requests, leaves every figure as it is."""
    by_request = sorted(events, key=lambda event: str(event.get("request", "")), reverse=True)
    assert figures(by_request) == figures(events)


@PATIENT
@given(traces())
def test_clean_traces_are_clean(events: list[Event]) -> None:
    """Traces drawn clean raise no remark, agree with their own draws and survive being written down."""
    got = figures(events)
    assert got["notes"].keys() <= {"counter_reset"}
    assert got["recomputed"][1] == 0
    assert json.loads(json.dumps(events)) == events


@PATIENT
@given(traces())
def test_a_trace_logged_twice_is_the_same_trace(events: list[Event]) -> None:
    """Every line written down a second time changes no figure but the number of repeats; what an engine counted by itself adds up."""
    events = [event for event in events if event["type"] != "tally"]
    once, twice = figures(events), figures(events + events)
    lines = sum(1 for event in events if event["type"] in ("proposal", "verdict"))
    assert twice.pop("notes") == ({"duplicate_line": lines} if lines else {})
    once.pop("notes")
    assert twice == once


@PATIENT
@given(odd_traces())
def test_odd_traces_can_be_written_down(events: list[Event]) -> None:
    """Traces drawn odd are still JSON."""
    assert json.loads(json.dumps(events, allow_nan=False)) == events
