"""vLLM: three meanings of two names.

Source: vllm/v1/spec_decode/metrics.py of 0.8.5, 0.9.0 and 0.33.0; vllm/spec_decode/metrics.py of 0.8.5 (V0); vllm/benchmarks/serve.py of 0.14.1;
vllm/v1/metrics/stats.py of 0.29.0 (of one request).
"""

from __future__ import annotations

from specdiag.engines.definitions import Counting, Engine, Figure

_RATE = Figure(
    "Draft acceptance rate",
    "rate",
    "A",
    "D",
    "%",
    where="log, `Avg Draft acceptance rate` from 0.10.2 on; `spec_decode_acceptance_rate` of bench",
)
_REACH = Figure(
    "Per-position acceptance rate", "reach", where="log; `spec_decode_per_position_acceptance_rates` of bench"
)

ENGINES = (
    Engine(
        "vllm",
        "vLLM ≥ 0.9",
        (
            Figure(
                "Mean acceptance length", "length", "A + R", "R", where="log, `spec_decode_acceptance_length` of bench"
            ),
            _RATE,
            _REACH,
            Figure(
                "mean_acceptance_length",
                "length",
                "A + R",
                "R",
                where="`metrics.speculative_decoding` of a response",
                exact=True,
            ),
            Figure(
                "draft_acceptance_rate",
                "rate",
                "A",
                "D",
                where="`metrics.speculative_decoding` of a response",
                exact=True,
            ),
        ),
        counting=Counting(padding=True),  # from 0.28 on
    ),
    Engine(
        "vllm-0.8.5", "vLLM 0.8.5", (Figure("Mean acceptance length", "length", "A", "R", where="log"), _RATE, _REACH)
    ),
    Engine(
        "vllm-v0",
        "vLLM V0",
        (
            Figure("Draft acceptance rate", "rate", "M", "R * K", where="log"),
            Figure("System efficiency", "rate", "A + R", "R * (K + 1)", where="log"),
        ),
    ),
)
