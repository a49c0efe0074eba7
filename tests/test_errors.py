"""What errors repeat of the outside."""

from __future__ import annotations

from specdiag.errors import LONGEST, cut, shown


def test_long_text_keeps_its_ends() -> None:
    """A text that is too long keeps both ends and its length is bounded; a short one stays, and cutting twice changes nothing."""
    assert cut("short") == "short"
    assert cut("a" * 10, 10) == "a" * 10
    assert cut("abcdefghijkl", 10) == "abcdef…jkl"
    long = cut("a" * 10**6 + "end")
    assert len(long) == LONGEST
    assert long.endswith("end")
    assert cut(long) == long


def test_what_cannot_be_printed_is_escaped() -> None:
    """A name is one line, however it is written, and no longer than any."""
    assert shown("é.jsonl") == "é.jsonl"
    assert shown("a\nb\x1b") == "a\\nb\\x1b"
    assert len(shown("\n" * 10**6)) == LONGEST
