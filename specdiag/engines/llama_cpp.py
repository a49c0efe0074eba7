"""llama.cpp and Ollama.

Source: llama.cpp of llama-cpp-python 0.3.20, 0.3.26, 0.3.31, 0.3.33 and 0.3.36 (tools/server/server-context.cpp, common/speculative.cpp, examples);
Ollama fb307609 (the MLX runner).

Where the cache cannot be rolled back in part (recurrent models, sliding windows), a round that was cut is verified again with what it accepted, and
releases up to 0.3.33 count these and one more.
"""

from __future__ import annotations

from specdiag.engines.definitions import Counting, Engine, Figure

ENGINES = (
    Engine(
        "llama-cpp",
        "llama.cpp",
        (
            Figure("draft acceptance", "rate", "A", "D", where="log of llama-server, `draft acceptance rate` at first"),
            Figure("mean len", "length", "A + R", "R", where="log, `mean acceptance length` at first, `#mean acc len`"),
            Figure("acc per pos", "reach", where="log, `acceptance rate per position` at first, `#acc rate/pos`"),
            Figure("accept_rate", "rate", "A", "D", where="`summary` of the SPEED-Bench client"),
        ),
    ),
    Engine(
        "llama-cpp-cli",
        "llama.cpp, examples",
        (Figure("accept", "rate", "A", "D", "%", where="output of llama-speculative, -simple and llama-lookup"),),
        prefill_token=False,
    ),
    Engine(
        "llama-cpp-replay",
        "llama.cpp ≤ 0.3.33, targets that cannot roll back",
        (
            Figure("draft acceptance", "rate", "A + R - F", "D", where="log of llama-server"),
            Figure("mean len", "length", "A + R + R - F", "R", where="log of llama-server"),
        ),
    ),
    Engine(
        "ollama",
        "Ollama",
        (
            Figure("acceptance", "rate", "A", "D", where="log of the MLX runner"),
            Figure(
                "avg_accepted", "length", "A", "R", where="log of the MLX runner; R counts iterations without a draft"
            ),
            Figure("avg_draft", "length", "D", "R", where="log of the MLX runner"),
        ),
        counting=Counting(draftless=True),
    ),
)
