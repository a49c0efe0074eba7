"""Benchmarks, each with its own figures of the engines that it drives.

Source: AIPerf 0.13.0 (metrics/types/spec_decode_metrics.py); Spec-Bench fd2c1cd7 (evaluation/speed.py); EAGLE cb7e0841 and SafeAILab/EAGLE#153,
#195; SpecForge a6b6b023 (benchmarks/benchmarker/utils.py, specforge/benchmarks/sglang.py); speculators c05b95b3; Model-Optimizer a2fbac7b
(examples/specdec_bench/specdec_bench/metrics/acceptance_rate.py).
"""

from __future__ import annotations

from specdiag.engines.definitions import Counting, Engine, Figure

_RECORD = "`spec_decode_acceptance` of a record"
_SUMMARY = "aggregate JSON, console"

ENGINES = (
    Engine(
        "aiperf",
        "AIPerf",
        (
            Figure("spec_decode_token_weighted_acceptance_length", "length", "A + R", "R", where=_SUMMARY),
            Figure("spec_decode_acceptance_length", "length", "A + R", "R", per="request", where=_SUMMARY),
            Figure("spec_decode_overall_draft_acceptance_rate", "rate", "A", "D", "%", where=_SUMMARY),
            Figure("spec_decode_draft_acceptance_rate", "rate", "A", "D", "%", per="request", where=_SUMMARY),
            Figure("spec_decode_accepted_per_verified", "rate", "A + R", "D + R", per="request", where=_SUMMARY),
            Figure("mean_acceptance_length", "length", "A + R", "R", where=_RECORD, exact=True),
            Figure("draft_acceptance_rate", "rate", "A", "D", where=_RECORD, exact=True),
        ),
        counting=Counting(padding=True),  # its records are those of vLLM
    ),
    Engine(
        "spec-bench",
        "Spec-Bench",
        (Figure("#Mean accepted tokens", "length", "A + R", "R", where="speed.py, over all steps of all questions"),),
        prefill_token=False,
        counting=Counting(draftless=True),
    ),
    Engine(
        "eagle",
        "EAGLE, Medusa",
        (
            Figure("new_tokens / (idx + 1)", "length", "A + R", "R", where="sums over the answer file"),
            Figure("mean of new_tokens / (idx + 1)", "length", "A + R", "R", per="request", where="mean over turns"),
        ),
        prefill_token=False,
        counting=Counting(draftless=True),
    ),
    Engine(
        "specforge",
        "SpecForge",
        (Figure("accept_length", "length", "G", "R", where="bench_eagle3.py, reports of `specforge benchmark`"),),
    ),
    Engine(
        "specforge-sglang",
        "SpecForge, sglang.py",
        (Figure("average_acceptance_length", "length", "G", "R", per="request", where="result JSON"),),
    ),
    Engine(
        "speculators",
        "speculators",
        (
            Figure("acceptance_length", "length", "A + R", "R", where="acceptance.csv"),
            Figure("acceptance_at_pos", "reach", where="`acceptance_at_pos_0` and on of acceptance.csv"),
        ),
        counting=Counting(padding=True),
    ),
    Engine(
        "model-optimizer",
        "Model-Optimizer",
        (
            Figure("Average_AL", "length", "A + R + n", "R + n", per="request", where="acceptance_rate.json"),
            Figure(
                "Joint_Acceptance_Rate", "reach", bottom="R + n", where="acceptance_rate.json, key i + 1; key 1 is 1"
            ),
            Figure("Conditional_Acceptance_Rate", "hazard", bottom="R + n", where="the same"),
        ),
        counting=Counting(draftless=True, stop="less_one"),  # it has the tokens of each chunk
    ),
    Engine(
        "model-optimizer-trimmed",
        "Model-Optimizer, first releases",
        (
            Figure(
                "Average_AR", "length", "A + R", "R", per="request", where="acceptance_rate.json, last rounds left out"
            ),
        ),
        prefill_token=False,
    ),
)
