"""Every importer there is. A new one is a module with its `IMPORTERS`, and a line here."""

from __future__ import annotations

from specdiag.importers import (
    aiperf,
    atom,
    eagle,
    exllama,
    fastdeploy,
    hf_bench,
    lm_studio,
    lmdeploy,
    mistralrs,
    mlc,
    mlx,
    mlx_vlm,
    model_optimizer,
    spec_bench,
    specforge,
    speculators,
    tgi,
    vllm_bench,
    vllm_log,
    vllm_metrics,
    vllm_requests,
)
from specdiag.importers.interface import Importer

ALL: tuple[Importer, ...] = (
    *aiperf.IMPORTERS,
    *atom.IMPORTERS,
    *eagle.IMPORTERS,
    *exllama.IMPORTERS,
    *fastdeploy.IMPORTERS,
    *hf_bench.IMPORTERS,
    *lm_studio.IMPORTERS,
    *lmdeploy.IMPORTERS,
    *mistralrs.IMPORTERS,
    *mlc.IMPORTERS,
    *mlx.IMPORTERS,
    *mlx_vlm.IMPORTERS,
    *model_optimizer.IMPORTERS,
    *spec_bench.IMPORTERS,
    *specforge.IMPORTERS,
    *speculators.IMPORTERS,
    *tgi.IMPORTERS,
    *vllm_bench.IMPORTERS,
    *vllm_log.IMPORTERS,
    *vllm_metrics.IMPORTERS,
    *vllm_requests.IMPORTERS,
)
