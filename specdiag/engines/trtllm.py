"""TensorRT-LLM. Source: tensorrt_llm/_torch/pyexecutor (iteration stats), metrics/collector.py, and pull request #19311, as of September 2026.

`avg_decoded_tokens_per_iter` counts the step of prefill as an iteration.
"""

from __future__ import annotations

from specdiag.engines.definitions import Engine, Figure

ENGINES = (
    Engine(
        "trtllm",
        "TensorRT-LLM",
        (
            Figure("acceptanceLength", "length", "A + R", "R", where="`specDecodingStats` of an iteration"),
            Figure("acceptance_rate", "rate", "A", "D", where="`speculative_decoding` of a request"),
            Figure("avg_decoded_tokens_per_iter", "length", "G", "R + n", where="choice of a response"),
        ),
        source="iteration stats, request_perf_metrics",
    ),
)
