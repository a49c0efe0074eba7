"""Every importer there is. A new one is a module with its `IMPORTERS`, and a line here."""

from __future__ import annotations

from specdiag.importers import exllama, vllm_bench, vllm_log, vllm_metrics, vllm_requests
from specdiag.importers.interface import Importer

ALL: tuple[Importer, ...] = (
    *exllama.IMPORTERS,
    *vllm_bench.IMPORTERS,
    *vllm_log.IMPORTERS,
    *vllm_metrics.IMPORTERS,
    *vllm_requests.IMPORTERS,
)
