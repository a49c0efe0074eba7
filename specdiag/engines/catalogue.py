"""Every engine whose definitions are known, by id."""

from __future__ import annotations

from specdiag.engines import (
    atom,
    benchmarks,
    exllama,
    fastdeploy,
    llama_cpp,
    lm_studio,
    lmdeploy,
    mistralrs,
    mlc,
    mlx,
    mlx_vlm,
    sglang,
    tgi,
    transformers,
    trtllm,
    vllm,
)
from specdiag.engines.definitions import Engine

MODULES = (
    atom,
    benchmarks,
    exllama,
    fastdeploy,
    llama_cpp,
    lm_studio,
    lmdeploy,
    mistralrs,
    mlc,
    mlx,
    mlx_vlm,
    sglang,
    tgi,
    transformers,
    trtllm,
    vllm,
)
ENGINES: dict[str, Engine] = {engine.id: engine for module in MODULES for engine in module.ENGINES}
