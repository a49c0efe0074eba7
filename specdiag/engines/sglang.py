"""SGLang: one name, `accept rate`, with two meanings; and per request a length that holds the token of prefill.

Source: managers/scheduler_metrics_mixin.py of 0.5.3 and 0.5.5, observability/scheduler_metrics_mixin.py of 0.5.10 and 0.5.12,
managers/scheduler_components/metrics_reporter.py of 0.5.23, managers/tokenizer_manager.py of all of them. K is num_draft_tokens - 1, with a tree
the number of its nodes: there the rate cannot come to 1.
"""

from __future__ import annotations

from specdiag.engines.definitions import Counting, Engine, Figure

_LENGTH = Figure("accept len", "length", "A + R", "R", where="decode log line; gauge `sglang:spec_accept_length`")
_PER_REQUEST = (
    Figure("spec_accept_length", "length", "G", "R", where="`meta_info`, `sglext.spec_tokens_details`", exact=True),
    Figure("spec_accept_rate", "rate", "A", "R * K", where="`meta_info`, `sglext.spec_tokens_details`", exact=True),
)
_RATE = "decode log line; gauge `sglang:spec_accept_rate`"

ENGINES = (
    Engine(
        "sglang",
        "SGLang ≥ 0.5.11",
        (_LENGTH, Figure("accept rate", "rate", "A", "R * K", where=_RATE), *_PER_REQUEST),
        source="metrics_reporter.py, tokenizer_manager.py of 0.5.23",
    ),
    Engine(
        "sglang-0.5.4",
        "SGLang 0.5.4 to 0.5.10",
        (_LENGTH, Figure("accept rate", "rate", "A + R", "R * (K + 1)", where=_RATE), *_PER_REQUEST),
        source="scheduler_metrics_mixin.py, tokenizer_manager.py of 0.5.5 and 0.5.10",
    ),
    Engine(
        "sglang-v1",
        "SGLang to 0.5.11, worker without overlap",
        (_LENGTH, Figure("accept rate", "rate", "A + R", "R * (K + 1)", where=f"{_RATE}; 0.5.4 to 0.5.10")),
        source="the log alone: what was accepted past a stop is taken back before it is counted",
        counting=Counting(stop="less_one"),
    ),
)
