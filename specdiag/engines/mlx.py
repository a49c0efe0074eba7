"""mlx-lm. Source: mlx_lm/generate.py of 0.32.0."""

from __future__ import annotations

from specdiag.engines.definitions import Counting, Engine, Figure

ENGINES = (
    Engine(
        "mlx",
        "mlx-lm",
        (
            Figure(
                "from_draft", "rate", "A", "G", where="share of the responses of `stream_generate` with `from_draft`"
            ),
        ),
        prefill_token=False,
        counting=Counting(draftless=True, stop="kept"),
    ),
)
