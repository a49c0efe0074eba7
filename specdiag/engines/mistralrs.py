"""mistral.rs. Source: mistralrs-core/src/engine/logger.rs of 0.9.2, and of 0003cf35 (`depth`)."""

from __future__ import annotations

from specdiag.engines.definitions import Engine, Figure

ENGINES = (
    Engine(
        "mistralrs",
        "mistral.rs",
        (
            Figure("MTP accept", "rate", "A", "D", "%", where="log"),
            Figure("len", "length", "A + R", "R", where="log"),
            Figure("depth", "length", "D", "R", where="log"),
        ),
    ),
)
