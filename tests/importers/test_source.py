"""One input as an importer reads it: places of markers, JSON values, rows; whatever it went through."""

from __future__ import annotations

import pytest

from specdiag.errors import InputError
from specdiag.importers import source as module
from specdiag.importers.prometheus import scrapes
from specdiag.importers.source import Source, plain
from specdiag.trace.sources import Piece


def of(*parts: bytes) -> Source:
    """An input in these segments."""
    return Source("input", [Piece(data=part, last=part is parts[-1]) for part in parts])


def seen(source: Source, *markers: str) -> list[tuple[int, str, str, str]]:
    """What was seen, as plain tuples."""
    return [(item.line, item.marker, item.before, item.text) for item in source.sightings(*markers)]


def test_markers_are_found_in_order_with_their_lines() -> None:
    """A sighting has its line, what stands before it, and what follows up to the line of the next one."""
    found = seen(of(b"x A: 1\nmore\nz B: 2 A: 3\n"), "A:", "B:")
    assert found == [(1, "A:", "x ", " 1\nmore"), (3, "B:", "z ", " 2 "), (3, "A:", "z B: 2 ", " 3")]


def test_lines_count_over_segments() -> None:
    """Line numbers are those of the whole input, whatever the segments."""
    source = of(b"one\ntwo\n", b"three A: 1\n", b"A: 2")
    assert [item[0] for item in seen(source, "A:")] == [3, 4]
    assert (source.lines, source.size) == (4, 23)


def test_colours_and_carriage_returns_go() -> None:
    """Escape sequences of a terminal are no part of a line, wherever they stand."""
    assert plain(b"\x1b[36m(pid=1)\x1b[0m A\x1b[1m: \x1b]8;;http://x\x07 5\r\n") == b"(pid=1) A:  5\n"


@pytest.mark.parametrize(
    "text", [b"Mean accep\ntance: 5", b"Meanacceptance: 5", b"Mean\n  acceptance: 5", b"Mean acc\n> eptance: 5"]
)
def test_a_marker_may_be_wrapped_or_lose_its_spaces_in_a_small_input(text: bytes) -> None:
    """Of a paste the marker itself is found, too."""
    assert [item[3] for item in seen(of(text), "Mean acceptance:")] == [" 5"]


def test_of_markers_that_overlap_the_longer_counts() -> None:
    """Where one marker begins another, or stands inside it, one sighting is given."""
    big = b"x" * (module.SMALL + 1) + b"\n"
    for prefix in (b"", big):
        assert [
            item[1] for item in seen(of(prefix + b"draft acceptance rate 5"), "draft acceptance rate", "acceptance")
        ] == ["draft acceptance rate"]


@pytest.mark.parametrize(
    "text",
    [
        b'{"a": 1}\n{"a": 2}\n',
        b'data: {"a": 1}\n\ndata: {"a": 2}\n\ndata: [DONE]\n',
        b'event: x\ndata: {"a": 1}\n: ping\ndata: {"a": 2}\n',
        b'[{"a": 1}, {"a": 2}]',
        b'[\n  {"a": 1},\n  {"a": 2}\n]\n',
        b'{\n "a": 1\n}\n{\n "a": 2\n}\n',
    ],
)
def test_values_come_out_of_every_way_to_write_them(text: bytes) -> None:
    """Lines, server-sent events, lists, and values over many lines."""
    source = of(text)
    assert [value for _, value in source.values()] == [{"a": 1}, {"a": 2}]
    assert not source.notes.counts


def test_numbers_as_python_writes_them() -> None:
    """NaN is a number that Python writes."""
    [(_, value)] = of(b'{"a": NaN}\n').values()
    assert value["a"] != value["a"]


def test_what_is_no_json_is_noted_with_its_line() -> None:
    """A bad line costs itself only; a document that ends early gives nothing."""
    source = of(b'{"a": 1}\nTraceback (most recent call last):\n{"a": 2}\n')
    assert [(line, value["a"]) for line, value in source.values()] == [(1, 1), (3, 2)]
    assert source.notes.places["not_json"][0].line == 2
    source = of(b'{\n "a": [1,\n')
    assert list(source.values()) == []
    assert source.notes.places["not_json"][0].line == 1


def test_deep_values_are_no_accident() -> None:
    """Nesting without end is noted, not followed."""
    source = of(b"[" * 100_000 + b"\n" + b'{"a": 1}\n')
    list(source.values())
    assert source.notes.counts == {"not_json": 1}


def test_a_document_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What must be held whole is held up to a limit; then the error says how to write it."""
    monkeypatch.setattr(module, "MAX_DOCUMENT", 100)
    with pytest.raises(InputError, match="one record a line"):
        list(of(b"{\n" + b'"a": 1,\n' * 50).values())


def test_rows_have_numbers() -> None:
    """Rows count from 1, over segments."""
    assert list(of(b"a\nb\n", b"c").rows()) == [(1, "a"), (2, "b"), (3, "c")]


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
