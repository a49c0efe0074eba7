"""The loop over requests: branches, steps, and what a vote does to the output."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from specdiag.record.drafting import ModelDrafter, ModelVerifier
from specdiag.record.laws import Sampling
from specdiag.record.lines import Line, Member, Prompt
from specdiag.record.logbook import Logbook
from specdiag.record.loop import Plan, record
from specdiag.record.topology import Topology, chains
from specdiag.record.verify import Rule
from specdiag.record.vocabulary import Mapping
from specdiag.record.votes import Voting, ballot
from specdiag.trace.recorder import Recorder
from tests.record.toys import OTHER, VERIFIER, ToyModel, ToyTokenizer, excess, law

OURS, THEIRS = ToyTokenizer(VERIFIER, "ours"), ToyTokenizer(OTHER, "theirs")
JUDGE = ModelVerifier("verifier", ToyModel(OURS, 1), Sampling(0.8))
PROMPT = b"ab a bc"


def _members() -> list[Member]:
    near = ModelDrafter("near", ToyModel(OURS, 2), Sampling(), OURS, Mapping.intersection)
    far = ModelDrafter("far", ToyModel(THEIRS, 3), Sampling(), OURS, Mapping.intersection)
    return [Member(near, 2, OURS.fingerprint, 0), Member(far, 2, THEIRS.fingerprint, 1)]


def _lines(folder: Path, requests: int, **options: object) -> list[Line]:
    plan = Plan(members=_members(), verifier=JUDGE, max_tokens=2, seed=3, **options)  # type: ignore[arg-type]
    with Recorder(folder / "t.jsonl") as recorder:
        prompts = [Prompt(f"r{number}", PROMPT) for number in range(requests)]
        return record(plan, prompts, Logbook(recorder, OURS, Rule.rejection, times=False))


def _outputs(lines: list[Line]) -> Counter[tuple[int, ...]]:
    begin = len(OURS.encode(PROMPT))
    return Counter(tuple(line.context[begin:]) for line in lines)


def test_each_branch_has_the_verifiers_law(tmp_path: Path) -> None:
    """Every branch by itself, and two branches of a request do not repeat each other."""
    lines = _lines(tmp_path, 1200, topology=Topology.branches)
    near, far = ([line for line in lines if line.branch == name] for name in ("near", "far"))
    for branch in (near, far):
        assert excess(_outputs(branch), law(JUDGE, PROMPT)) < 1
    expected = sum(mass**2 for mass in law(JUDGE, PROMPT).values())
    equal = sum(a.context == b.context for a, b in zip(near, far, strict=True)) / 1200
    assert equal == pytest.approx(expected, abs=0.05)


def test_a_step_without_a_quorum_is_the_verifiers_own(tmp_path: Path) -> None:
    """Where no ballots can agree, the output is what the verifier alone would give."""
    lines = _lines(tmp_path, 1200, topology=Topology.branches, voting=Voting(quorum=3, step_tokens=1))
    assert excess(_outputs(lines), law(JUDGE, PROMPT)) < 1


def test_no_request_shares_its_draws_with_another(tmp_path: Path) -> None:
    """A request's output does not depend on how many there are."""
    few = _lines(tmp_path, 3)
    many = _lines(tmp_path, 9)
    assert [line.context for line in few] == [line.context for line in many[:3]]
    assert len({tuple(line.context) for line in many}) > 1


def test_rounds_bound_a_request(tmp_path: Path) -> None:
    """At most so many rounds are run, whatever they gave."""
    assert {line.round for line in _lines(tmp_path, 5, max_rounds=1)} == {1}


def test_who_proposes_takes_turns() -> None:
    """By round and nothing else; under partition the tokenizers do."""
    near, far = _members()
    assert chains(Topology.chain, [near, far], 5, partition=False) == [[near, far]]
    assert [chains(Topology.chain, [near, far], i, partition=True) for i in (0, 1)] == [[[near]], [[far]]]
    assert [chains(Topology.turns, [near, far], i, partition=False) for i in (0, 1)] == [[[near]], [[far]]]
    assert chains(Topology.shadow, [near, far], 1, partition=False) == [[far], [near]]


@pytest.mark.parametrize(
    ("ballots", "quorum", "winner"),
    [
        ({"a": "x", "b": "y", "c": "y"}, 2, "b"),
        ({"a": "x", "b": "y", "c": "z"}, 2, None),
        ({"a": None, "b": None}, 1, None),
        ({"a": "x", "b": "y"}, 1, "a"),
        ({"a": "x", "b": "y", "c": "y"}, 1, "b"),
    ],
)
def test_most_ballots_win_if_they_are_enough(ballots: dict[str, str | None], quorum: int, winner: str | None) -> None:
    """The first branch of the largest group commits; a branch without a word votes for nothing."""
    assert Voting(quorum).outcome(ballots) == winner


def test_a_ballot_is_the_first_word() -> None:
    """In lower case; a step ends at its tokens, or at the end of a line that holds a word."""
    assert [ballot(b"  (Self.x"), ballot(b"\n 42"), ballot(b" =\xff")] == ["self", "42", None]
    voting = Voting(1, 4)
    assert [voting.over(said, 2) for said in (b"a", b"a\n", b"\n", b"\na")] == [False, True, False, True]
    assert voting.over(b"", 4)
