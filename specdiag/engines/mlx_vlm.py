"""mlx-vlm, which gives counts alone; the length is that of its documentation. Source: mlx-vlm#1788, #2324.

Documented is that prefill gives a token of the output; in the sample of #1788 the output is accepted tokens and rounds alone.
"""

from __future__ import annotations

from specdiag.engines.definitions import Engine, Figure

_RATE = Figure("draft_n_accepted / draft_n", "rate", "A", "D", where="`timings`")

ENGINES = (
    Engine(
        "mlx-vlm",
        "mlx-vlm",
        (
            Figure("accept length", "length", "G - n", "R", where="README: (predicted_n - 1) / draft_rounds"),
            _RATE,
        ),
    ),
    Engine(
        "mlx-vlm-1788",
        "mlx-vlm, output without a token of prefill",
        (Figure("predicted_n / draft_rounds", "length", "G", "R", where="`timings`"), _RATE),
        prefill_token=False,
    ),
)
