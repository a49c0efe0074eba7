"""The faces of a report: each takes the same value and returns text.

A face is a pure function. It never prints, never reads the environment, and treats every string of the report as
untrusted. The modules are imported when they are first used, so that a command that writes JSON does not pay for a
terminal library.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specdiag.report import Report

Renderer = Callable[..., str]

FACES = ("console", "json", "markdown")


def _lazy(name: str) -> Renderer:
    def render(report: Report, **options: object) -> str:
        text: str = import_module(f"specdiag.render.{name}").render(report, **options)
        return text

    render.__doc__ = f"The report as {name}; options are those of `specdiag.render.{name}.render`."
    return render


RENDERERS: dict[str, Renderer] = {name: _lazy(name) for name in FACES}
