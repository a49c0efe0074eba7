"""Who proposes what under which policy."""

from __future__ import annotations

import numpy as np
import pytest

from specdiag.simulate.policy import ENFORCED, EVERY, NAIVE, Policy, best_length, plan
from tests.simulate.pools import STUDY

CODE, PROSE, REASON = range(3)


def _planned(policy: Policy, domain: int, *estimate: float) -> list[tuple[int, int]]:
    chosen = plan(STUDY, policy, domain, np.array([estimate or (0.5, 0.5, 0.5)]))
    return [(d, n) for d, n in zip(chosen.drafter[0].tolist(), chosen.size[0].tolist(), strict=True) if n]


def test_without_measures_the_planner_leads_all_tokenizers_on_one_prefix() -> None:
    """Naive: reasoning, then the router's choice, then the other, two tokens each, whatever was learned."""
    assert _planned(NAIVE, CODE) == [(REASON, 2), (CODE, 2), (PROSE, 2)]
    assert _planned(NAIVE, PROSE) == [(REASON, 2), (PROSE, 2), (CODE, 2)]
    assert _planned(NAIVE, REASON) == [(REASON, 2), (PROSE, 2), (CODE, 2)]


def test_partition_alone_keeps_the_prefix_to_one_tokenizer() -> None:
    """The same number of tokens, from the drafters of the router's choice's tokenizer."""
    assert _planned(Policy(partition=True), CODE) == [(CODE, 3), (PROSE, 3)]


def test_attribution_puts_who_is_accepted_most_first() -> None:
    """Order follows what was learned; the others add a token each."""
    assert [d for d, _ in _planned(Policy(attribution=True), CODE, 0.2, 0.9, 0.5)] == [PROSE, REASON, CODE]


def test_enforced_leads_with_the_best_and_its_tokenizer_only() -> None:
    """Code and prose share a prefix; reasoning is on its own."""
    assert _planned(ENFORCED, CODE, 0.9, 0.2, 0.5) == [(CODE, 7), (PROSE, 1)]
    assert _planned(ENFORCED, CODE, 0.2, 0.3, 0.9)[0][0] == REASON
    assert len(_planned(ENFORCED, CODE, 0.2, 0.3, 0.9)) == 1


def test_the_best_length_grows_with_acceptance() -> None:
    """Nobody who is always refused proposes more than one token; who is always accepted proposes all."""
    lengths = best_length(STUDY, np.zeros(50, np.int64), np.linspace(0, 1, 50))
    assert lengths[0] == 1
    assert lengths[-1] == STUDY.longest
    assert (np.diff(lengths) >= 0).all()


@pytest.mark.parametrize("policy", EVERY, ids=lambda policy: policy.measures)
def test_every_policy_has_a_name_and_a_prefix(policy: Policy) -> None:
    """Eight policies, each with a word for each measure that it takes."""
    assert len({p.measures for p in EVERY}) == 8
    assert _planned(policy, CODE)
