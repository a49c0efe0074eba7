"""Every engine whose definitions are known, by id."""

from __future__ import annotations

from specdiag.engines import exllama, llama_cpp, vllm
from specdiag.engines.definitions import Engine

MODULES = (exllama, llama_cpp, vllm)
ENGINES: dict[str, Engine] = {engine.id: engine for module in MODULES for engine in module.ENGINES}
