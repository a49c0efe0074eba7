"""ExLlama and tabbyAPI. Source: exllamav2 da07facd, exllamav3 4f8ad012, tabbyAPI e632af41."""

from __future__ import annotations

from specdiag.engines.definitions import Engine, Figure

ENGINES = (
    Engine(
        "exllama",
        "ExLlama, tabbyAPI",
        (Figure("accepted", "rate", "A", "D", "%", where="`Draft: A / D tokens accepted` of tabbyAPI"),),
        prefill_token=False,
    ),
)
