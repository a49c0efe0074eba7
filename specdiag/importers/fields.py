"""Values of records from outside, by what they must be: a count, a list of counts, a number as it stands, a text. None for anything else."""

from __future__ import annotations

import math
from typing import Any

MOST = 2**53  # of a count: beyond it a reader that holds numbers as doubles changes them silently
LONGEST = 1 << 16  # list of counts: what is longer is no list of positions or rounds of one request


def record(value: Any) -> dict[str, Any]:
    """A JSON object; an empty one for what is none."""
    return value if isinstance(value, dict) else {}


def count(value: Any) -> int | None:
    """A whole number from 0 to 2**53, also one that was written as a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not (math.isfinite(value) and value == int(value)):
        return None
    return int(value) if 0 <= value <= MOST else None


def no_count(found: dict[str, Any], *names: str, within: str = "") -> str:
    """What the first of these fields is that is no count: its path, what was expected, and what stands there. Nothing where all are."""
    for name in names:
        if count(found.get(name)) is None:
            got = repr(found[name])[:80] if name in found else "nothing"
            return f"{within}{name}: expected a whole number from 0 on, got {got}"
    return ""


def counts(value: Any) -> list[int] | None:
    """A list of counts; None if one of its members is none."""
    if not isinstance(value, list) or len(value) > LONGEST:
        return None
    found = [number for member in value if (number := count(member)) is not None]
    return found if len(found) == len(value) else None


def number_text(value: Any) -> str | None:
    """The digits of a finite number, all of them."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return str(value) if abs(value) <= MOST else None
    return repr(value) if math.isfinite(value) else None


def text(value: Any) -> str | None:
    """A string that says something."""
    return value if isinstance(value, str) and value else None


def digits(value: str) -> int | None:
    """A count that is written out in digits."""
    return count(int(value)) if value.isascii() and value.isdigit() and len(value) <= 16 else None
