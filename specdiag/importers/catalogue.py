"""Every importer there is. A new one is a module with its `IMPORTERS`, and a line here."""

from __future__ import annotations

from specdiag.importers import (
    atom,
    exllama,
    fastdeploy,
    lm_studio,
    lmdeploy,
    mistralrs,
    mlc,
    mlx,
    mlx_vlm,
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
    *lm_studio.IMPORTERS,
    *lmdeploy.IMPORTERS,
    *mistralrs.IMPORTERS,
    *mlc.IMPORTERS,
    *mlx.IMPORTERS,
    *mlx_vlm.IMPORTERS,
    *tgi.IMPORTERS,
    *vllm_bench.IMPORTERS,
    *vllm_log.IMPORTERS,
    *vllm_metrics.IMPORTERS,
    *vllm_requests.IMPORTERS,
)
