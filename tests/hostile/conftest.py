"""What is known not to hold yet, by the exact name of the case: one that is closed fails here until it is taken off this list."""

from __future__ import annotations

import pytest

KNOWN_GAPS = {
    "test_a_deep_chain[drafters1]": "time for chains of a thousand blocks of two drafters",
    "test_a_large_line_costs_little_memory[a long block]": "memory for a block of many tokens",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the known gaps."""
    for item in items:
        if item.name in KNOWN_GAPS:
            item.add_marker(pytest.mark.xfail(reason=KNOWN_GAPS[item.name], strict=True))
