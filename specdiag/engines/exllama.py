"""ExLlama and tabbyAPI. Source: exllamav2 da07facd, exllamav3 4f8ad012, tabbyAPI e632af41."""

from __future__ import annotations

from specdiag.engines.definitions import Counting, Engine, Figure

ENGINES = (
    Engine(
        "exllama",
        "ExLlama, tabbyAPI",
        (
            Figure("accepted", "rate", "A", "D", "%", where="`Draft: A / D tokens accepted` of tabbyAPI"),
            Figure("accuracy", "rate", "A", "D", where="streaming generator of exllamav2"),
            Figure("efficiency", "rate", "A", "G", where="streaming generator of exllamav2"),
        ),
        prefill_token=False,
        counting=Counting(stop="exllama"),
    ),
)
