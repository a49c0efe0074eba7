"""The incident as traces: the pool under a policy, and the drafters by themselves. Same parameters, requests and seed: same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from specdiag.errors import UsageError
from specdiag.simulate.events import Writer, header
from specdiag.simulate.mechanism import shifted
from specdiag.simulate.parameters import Parameters
from specdiag.simulate.play import Outcome, play, play_alone
from specdiag.simulate.policy import Policy
from specdiag.simulate.traffic import VERDICTS, parts, quotas

MOST_REQUESTS = 1_000_000
LONGEST_ALONE = 16
NODES, WEIGHTS = (
    (-(3**0.5), 0.0, 3**0.5),
    (1 / 6, 2 / 3, 1 / 6),
)  # of a normal law: exact for polynomials up to the fifth degree


@dataclass(frozen=True, slots=True)
class Pool:
    """All drafters on one verifier under a policy."""

    policy: Policy


@dataclass(frozen=True, slots=True)
class Alone:
    """Every drafter by itself, in branches named after them: on requests of its own domain only, or on all of them. `block`: tokens of a
    block; None: the length at which the drafter is fastest on this traffic."""

    own_domain: bool
    block: int | None


Scenario = Pool | Alone


def trace(parameters: Parameters, scenario: Scenario, requests: int, seed: int) -> Iterator[bytes]:
    """The trace, in runs of whole lines. One header for each domain, with labels to slice by."""
    if not 1 <= requests <= MOST_REQUESTS:
        raise UsageError(f"{requests:,} requests", f"Choose 1 to {MOST_REQUESTS:,}.")
    if seed < 0:
        raise UsageError(f"a seed of {seed}", "Choose 0 or more.")
    for domain, count in enumerate(quotas(parameters, requests)):
        if count:
            yield from _domain(parameters, scenario, domain, count, seed)


def _domain(parameters: Parameters, scenario: Scenario, domain: int, count: int, seed: int) -> Iterator[bytes]:
    name = parameters.drafters[domain].domain
    if isinstance(scenario, Pool):
        yield _lines(
            [header(parameters, f"pool-{seed}-{name}", {"domain": name, "measures": scenario.policy.measures})]
        )
        for part in parts(parameters, domain, count, seed):
            writer = Writer(parameters, part.names)
            step = 0
            for event in play(parameters, scenario.policy, part):
                if isinstance(event, Outcome):
                    writer.outcome(event)
                    step = event.step + 1
                else:
                    writer.attempt(event, step)
            yield from (_lines(lines) for lines in writer.lines)
        return
    for drafter, info in enumerate(parameters.drafters):
        if scenario.own_domain and drafter != domain:
            continue
        labels = {"domain": name, "traffic": "own" if drafter == domain else "other"}
        yield _lines([header(parameters, f"alone-{seed}-{name}-{info.id}", labels)])
        tokens = scenario.block or fastest_block(parameters, drafter)
        for part in parts(parameters, domain, count, seed, VERDICTS + 1 + drafter):
            writer = Writer(parameters, part.names, info.id)
            for attempt in play_alone(parameters, part, drafter, tokens):
                writer.attempt(attempt)
            yield from (_lines(lines) for lines in writer.lines)


def _lines(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def fastest_block(parameters: Parameters, drafter: int) -> int:
    """The block length at which a drafter by itself is expected to make most tokens per time on the whole traffic."""
    rates = [
        (1 + float(expected_alone(parameters, drafter, tokens).sum()))
        / (1 + tokens * (parameters.token_cost + parameters.cost(drafter)))
        for tokens in range(1, LONGEST_ALONE + 1)
    ]
    return 1 + int(np.argmax(rates))


def expected_alone(
    parameters: Parameters, drafter: int, tokens: int, domain: int | None = None
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Chance that at least i tokens of a drafter's own block are accepted, for i from 1: on one domain, or on the whole traffic."""
    info = parameters.drafters[drafter]
    total, weight = np.zeros(tokens), 0.0
    for other in parameters.drafters if domain is None else [parameters.drafters[domain]]:
        on = other.domain == info.domain
        chances = np.array([info.on_domain if on else info.off_domain, info.thinking_on if on else info.thinking_off])
        for node, part in zip(NODES, WEIGHTS, strict=True):
            later, thinking = shifted(chances, np.array(node * parameters.request_sd))
            first = info.thinking * thinking + (1 - info.thinking) * later
            total += other.share * part * first * later ** np.arange(tokens)
        weight += other.share
    return total / weight
