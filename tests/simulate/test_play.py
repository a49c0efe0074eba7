"""Steps, attempts, votes and what is learned."""

from __future__ import annotations

import numpy as np

from specdiag.simulate.play import Chain, Outcome, play, play_alone
from specdiag.simulate.policy import ENFORCED, EVERY, NAIVE, Policy
from specdiag.simulate.traffic import parts
from tests.simulate.pools import with_steps

SHORT = with_steps(4)


def _steps(policy: Policy) -> list[tuple[list[list[Chain]], Outcome]]:
    """The attempts of each step, with how it ended."""
    out: list[tuple[list[list[Chain]], Outcome]] = []
    attempts: list[list[Chain]] = []
    for event in play(SHORT, policy, next(iter(parts(SHORT, 2, 60, 1)))):
        if isinstance(event, Outcome):
            out.append((attempts, event))
            attempts = []
        else:
            attempts.append(event)
    return out


def test_a_step_proposes_again_only_without_a_quorum_and_within_its_budget() -> None:
    """With re-proposal up to three attempts more, for those who did not agree; without it none."""
    for policy in EVERY:
        for attempts, end in _steps(policy):
            assert len(attempts) <= 1 + SHORT.reproposals * policy.reproposal
            assert len(attempts[0][0].rows) == 60
            votes = np.zeros((60, 3), bool)
            for attempt in attempts:
                assert (votes[attempt[0].rows].sum(axis=1) < SHORT.quorum).all()
                for row, d in _concurring(attempt):
                    votes[row, d] = True
            assert np.array_equal(votes, end.votes)
            assert np.array_equal(end.agreed, votes.sum(axis=1) >= SHORT.quorum)


def _concurring(attempt: list[Chain]) -> list[tuple[int, int]]:
    """(request, drafter) of every drafter with an accepted token, the slow way."""
    out = []
    for chain in attempt:
        for i, row in enumerate(chain.rows.tolist()):
            authors = np.repeat(chain.plan.drafter[i], chain.plan.size[i])
            out += [(row, int(d)) for d in authors[: chain.judged.accepted[i]]]
    return out


def test_a_drafter_off_the_prefix_has_a_branch_of_one_token() -> None:
    """With partition every drafter proposes in every attempt, once; without it all are on the prefix."""
    for attempts, _ in _steps(ENFORCED):
        for attempt in attempts:
            seen = np.zeros((60, 3), int)
            for chain in attempt:
                assert chain.leads == (chain.branch == "main")
                assert chain.leads or (chain.judged.size == 1).all()
                for d in range(3):
                    seen[chain.rows, d] += ((chain.plan.drafter == d) & (chain.plan.size > 0)).any(axis=1)
            assert (seen[attempt[0].rows] == 1).all()
    assert all(len(attempt) == 1 for attempts, _ in _steps(NAIVE) for attempt in attempts)


def test_a_drafter_by_itself_proposes_the_same_block_every_round() -> None:
    """One chain a round, of one drafter."""
    rounds = list(play_alone(SHORT, next(iter(parts(SHORT, 0, 10, 1))), 1, 5))
    assert len(rounds) == SHORT.steps
    for (chain,) in rounds:
        assert (chain.plan.drafter == 1).all()
        assert (chain.judged.size == 5).all()
