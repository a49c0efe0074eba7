"""`specdiag schema`."""

from __future__ import annotations

import functools
import operator
from typing import Any

import msgspec

from specdiag.cli import terminal
from specdiag.render.json import json_schema
from specdiag.trace.events import EVENT_TYPES, SCHEMA


def run(what: str) -> None:
    """Print the schema."""
    terminal.write(json_schema() if what == "report" else trace_schema(), None)


def trace_schema() -> str:
    """JSON Schema (2020-12) of one line of a trace. The format grows by addition: the schema allows fields that it does not know."""
    union: Any = functools.reduce(operator.or_, EVENT_TYPES.values())
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"{SCHEMA}, one line"}
    return (
        msgspec.json.format(msgspec.json.encode(schema | _open(msgspec.json.schema(union))), indent=2).decode() + "\n"
    )


def _open(node: Any) -> Any:
    if isinstance(node, dict):
        closed = node.get("additionalProperties") is False
        return {key: _open(value) for key, value in node.items() if not (closed and key == "additionalProperties")}
    return [_open(item) for item in node] if isinstance(node, list) else node
