"""Hugging Face transformers, which prints nothing: what a hook on `update_candidate_strategy` sees.

Source: generation/candidate_generator.py and generation/utils.py of 5.24.0. The first round takes the last token of the prompt, so there is no
token of prefill; `num_matches` is taken after the output was cut at its end.
"""

from __future__ import annotations

from specdiag.engines.definitions import Counting, Engine, Figure

_WHERE = "hook on `update_candidate_strategy`"

ENGINES = (
    Engine(
        "transformers",
        "Hugging Face transformers",
        (
            Figure("num_matches + 1", "length", "A + R", "R", where=_WHERE),
            Figure("num_matches / candidates", "rate", "A", "D", where=_WHERE),
        ),
        prefill_token=False,
        counting=Counting(draftless=True, stop="less_one"),
    ),
)
