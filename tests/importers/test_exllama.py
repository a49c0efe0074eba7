"""ExLlama and tabbyAPI."""

from __future__ import annotations

from tests.importers.common import imported, noted, register, tallies

NAME = "exllama/tabby-log"
TEXT = """\
INFO:     Metrics (ID: a): 20 tokens generated in 2 seconds, Draft: 6 / 12 tokens accepted (50.00%)
INFO:     Metrics (ID: b): 30 tokens generated in 2 seconds, Draft: 1 / 12 tokens accepted (8.33%)
"""
register(NAME, TEXT)


def test_the_line_of_tabby() -> None:
    """Accepted and proposed tokens are exact, the percentage is what was printed."""
    assert [(t.accepted, t.proposed, t.printed) for t in tallies(TEXT, NAME)] == [
        (6, 12, {"accepted": "50.00%"}),
        (1, 12, {"accepted": "8.33%"}),
    ]


def test_a_torn_line_gives_nothing() -> None:
    """A line without its end is noted, and counts nowhere."""
    events, notes = imported(TEXT + "Draft: 3 / 12 tokens accepted (25.\n", NAME)
    assert len(events) == 3
    assert len(noted(notes, "report_unreadable")) == 1
