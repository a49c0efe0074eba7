"""What is known not to hold yet, by the exact name of the case: one that is closed fails here until it is taken off this list."""

from __future__ import annotations

import pytest

KNOWN_GAPS = {
    "test_a_hundred_thousand_unknown_fields": "a line of more unknown fields than can be learned gets no note",
    "test_counters_of_an_engine_add_up": "engine counters beyond 2^62",
    "test_counters_that_contradict_each_other[counts0]": "engine counters that contradict each other get no note",
    "test_counters_that_contradict_each_other[counts1]": "engine counters that contradict each other get no note",
    "test_lists_of_the_wrong_length": "q of another length than the tokens is not used, but gets no note",
    "test_a_deep_chain[drafters1]": "time for chains of a thousand blocks of two drafters",
    "test_a_large_line_costs_little_memory[a long block]": "memory for a block of many tokens",
    "test_a_large_line_costs_little_memory[many positions reached]": "memory for a counter of many positions",
    "test_headers_twice_and_drafters_twice": "a drafter declared twice, differently, gets no note",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the known gaps."""
    for item in items:
        if item.name in KNOWN_GAPS:
            item.add_marker(pytest.mark.xfail(reason=KNOWN_GAPS[item.name], strict=True))
