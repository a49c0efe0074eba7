"""The incident as traces: the pool under a policy, and the drafters by themselves. Same parameters, requests and seed: same bytes."""

from __future__ import annotations

import hashlib
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
NODES = (-(3**0.5), 0.0, 3**0.5)  # of a normal law; with their weights, exact for polynomials up to the fifth degree
WEIGHTS = (1 / 6, 2 / 3, 1 / 6)


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
    """The trace, in runs of whole lines. One header for each domain, with labels to slice by; its id tells it from any other simulation."""
    if not 1 <= requests <= MOST_REQUESTS:
        raise UsageError(f"{requests:,} requests", f"Choose 1 to {MOST_REQUESTS:,}.")
    if seed < 0:
        raise UsageError(f"a seed of {seed}", "Choose 0 or more.")
    digest = hashlib.blake2b(f"{requests} {seed} {parameters.to_yaml()}".encode(), digest_size=4).hexdigest()
    for domain, count in enumerate(quotas(parameters, requests)):
        if count and isinstance(scenario, Pool):
            yield from _pool(parameters, scenario.policy, domain, count, seed, digest)
        elif count and isinstance(scenario, Alone):
            yield from _alone(parameters, scenario, domain, count, seed, digest)


def _pool(parameters: Parameters, policy: Policy, domain: int, count: int, seed: int, digest: str) -> Iterator[bytes]:
    name = parameters.drafters[domain].domain
    labels = {"domain": name, "measures": policy.measures}
    yield _lines([header(parameters, f"{name}, {policy.measures}, {digest}", labels)])
    for part in parts(parameters, domain, count, seed):
        writer = Writer(parameters, part.names)
        step = 0
        for event in play(parameters, policy, part):
            if isinstance(event, Outcome):
                writer.outcome(event)
                step = event.step + 1
            else:
                writer.attempt(event, step)
        yield from map(_lines, writer.lines)


def _alone(parameters: Parameters, scenario: Alone, domain: int, count: int, seed: int, digest: str) -> Iterator[bytes]:
    name = parameters.drafters[domain].domain
    for drafter, info in enumerate(parameters.drafters):
        if scenario.own_domain and drafter != domain:
            continue
        tokens = scenario.block or fastest_block(parameters, drafter)
        labels = {"block": str(tokens), "domain": name, "traffic": "own" if drafter == domain else "other"}
        yield _lines([header(parameters, f"{name}, {info.id} alone, {tokens}, {digest}", labels)])
        for part in parts(parameters, domain, count, seed, VERDICTS + 1 + drafter):
            writer = Writer(parameters, part.names, info.id)
            for attempt in play_alone(parameters, part, drafter, tokens):
                writer.attempt(attempt)
            yield from map(_lines, writer.lines)


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
