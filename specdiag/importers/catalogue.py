"""Every importer there is. A new one is a module with its `IMPORTERS`, and a line here."""

from __future__ import annotations

from specdiag.importers import (
    exllama,
    llama_cli,
    llama_forks,
    llama_log,
    llama_metrics,
    llama_timings,
    ollama,
    vllm_log,
)
from specdiag.importers.interface import Importer

ALL: tuple[Importer, ...] = (
    *exllama.IMPORTERS,
    *llama_cli.IMPORTERS,
    *llama_forks.IMPORTERS,
    *llama_log.IMPORTERS,
    *llama_metrics.IMPORTERS,
    *llama_timings.IMPORTERS,
    *ollama.IMPORTERS,
    *vllm_log.IMPORTERS,
)
