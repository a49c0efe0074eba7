"""Benchmarks and their result files, which take an engine's counts and average them in ways of their own.

Source: AIPerf 0.13.0; Spec-Bench fd2c1cd7; EAGLE cb7e0841; SpecForge a6b6b023; speculators c05b95b3; Model-Optimizer a2fbac7b (its classes were run).
"""

from __future__ import annotations

from specdiag.engines.counting import Counting
from specdiag.engines.definitions import Engine, Figure

_VLLM = Counting(padded=True)
_CHUNKS = Counting(draftless=True, prefill_round=True)

ENGINES = (
    Engine(
        "aiperf",
        "AIPerf",
        (
            Figure(
                "spec_decode_acceptance_length", "length", "A + R", "R", per="request", where="`avg` of the aggregate"
            ),
            Figure("spec_decode_token_weighted_acceptance_length", "length", "A + R", "R", where="aggregate"),
            Figure(
                "spec_decode_draft_acceptance_rate", "rate", "A", "D", "%", "request", where="`avg` of the aggregate"
            ),
            Figure("spec_decode_overall_draft_acceptance_rate", "rate", "A", "D", "%", where="aggregate"),
            Figure("spec_decode_accepted_per_verified", "rate", "A + R", "D + R", where="aggregate"),
        ),
        source="its records of vLLM's requests, release 0.13.0",
        counting=_VLLM,
    ),
    Engine(
        "spec-bench",
        "Spec-Bench",
        (Figure("#Mean accepted tokens", "length", "A + R", "R", where="speed.py; mean of `accept_lengths`"),),
        prefill_token=False,
        counting=Counting(draftless=True),
    ),
    Engine(
        "eagle",
        "EAGLE, result files",
        (
            Figure("new_tokens / (idxs + 1)", "length", "A + R", "R", where="`choices` of a result file"),
            Figure(
                "alpha", "hazard", where="`alpha` / `alpha_num`", unverified="that it is conditional: by its name only"
            ),
        ),
        prefill_token=False,
        counting=Counting(draftless=True),
    ),
    Engine(
        "specforge",
        "SpecForge, bench_eagle3.py",
        (Figure("accept_length", "length", "G", "R", where="`metrics` of the result file"),),
    ),
    Engine(
        "specforge-sglang",
        "SpecForge, benchmarks/sglang.py",
        (Figure("average_acceptance_length", "length", "G", "R", per="request", where="result file"),),
    ),
    Engine(
        "speculators",
        "speculators",
        (
            Figure("acceptance_length", "length", "A + R", "R", where="acceptance.csv"),
            Figure("acceptance_at_pos", "reach", where="acceptance.csv, `acceptance_at_pos_<i - 1>`"),
        ),
        source="differences of vLLM's counters",
        counting=_VLLM,
    ),
    Engine(
        "model-optimizer",
        "Model-Optimizer, specdec_bench",
        (
            Figure("Average_AL", "length", "G", "R", per="request", where="acceptance_rate.json; chunks of the stream"),
            Figure("Joint_Acceptance_Rate", "reach", where="acceptance_rate.json, key i + 1"),
            Figure("Conditional_Acceptance_Rate", "hazard", where="acceptance_rate.json, key i + 1"),
        ),
        counting=_CHUNKS,
    ),
)
