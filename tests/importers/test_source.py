"""One input as an importer reads it."""

from __future__ import annotations

from specdiag.importers.prometheus import scrapes
from specdiag.importers.source import Source
from specdiag.trace.sources import Piece


def test_head_is_read_again() -> None:
    """The beginning of an input can be looked at before it is read."""
    source = Source("input", [Piece(data=b"one\n"), Piece(data=b"two\n", last=True)])
    assert source.head() == b"one\n"
    assert [row for _, row in source.rows()] == ["one", "two"]
    assert Source("input", []).head() == b""


def test_a_counter_cut_off_at_the_end_is_not_read() -> None:
    """Digits at the end of a file that ends within a line may go on; with their point they are whole, as are those behind which a line ends."""
    for end, expected in [("1", []), ("16.0", [16.0]), ("16\n", [16.0])]:
        source = Source("input", [Piece(data=f"  a:b {end}".encode(), last=True)])
        assert [sample.value for scrape in scrapes(source, "a:") for sample in scrape.samples["a:b"]] == expected
