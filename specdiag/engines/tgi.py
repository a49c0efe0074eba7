"""Text Generation Inference. Source: docs/source/reference/metrics.md and the router of db931fcf."""

from __future__ import annotations

from specdiag.engines.definitions import Counting, Engine, Figure

ENGINES = (
    Engine(
        "tgi",
        "Text Generation Inference",
        (
            Figure(
                "tgi_request_skipped_tokens",
                "length",
                "A",
                "R + n",
                where="mean of the histogram, messages of prefill among them",
            ),
        ),
        counting=Counting(draftless=True),
    ),
)
