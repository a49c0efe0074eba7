"""Packages that only an optional part needs."""

from __future__ import annotations

import importlib
from typing import Any

from specdiag.errors import MissingExtra


def need(module: str, extra: str) -> Any:
    """The module; MissingExtra, with the command that installs it, where it is not there."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise
        package = module.split(".")[0].replace("_", "-")
        raise MissingExtra(
            f"this needs {package}, which is not installed", f"pip install 'specdiag-cli[{extra}]'"
        ) from error
