"""Hugging Face assisted generation, which prints nothing: what a wrapper around `update_candidate_strategy` sees. Source: transformers 5.24.0."""

from __future__ import annotations

from specdiag.engines.counting import Counting
from specdiag.engines.definitions import Engine, Figure

_HOOK = "a wrapper around `update_candidate_strategy`"

ENGINES = (
    Engine(
        "transformers",
        "transformers, update hook",
        (
            Figure("mean num_matches", "length", "A", "R", where=_HOOK),
            Figure("num_matches / candidate length", "rate", "A", "D", where=_HOOK),
        ),
        prefill_token=False,
        counting=Counting(stop="recomputed", draftless=True),
    ),
)
