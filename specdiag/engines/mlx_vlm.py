"""mlx-vlm, which gives counts alone; the length is that of its documentation. Source: mlx-vlm#1788, #2324."""

from __future__ import annotations

from specdiag.engines.definitions import Engine, Figure

ENGINES = (
    Engine(
        "mlx-vlm",
        "mlx-vlm",
        (
            Figure("accept length", "length", "G - n", "R", where="README: (predicted_n - 1) / draft_rounds"),
            Figure("draft_n_accepted / draft_n", "rate", "A", "D", where="`timings`"),
        ),
    ),
)
