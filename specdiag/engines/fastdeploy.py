"""FastDeploy, whose accepted tokens hold the verifier's own. Source: fastdeploy/output/token_processor.py, without a release;
FastDeploy#5947."""

from __future__ import annotations

from specdiag.engines.definitions import Engine, Figure

_WHERE = "`speculate_metrics`"
_OPEN = "whether the step of prefill is among the steps"

ENGINES = (
    Engine(
        "fastdeploy",
        "FastDeploy",
        (
            Figure("accept_ratio", "rate", "A", "A + R", where=_WHERE),
            Figure("average_accept_length", "length", "A + R", "R", where=_WHERE),
            Figure("accept_ratio_per_head", "hazard", where=_WHERE),
        ),
        prefill_token=False,
        unverified=_OPEN,
    ),
    Engine(
        "fastdeploy-prefill",
        "FastDeploy, prefill among the steps",
        (
            Figure("accept_ratio", "rate", "A", "A + R + n", where=_WHERE),
            Figure("average_accept_length", "length", "A + R + n", "R + n", where=_WHERE),
            Figure("accept_ratio_per_head", "hazard", bottom="R + n", where=_WHERE),
        ),
        prefill_token=False,
        unverified=_OPEN,
    ),
)
