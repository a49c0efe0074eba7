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


def enclosed(value: Any, key: str, name: str = "", around: tuple[dict[str, Any], ...] = ()) -> Iterator[Enclosed]:
    """Every object that has this key, in order; what is inside of one is not looked at again."""
    if isinstance(value, dict):
        if key in value:
            yield Enclosed(value, name, around)
        elif len(around) < DEEPEST:
            for inner, member in value.items():
                if isinstance(member, dict | list):
                    yield from enclosed(member, key, inner, (*around, value))
    elif isinstance(value, list) and len(around) < DEEPEST:
        for member in value:
            if isinstance(member, dict):
                yield from enclosed(member, key, name, around)
