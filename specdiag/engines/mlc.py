"""MLC-LLM: the one engine that gives both kinds of rates by position. Source: cpp/serve/metrics.cc of 79d603f0."""

from __future__ import annotations

from specdiag.engines.definitions import Engine, Figure

ENGINES = (
    Engine(
        "mlc",
        "MLC-LLM",
        (
            Figure("accept_prob", "reach", bottom="N", where="metrics, `accept_prob{step=i}`"),
            Figure("accept_rate", "hazard", where="metrics, `accept_rate{step=i}`"),
            Figure("accept_len", "length", "A + R", "R", where="metrics, `accept_len{step=K}`"),
        ),
    ),
)
