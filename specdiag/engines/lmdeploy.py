"""LMDeploy: vLLM's figures under vLLM's names. Source: lmdeploy/metrics/loggers.py of 0.16.0."""

from __future__ import annotations

from specdiag.engines.definitions import Engine, Figure

_GAUGE = "gauge `lmdeploy:spec_decode_{}`"

ENGINES = (
    Engine(
        "lmdeploy",
        "LMDeploy",
        (
            Figure(
                "Mean acceptance length", "length", "A + R", "R", where="log, " + _GAUGE.format("mean_accept_length")
            ),
            Figure("Draft acceptance rate", "rate", "A", "D", "%", where="log, " + _GAUGE.format("mean_accept_rate")),
            Figure("Per-position acceptance rate", "reach", where="log, " + _GAUGE.format("per_position_accept_rate")),
        ),
    ),
)
