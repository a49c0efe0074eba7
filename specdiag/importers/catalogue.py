"""Every importer there is. A new one is a module with its `IMPORTERS`, and a line here."""

from __future__ import annotations

from specdiag.importers import exllama, vllm_log
from specdiag.importers.interface import Importer

ALL: tuple[Importer, ...] = (
    *exllama.IMPORTERS,
    *vllm_log.IMPORTERS,
)
