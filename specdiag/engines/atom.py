"""ATOM. Source: the statistics of its scheduler in ffdf3bb5; lines in ATOM#560."""

from __future__ import annotations

from specdiag.engines.definitions import Engine, Figure

ENGINES = (
    Engine(
        "atom",
        "ATOM",
        (
            Figure("Average toks/fwd", "length", "A + R", "R", where="log"),
            Figure("Acceptance rate", "rate", "A", "D", "%", where="log"),
        ),
    ),
)
