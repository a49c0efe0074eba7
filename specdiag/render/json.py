"""The report as JSON: complete, versioned (`schema`), and described by a JSON Schema.

The text is ASCII. Whatever a trace smuggled in is a `\\uXXXX` escape, which any parser turns back into the same string,
and which a terminal, a build log or a pipe with another encoding leaves alone.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from specdiag.report import REPORT_SCHEMA, Report

# Beyond ASCII, DEL, and the second of `::` and `##`, with which commands to a build machine begin: all in strings only.
_ESCAPED = re.compile(r"[^\x00-\x7e]|(?<=:):|(?<=#)#")


def render(report: Report) -> str:
    """The whole report, indented by two. Equal reports give equal text: structs keep the order of their fields."""
    try:
        encoded = msgspec.json.encode(report)
    except UnicodeEncodeError:
        encoded = msgspec.json.encode(_well_formed(msgspec.to_builtins(report)))
    return _ascii(msgspec.json.format(encoded, indent=2).decode()) + "\n"


def json_schema() -> str:
    """The JSON Schema (2020-12) of `render`'s text, derived from the structs, so that it cannot fall behind them."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": REPORT_SCHEMA}
    encoded = msgspec.json.encode(head | msgspec.json.schema(Report))
    return _ascii(msgspec.json.format(encoded, indent=2).decode()) + "\n"


def _ascii(text: str) -> str:
    return _ESCAPED.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))


def _well_formed(value: Any) -> Any:
    """The value with lone surrogates as escapes: a file name that is not UTF-8 has them, and JSON cannot carry them."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_well_formed(key): _well_formed(item) for key, item in value.items()}
    return [_well_formed(item) for item in value] if isinstance(value, list) else value
