"""Records that stand somewhere inside of a JSON value, with what encloses them: a response may be bare, in a list, or in what a client made of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

DEEPEST = 8  # levels between a value and the record


class Enclosed(NamedTuple):
    """A record, the name that it stands under ("" where there is none), and the objects around it, the innermost last."""

    record: dict[str, Any]
    name: str
    around: tuple[dict[str, Any], ...]

    def value(self, name: str) -> Any:
        """What the innermost object around the record, or the record itself, has under this name."""
        return next((holder[name] for holder in (self.record, *reversed(self.around)) if name in holder), None)


def holders(value: Any, *keys: str) -> Iterator[dict[str, Any]]:
    """Every object that has all of these keys, in order; what is inside of one is not looked at again."""
    return (found.record for found in enclosed(value, *keys))


def enclosed(value: Any, *keys: str) -> Iterator[Enclosed]:
    """The same, with what stands around each."""
    return _inside(value, keys, "", (), DEEPEST)


def _inside(
    value: Any, keys: tuple[str, ...], name: str, around: tuple[dict[str, Any], ...], levels: int
) -> Iterator[Enclosed]:
    if isinstance(value, dict):
        if all(key in value for key in keys):
            yield Enclosed(value, name, around)
        elif levels:
            for inner, member in value.items():
                if isinstance(member, dict | list):
                    yield from _inside(member, keys, inner, (*around, value), levels - 1)
    elif isinstance(value, list) and levels:
        for member in value:
            if isinstance(member, dict | list):
                yield from _inside(member, keys, name, around, levels - 1)
