"""Small traces, built by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Events = list[dict[str, Any]]


def header(**fields: Any) -> dict[str, Any]:
    """A header of two drafters over two tokenizers."""
    drafters = [
        {"id": "code", "tokenizer": "a", "temperature": 0.7},
        {"id": "think", "tokenizer": "b", "temperature": 1.0},
    ]
    base = {
        "type": "trace",
        "schema": "specdiag/1",
        "trace_id": "t",
        "verification": {"rule": "rejection"},
        "drafters": drafters,
    }
    return base | {"verifier": {"id": "v", "tokenizer": "a", "temperature": 0.7}} | fields


def block(id: str, drafter: str = "code", size: int = 4, **fields: Any) -> dict[str, Any]:
    """A proposal of `size` tokens."""
    base: dict[str, Any] = {
        "type": "proposal",
        "id": id,
        "request": "r0",
        "round": 0,
        "drafter": drafter,
        "parent": None,
        "start": 0,
    }
    return base | {"tokens": list(range(size))} | fields


def verdict(id: str, accepted: int, **fields: Any) -> dict[str, Any]:
    """The verdict on a proposal."""
    return {"type": "verdict", "proposal": id, "request": "r0", "round": 0, "accepted": accepted} | fields


def rounds(
    count: int, accepted: int = 2, requests: int = 20, drafters: tuple[str, ...] = ("code", "think"), size: int = 4
) -> Events:
    """A header and `count` rounds of one block each, drafters in turn, spread over requests."""
    out: Events = [header()]
    for i in range(count):
        where = {"request": f"r{i % requests}", "round": i // requests}
        out.append(block(f"p{i}", drafters[i % len(drafters)], size, start=i // requests * 5, **where))
        out.append(verdict(f"p{i}", accepted, next={"token": 1, "kind": "correction"}, **where))
    return out


def lines(events: Events) -> str:
    """The events as JSON lines."""
    return "".join(json.dumps(event) + "\n" for event in events)


def write(path: Path, events: Events) -> str:
    """Write the events; the path as the command line takes it."""
    path.write_text(lines(events))
    return str(path)
