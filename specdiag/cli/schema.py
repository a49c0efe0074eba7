"""`specdiag schema`."""

from __future__ import annotations

import functools
import operator
from typing import Any

import msgspec

from specdiag.cli import terminal
from specdiag.report import Report
from specdiag.trace.events import EVENT_TYPES

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def run(what: str) -> None:
    """Print the schema."""
    text = msgspec.json.format(msgspec.json.encode(schema(what)), indent=2).decode()
    terminal.write(text + "\n", None)


def schema(what: str) -> dict[str, Any]:
    """JSON Schema of one line of a trace, or of the report. New fields and types may be added to both: the schemas allow them."""
    kind: Any = Report if what == "report" else functools.reduce(operator.or_, EVENT_TYPES.values())
    title = "specdiag report" if what == "report" else "specdiag trace: one line"
    opened: dict[str, Any] = _open(msgspec.json.schema(kind))
    return {"$schema": DIALECT, "title": title} | opened


def _open(node: Any) -> Any:
    """The schema without `additionalProperties: false`: both formats grow by addition."""
    if isinstance(node, dict):
        closed = node.get("additionalProperties") is False
        return {key: _open(value) for key, value in node.items() if not (closed and key == "additionalProperties")}
    return [_open(item) for item in node] if isinstance(node, list) else node
