"""Pools of drafters for the tests."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec

from specdiag.report import Report
from specdiag.simulate.incident import Alone, Pool, Scenario
from specdiag.simulate.measured import report_on
from specdiag.simulate.parameters import Drafter, Parameters
from specdiag.simulate.policy import ENFORCED, NAIVE

STUDY = Parameters(
    drafters=(
        Drafter("code_1.5b", "code", 0.25, "text", 1.5, 0.7, 0.892, 0.12),
        Drafter("prose_3b", "prose", 0.30, "text", 3.0, 0.7, 0.860, 0.32),
        Drafter("reason_7b", "reasoning", 0.45, "thought", 7.0, 1.0, 0.920, 0.59, 0.50, 0.40, 0.07),
    ),
    request_sd=0.12,
    splice=0.07,
    steps=20,
    longest=7,
    prior_accepted=2.0,
    prior_refused=1.0,
    memory=0.84,
    token_cost=0.016,
    exposed=0.75,
)
"""A set of parameters whose exact figures were worked out by hand; written out, since the defaults may change."""

NAIVELY, ENFORCEDLY = Pool(NAIVE), Pool(ENFORCED)
OWN = Alone(own_domain=True, block=6)
FEW = 200


@functools.cache
def studied(scenario: Scenario, requests: int = FEW, seed: int = 0) -> Report:
    """The report on the study's pool; made once."""
    return report_on(STUDY, scenario, requests, seed)


def with_steps(steps: int, parameters: Parameters | None = None) -> Parameters:
    """The same with fewer steps."""
    return msgspec.structs.replace(parameters or STUDY, steps=steps)


def events(path: Path) -> list[dict[str, object]]:
    """The lines of a trace."""
    return [msgspec.json.decode(line, type=dict[str, object]) for line in path.read_bytes().splitlines()]
