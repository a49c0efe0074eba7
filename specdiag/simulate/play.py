"""Requests played step by step under a policy: what was proposed, what was accepted, who concurred.

A step is one decision. Its attempts go on until enough drafters have had a token accepted within it, or the budget is spent; then the verifier
decodes one token by itself. Accepted tokens of the leading chain reach the output in any case: the vote decides the step's effect, not its text.
The leading chain is chosen before it is verified, so a branch that happens to be accepted further changes nothing in the output's law.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from specdiag.simulate.mechanism import Contexts, Judged, contexts, judge, judge_plan
from specdiag.simulate.parameters import Parameters
from specdiag.simulate.policy import Bools, Ints, Plan, Policy, Reals, plan
from specdiag.simulate.traffic import Part


@dataclass(frozen=True, slots=True)
class Chain:
    """One branch of an attempt. `rows`: requests of the part; `draft_ms[i, k]`: waiting time for block k; `leads`: its tokens reach the output."""

    rows: Ints
    branch: str
    plan: Plan
    judged: Judged
    draft_ms: Reals
    verify_ms: Reals
    leads: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a step: `votes[i, d]`: drafter d concurred in request i; `agreed`: enough did; `last`: who led the last attempt."""

    step: int
    votes: Bools
    agreed: Bools
    last: Ints


def play(parameters: Parameters, policy: Policy, part: Part) -> Iterator[list[Chain] | Outcome]:
    """The attempts and outcomes of all steps. Every list is one attempt, with the leading chains first."""
    count, drafters = len(part.names), len(parameters.drafters)
    learned = np.zeros((2, count, drafters))  # tokens accepted, tokens judged; older ones fade
    for step in range(parameters.steps):
        votes = np.zeros((count, drafters), bool)
        last = np.zeros(count, np.int64)
        rows = np.arange(count)
        for _ in range(1 + parameters.reproposals * policy.reproposal):
            there = contexts(parameters, part.domain, part.effect[rows], part.rng)
            chosen = plan(parameters, policy, part.domain, _estimate(parameters, learned[:, rows]))
            lead = judge_plan(parameters, chosen, there, part.rng)
            attempt = [_leading(parameters, rows, chosen, lead)]
            if policy.partition:
                attempt += _branches(parameters, attempt[0], there, part.rng)
            yield attempt
            news = _news(attempt, count, drafters)
            learned[:, rows] = learned[:, rows] * parameters.memory + news[:, rows]
            votes |= news[0] > 0
            last[rows] = chosen.drafter[:, 0]
            rows = rows[votes[rows].sum(axis=1) < parameters.quorum]
            if not len(rows):
                break
        yield Outcome(step, votes, votes.sum(axis=1) >= parameters.quorum, last)


def _estimate(parameters: Parameters, learned: Reals) -> Reals:
    prior = parameters.prior_accepted
    estimate: Reals = (learned[0] + prior) / (learned[1] + prior + parameters.prior_refused)
    return estimate


def _leading(parameters: Parameters, rows: Ints, chosen: Plan, judged: Judged) -> Chain:
    cost = np.array([parameters.cost(d) for d in range(len(parameters.drafters))])
    draft = chosen.size * cost[chosen.drafter] * parameters.verifier_pass_ms
    verify = np.asarray(parameters.verifier_pass_ms * (1 + parameters.token_cost * judged.size), np.float64)
    return Chain(rows, "main", chosen, judged, draft, verify, True)


def _branches(parameters: Parameters, lead: Chain, there: Contexts, rng: np.random.Generator) -> list[Chain]:
    """A one-token branch for each drafter that is not on the leading chain. It is drafted meanwhile: the verifier waits for what is left. It
    is verified in the same pass: it costs its token."""
    out = []
    waited = lead.draft_ms.sum(axis=1)
    for d, drafter in enumerate(parameters.drafters):
        absent = np.flatnonzero(~((lead.plan.drafter == d) & (lead.plan.size > 0)).any(axis=1))
        if not len(absent):
            continue
        one = np.ones((len(absent), 1), np.int64)
        judged = judge(there.first[absent, d][:, None], one[:, 0], there.thinking[absent, d][:, None], rng)
        draft = np.maximum(0.0, parameters.cost(d) * parameters.verifier_pass_ms - waited[absent])
        waited[absent] += draft
        verify = np.full(len(absent), parameters.verifier_pass_ms * parameters.token_cost)
        out.append(Chain(lead.rows[absent], drafter.id, Plan(one * d, one), judged, draft[:, None], verify, False))
    return out


def _news(attempt: list[Chain], count: int, drafters: int) -> Reals:
    """Tokens accepted and tokens judged of each drafter in this attempt. What stands behind a refusal was not judged: it is charged to nobody."""
    news = np.zeros((2, count, drafters))
    for chain in attempt:
        begin = np.cumsum(chain.plan.size, axis=1) - chain.plan.size
        accepted = np.clip(chain.judged.accepted[:, None] - begin, 0, chain.plan.size)
        judged = np.clip(chain.judged.accepted[:, None] + 1 - begin, 0, chain.plan.size)
        for k in range(chain.plan.size.shape[1]):
            news[0, chain.rows, chain.plan.drafter[:, k]] += accepted[:, k]
            news[1, chain.rows, chain.plan.drafter[:, k]] += judged[:, k]
    return news


def play_alone(parameters: Parameters, part: Part, drafter: int, tokens: int) -> Iterator[list[Chain]]:
    """The same requests with one drafter and blocks of this many tokens; a step is one round."""
    rows = np.arange(len(part.names))
    chosen = Plan(np.full((len(rows), 1), drafter, np.int64), np.full((len(rows), 1), tokens, np.int64))
    for _ in range(parameters.steps):
        there = contexts(parameters, part.domain, part.effect, part.rng)
        yield [_leading(parameters, rows, chosen, judge_plan(parameters, chosen, there, part.rng))]
