"""TensorRT-LLM. Source: tensorrt_llm/_torch/pyexecutor (iteration stats), metrics/collector.py, and pull request #19311, as of September 2026.

`avg_decoded_tokens_per_iter` counts the step of prefill as an iteration, and steps without a draft. trtllm-bench makes up its drafts from iterations
and K; whether the number of iterations that a last response carries holds prefill is not known, so it is there twice.
"""

from __future__ import annotations

from specdiag.engines.definitions import Counting, Engine, Figure

ENGINES = (
    Engine(
        "trtllm",
        "TensorRT-LLM",
        (
            Figure("acceptanceLength", "length", "A + R", "R", where="`specDecodingStats` of an iteration"),
            Figure("acceptance_rate", "rate", "A", "D", where="`speculative_decoding` of a request", exact=True),
            Figure("avg_decoded_tokens_per_iter", "length", "G", "P", where="choice of a response"),
        ),
        source="iteration stats, request_perf_metrics",
    ),
    Engine(
        "trtllm-bench",
        "trtllm-bench, R iterations reported",
        (
            Figure("acceptance_length_percentiles", "length", "G", "R + n", where="`decoding_stats`"),
            Figure("draft_acceptance_rate_percentiles", "rate", "G - R - n", "K * (R + n)", where="`decoding_stats`"),
        ),
        source="bench/dataclasses/reporting.py, not of a known release",
        counting=Counting(draftless=True),
        unverified="whether the iterations of a final response hold that of prefill",
    ),
    Engine(
        "trtllm-bench-1",
        "trtllm-bench, R + 1 iterations reported",
        (
            Figure("acceptance_length_percentiles", "length", "G", "R + 2 * n", where="`decoding_stats`"),
            Figure(
                "draft_acceptance_rate_percentiles",
                "rate",
                "G - R - 2 * n",
                "K * (R + 2 * n)",
                where="`decoding_stats`",
            ),
        ),
        source="bench/dataclasses/reporting.py, not of a known release",
        counting=Counting(draftless=True),
        unverified="whether the iterations of a final response hold that of prefill",
    ),
)
