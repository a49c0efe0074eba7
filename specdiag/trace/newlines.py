"""Counting lines."""

from __future__ import annotations

import numpy as np

FEW = 4096  # bytes that are counted as they are


def newlines(data: bytes, begin: int = 0, end: int | None = None) -> int:
    """How many line ends there are between two places."""
    end = len(data) if end is None else end
    if end - begin < FEW:
        return data.count(b"\n", begin, end)
    # Several times as fast as bytes.count for a single character.
    return int(np.count_nonzero(np.frombuffer(data, np.uint8, end - begin, begin) == 10))
