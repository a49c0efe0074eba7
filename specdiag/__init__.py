"""specdiag: who wasted what when several drafters feed one verifier, whether the verifier kept its promise, and what to change.

`analyze` gives a `Report`; `Recorder` writes a trace from one's own loop; `read` goes through a trace event by event. The names load what they
need when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specdiag.analysis import analyze
    from specdiag.errors import EmptyInput, InputError, MissingExtra, SpecdiagError, TraceError, UsageError
    from specdiag.report import Report
    from specdiag.summary import Options
    from specdiag.trace.lines import Line, read
    from specdiag.trace.recorder import Recorder
    from specdiag.version import __version__

_HOME = {
    "analyze": "analysis",
    "EmptyInput": "errors",
    "InputError": "errors",
    "MissingExtra": "errors",
    "SpecdiagError": "errors",
    "TraceError": "errors",
    "UsageError": "errors",
    "Line": "trace.lines",
    "Options": "summary",
    "Recorder": "trace.recorder",
    "Report": "report",
    "__version__": "version",
    "read": "trace.lines",
}

__all__ = [
    "EmptyInput",
    "InputError",
    "Line",
    "MissingExtra",
    "Options",
    "Recorder",
    "Report",
    "SpecdiagError",
    "TraceError",
    "UsageError",
    "__version__",
    "analyze",
    "read",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'specdiag' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"specdiag.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
