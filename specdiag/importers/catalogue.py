"""Every importer there is. A new one is a module with its `IMPORTERS`, and two lines here."""

from __future__ import annotations

from specdiag.importers import (
    atom,
    exllama,
    fastdeploy,
    llama_cli,
    llama_forks,
    llama_log,
    llama_metrics,
    llama_timings,
    lm_studio,
    lmdeploy,
    mistralrs,
    mlc,
    mlx,
    mlx_vlm,
    ollama,
    tgi,
    vllm_bench,
    vllm_log,
    vllm_metrics,
    vllm_requests,
)
from specdiag.importers.interface import Importer

ALL: tuple[Importer, ...] = (
    *atom.IMPORTERS,
    *exllama.IMPORTERS,
    *fastdeploy.IMPORTERS,
    *llama_cli.IMPORTERS,
    *llama_forks.IMPORTERS,
    *llama_log.IMPORTERS,
    *llama_metrics.IMPORTERS,
    *llama_timings.IMPORTERS,
    *lm_studio.IMPORTERS,
    *lmdeploy.IMPORTERS,
    *mistralrs.IMPORTERS,
    *mlc.IMPORTERS,
    *mlx.IMPORTERS,
    *mlx_vlm.IMPORTERS,
    *ollama.IMPORTERS,
    *tgi.IMPORTERS,
    *vllm_bench.IMPORTERS,
    *vllm_log.IMPORTERS,
    *vllm_metrics.IMPORTERS,
    *vllm_requests.IMPORTERS,
)
