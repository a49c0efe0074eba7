"""Every engine whose definitions are known, by id."""

from __future__ import annotations

from specdiag.engines import (
    atom,
    benchmarks,
    exllama,
    fastdeploy,
    huggingface,
    llama_cpp,
    lm_studio,
    lmdeploy,
    mistralrs,
    mlc,
    mlx,
    mlx_vlm,
    sglang,
    tgi,
    trtllm,
    vllm,
)
from specdiag.engines.definitions import Engine

MODULES = (
    vllm,
    sglang,
    llama_cpp,
    trtllm,
    huggingface,
    exllama,
    mlx,
    mlx_vlm,
    lm_studio,
    lmdeploy,
    mistralrs,
    atom,
    tgi,
    mlc,
    fastdeploy,
    benchmarks,
)
ENGINES: dict[str, Engine] = {engine.id: engine for module in MODULES for engine in module.ENGINES}
