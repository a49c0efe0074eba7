"""What is known not to hold yet, for some input at least: a gap that is closed is taken off this list."""

from __future__ import annotations

import pytest

KNOWN_GAPS = {
    "test_the_reader_of_the_output_goes_away[--help]": "exit code of --help into a closed pipe",
    "test_a_full_disk": "exit code where standard error itself is full",
    "test_a_deep_chain": "time for chains of thousands of blocks",
    "test_a_large_line_costs_little_memory[a long block]": "time for a block of 100,000 tokens",
    "test_a_drafter_may_have_any_name": "names that differ in a NUL byte only",
    "test_long_names": "layout for very long names",
    "test_signals": "signals while several processes read",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the known gaps."""
    for item in items:
        for name, reason in KNOWN_GAPS.items():
            if item.name == name or item.name.split("[")[0] == name:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=False, run=name not in ("test_signals",)))
