"""FastDeploy, whose accepted tokens hold the verifier's own. Source: fastdeploy/output/token_processor.py, without a release;
FastDeploy#5947."""

from __future__ import annotations

from specdiag.engines.counting import Counting
from specdiag.engines.definitions import Engine, Figure

_WHERE = "`speculate_metrics`"
_OPEN = "whether the step of prefill is among the steps"
_FIGURES = (
    Figure("accept_ratio", "rate", "A", "A + R", where=_WHERE, unverified=_OPEN),
    Figure("average_accept_length", "length", "A + R", "R", where=_WHERE, unverified=_OPEN),
    Figure("accept_ratio_per_head", "hazard", where=_WHERE, unverified=_OPEN),
)

ENGINES = (
    Engine(
        "fastdeploy",
        "FastDeploy, prefill being a step",
        _FIGURES,
        prefill_token=False,
        counting=Counting(prefill_round=True),
    ),
    Engine("fastdeploy-decode", "FastDeploy, prefill being no step", _FIGURES, prefill_token=False),
)
