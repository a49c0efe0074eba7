"""The traffic: requests of one domain each, with an effect of their own. It depends on the seed alone, so every policy meets the same requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from specdiag.simulate.parameters import Parameters
from specdiag.simulate.policy import Reals

AT_ONCE = 250  # requests that are played together; what is drawn depends on it
TRAFFIC, VERDICTS = 1, 2  # streams of random numbers


@dataclass(frozen=True, slots=True)
class Part:
    """Requests of one domain that are played together, and the stream of random numbers that decides their verdicts."""

    domain: int
    names: list[str]
    effect: Reals
    rng: np.random.Generator


def quotas(parameters: Parameters, requests: int) -> list[int]:
    """Requests by domain: the shares rounded to whole requests that add up (largest remainder)."""
    shares = np.array([drafter.share for drafter in parameters.drafters])
    exact = requests * shares / shares.sum()
    whole = np.floor(exact).astype(np.int64)
    most = np.argsort(-(exact - whole), kind="stable")[: requests - int(whole.sum())]
    whole[most] += 1
    return [int(number) for number in whole]


def parts(parameters: Parameters, domain: int, requests: int, seed: int, stream: int = VERDICTS) -> Iterator[Part]:
    """The requests of a domain, in parts. `stream`: what decides the verdicts."""
    name = parameters.drafters[domain].domain
    for begin in range(0, requests, AT_ONCE):
        count = min(AT_ONCE, requests - begin)
        effect = np.random.default_rng([seed, TRAFFIC, domain, begin]).normal(0, parameters.request_sd, AT_ONCE)
        names = [f"{name}-{number:06d}" for number in range(begin, begin + count)]
        yield Part(domain, names, effect[:count], np.random.default_rng([seed, stream, domain, begin]))
