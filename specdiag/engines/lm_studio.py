"""LM Studio, which gives counts alone; ignored drafts, which are in its total, are not in D. Source: lmstudio-js 6ec11db1."""

from __future__ import annotations

from specdiag.engines.definitions import Engine, Figure

ENGINES = (
    Engine(
        "lm-studio",
        "LM Studio",
        (Figure("accepted / (accepted + rejected)", "rate", "A", "D", where="`stats` of a prediction"),),
    ),
)
