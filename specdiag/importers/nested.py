"""Objects deep in a JSON value: an answer of a server may be dumped bare, in a list, or inside of what a client made of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

DEEPEST = 8  # levels between a record and the object that holds its counts


def holders(value: Any, *keys: str, depth: int = DEEPEST) -> Iterator[dict[str, Any]]:
    """Every object that has all of these keys, in order; what is inside of one is not looked at again."""
    if isinstance(value, dict):
        if all(key in value for key in keys):
            yield value
        elif depth:
            for member in value.values():
                if isinstance(member, dict | list):
                    yield from holders(member, *keys, depth=depth - 1)
    elif isinstance(value, list) and depth:
        for member in value:
            if isinstance(member, dict | list):
                yield from holders(member, *keys, depth=depth - 1)
