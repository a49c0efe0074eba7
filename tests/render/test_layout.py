"""Lines and tables of a given width."""

from __future__ import annotations

import pytest
from rich.text import Text

from specdiag.render.layout import Column, Face, fold, heading, items, rate_table, table
from specdiag.report import Rate


def plain(lines: list[Text]) -> list[str]:
    """Lines without styles and trailing blanks."""
    return [line.plain.rstrip() for line in lines]


def column(head: str, *texts: str) -> Column:
    """A column of one-line cells."""
    return Column(head, [[Text(text)] for text in texts])


def test_a_wide_table_continues_below_itself() -> None:
    """Columns that do not fit come in a second piece, with the labels again."""
    label = Column("name", [[Text("one")], [Text("two")]], right=False)
    columns = [column(f"column-{index:02}-of-a-wide-table", "1", "2") for index in range(3)]
    lines = plain(list(table(Face(60), label, columns)))
    assert [line.split() for line in lines] == [
        ["name", "column-00-of-a-wide-table"],
        ["one", "1"],
        ["two", "2"],
        [],
        ["name", "column-01-of-a-wide-table"],
        ["one", "1"],
        ["two", "2"],
        [],
        ["name", "column-02-of-a-wide-table"],
        ["one", "1"],
        ["two", "2"],
    ]


def test_columns_move_together_before_a_table_is_cut() -> None:
    """A table that fits with single blanks stays in one piece."""
    label = Column("name", [[Text("a" * 11)]], right=False)
    lines = list(table(Face(60), label, [column("x" * 15, "1") for _ in range(3)]))
    assert len(lines) == 2
    assert len(lines[0].plain) == 11 + 3 * 16


def test_a_long_label_stands_above_its_row() -> None:
    """In a table of tall rows a name is not clipped but has a line of its own."""
    name = "n" * 50
    label = Column("name", [[Text(name), Text("below")], [Text("short")]], right=False)
    lines = plain(list(table(Face(60), label, [column("value" * 7, "1", "2")], spaced=True)))
    assert lines[1] == name
    assert lines[2].split() == ["below", "1"]
    assert lines[3] == ""
    assert lines[4].split() == ["short", "2"]


def test_long_rate_names_break_behind_underscores() -> None:
    """A name of ours is folded, not clipped, where the table is narrow."""
    name = "truncation_depth_when_truncated"
    assert fold(name, 18) == ["truncation_depth_", "when_truncated"]
    lines = plain(list(rate_table(Face(60), {name: Rate(name, 4.0, -4e9, 1e9, -1.5, 5.5)}, 0.95)))
    assert "".join(line.split()[0] for line in lines[1:]) == name


def test_no_rates_no_table() -> None:
    """A table without rows is not drawn."""
    assert list(rate_table(Face(80), {}, 0.95)) == []


def test_a_long_name_in_a_list_stands_above_its_text() -> None:
    """A name wider than the column of names has lines of its own, and its text begins below it."""
    assert plain(list(items(Face(60), [("a" * 30, "text"), ("b", "more")]))) == [
        "a" * 30,
        " " * 26 + "text",
        "b" + " " * 25 + "more",
    ]


def test_a_heading_breaks_before_its_caption() -> None:
    """A caption that does not fit beside the title goes below it."""
    lines = plain(list(heading(Face(60), "shared", "word " * 15)))
    assert lines[0] == "SHARED"
    assert all(len(line) <= 60 for line in lines)
    assert plain(list(heading(Face(60), "time", "seconds"))) == ["TIME  seconds"]


@pytest.mark.parametrize("ascii", [False, True])
def test_a_face_says_at_most_so_much(ascii: bool) -> None:
    """A megabyte of text from a trace takes a few lines."""
    said = Face(80, ascii).say("x\x1b" * 1_000_000)
    assert len(said) <= 600
    assert said.isascii() == ascii
