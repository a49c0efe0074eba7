"""Every importer there is. A new one is a module with its `IMPORTERS`, and a line here."""

from __future__ import annotations

from specdiag.importers import (
    exllama,
    sglang_log,
    sglang_metrics,
    sglang_requests,
    trtllm_metrics,
    trtllm_requests,
    trtllm_stats,
    vllm_log,
)
from specdiag.importers.interface import Importer

ALL: tuple[Importer, ...] = (
    *exllama.IMPORTERS,
    *sglang_log.IMPORTERS,
    *sglang_metrics.IMPORTERS,
    *sglang_requests.IMPORTERS,
    *trtllm_metrics.IMPORTERS,
    *trtllm_requests.IMPORTERS,
    *trtllm_stats.IMPORTERS,
    *vllm_log.IMPORTERS,
)
