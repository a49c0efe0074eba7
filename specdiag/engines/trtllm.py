"""TensorRT-LLM. Source: tensorrt_llm/_torch/pyexecutor (iteration stats), metrics/collector.py, and pull request #19311, as of September 2026.

`avg_decoded_tokens_per_iter` counts the step of prefill as an iteration.
"""

from __future__ import annotations

from specdiag.engines.counting import Counting
from specdiag.engines.definitions import Engine, Figure

_AL = "average of `acceptance_length_percentiles`"
_DAR = "average of `draft_acceptance_rate_percentiles`"
_OPEN = "whether the iteration of a final response counts that of prefill"

ENGINES = (
    Engine(
        "trtllm",
        "TensorRT-LLM",
        (
            Figure("acceptanceLength", "length", "A + R", "R", where="`specDecodingStats` of an iteration"),
            Figure("acceptance_rate", "rate", "A", "D", where="`speculative_decoding` of a request"),
            Figure(
                "avg_decoded_tokens_per_iter",
                "length",
                "G",
                "R + n",
                per="request",
                where="choice of a response",
                counting=Counting(draftless=True),
            ),
        ),
        source="iteration stats, request_perf_metrics",
    ),
    Engine(
        "trtllm-bench",
        "trtllm-bench",
        (
            Figure(
                "[AL], iterations without prefill", "length", "G", "R + n", per="request", where=_AL, unverified=_OPEN
            ),
            Figure(
                "[AL], iterations with prefill", "length", "G", "R + n + n", per="request", where=_AL, unverified=_OPEN
            ),
            Figure(
                "[DAR], iterations without prefill",
                "rate",
                "G - R - n",
                "K * (R + n)",
                per="request",
                where=_DAR,
                unverified=_OPEN,
            ),
            Figure(
                "[DAR], iterations with prefill",
                "rate",
                "G - R - n - n",
                "K * (R + n + n)",
                per="request",
                where=_DAR,
                unverified=_OPEN,
            ),
        ),
        counting=Counting(draftless=True),
        source="bench/dataclasses/reporting.py: the proposed tokens are made up as K times the iterations",
    ),
)
