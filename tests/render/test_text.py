"""Making text inert and fitting it into cells."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len

from specdiag.render.text import cells, clip, hidden, inert, markdown, tell_apart, wrap
from tests.sample_report import HOSTILE

ANYTHING = st.text(st.characters(categories=None), max_size=60)
TROUBLE = st.text(
    st.sampled_from("ab1 \t\n\r\x1b\x9b\x7f:#@<>&|`*_[]()!~$\\/-+=.{}\u202e\u200b\u2028\ufeff\u0301\ud800www"),
    max_size=40,
)
LEFT_TO_RIGHT = st.integers(2, 90)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("\x9b31m", r"\x9b31m"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x7f\x00", r"\x7f\x00"),
        ("\u202eabc\u2066", r"\u202eabc\u2066"),
        ("a\u200bb\u2028", r"a\u200bb\u2028"),
        ("\U000e0041", r"\U000e0041"),
        ("\ud800", r"\ud800"),
        ("\u3164\ufe0f", r"\u3164\ufe0f"),
        ("::error::x", r":\x3aerror:\x3ax"),
        ("##[error]", r"#\x23[error]"),
        ("\u0301a", r"\u0301a"),
        ("[red]x", "[red]x"),
        ("naïve 模型 e\u0301", "naïve 模型 e\u0301"),
    ],
)
def test_what_acts_is_shown_as_an_escape(text: str, shown: str) -> None:
    """Controls, bidi marks, unseen characters and openings of workflow commands become visible; the rest stays."""
    assert inert(text) == shown


@given(ANYTHING | TROUBLE)
@example("".join(HOSTILE))
def test_inert_text_has_nothing_that_acts(text: str) -> None:
    """No control, format, separator, private or unassigned character is left, nor a command to a build machine."""
    shown = inert(text)
    assert not [char for char in shown if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}]
    assert not any(map(hidden, shown))
    assert "::" not in shown
    assert "##" not in shown


@given(ANYTHING | TROUBLE)
def test_inert_twice_is_inert_once(text: str) -> None:
    """A second pass changes nothing, so that no caller has to know whether there was a first."""
    assert inert(inert(text)) == inert(text)


@given(ANYTHING | TROUBLE)
def test_ascii_text_is_ascii(text: str) -> None:
    """With `ascii` nothing beyond ASCII is left, and nothing that acts either."""
    shown = inert(text, ascii=True)
    assert shown.isascii()
    assert inert(shown) == shown


@given(ANYTHING, LEFT_TO_RIGHT)
def test_clipped_text_fits(text: str, width: int) -> None:
    """Clipping keeps to the width, in cells as the terminal library counts them, and leaves short text alone."""
    shown = inert(text)
    clipped = clip(shown, width)
    assert cell_len(clipped) <= cells(clipped) <= width
    assert (clipped == shown) == (cells(shown) <= width)


def test_clipping_keeps_both_ends() -> None:
    """Names that differ at their end only stay different."""
    assert clip("an-organisation/model-07", 12) == "an-organ…-07"
    assert clip("模型模型模型模型", 7) == "模型…型"
    assert clip("abcdefgh" + "e\u0301" * 2, 4) == "ab…e\u0301"


def test_clipping_to_almost_nothing() -> None:
    """Where not even the ellipsis fits there is what fits of it."""
    assert [clip("abc", width) for width in (-1, 0, 1, 2)] == ["", "", "…", "a…"]
    assert clip("abcdef", 2, "...") == ".."


@given(ANYTHING | TROUBLE, LEFT_TO_RIGHT)
def test_wrapped_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    """No line is wider than asked for, and all that is not a blank is still there."""
    shown = inert(text)
    lines = wrap(shown, width)
    assert all(cells(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == shown.replace(" ", "")


@given(st.lists(ANYTHING.map(inert), max_size=6), st.integers(10, 40))
def test_names_told_apart_fit_and_differ(names: list[str], width: int) -> None:
    """Different names have different labels within the width."""
    labels = tell_apart(names, width)
    assert all(cells(label) <= width for label in labels)
    assert len(set(zip(names, labels, strict=True))) == len(set(names))


def test_long_names_lose_what_they_share() -> None:
    """Where clipping hides the difference, the common beginning and end go first, in whole words."""
    names = [f"an-organisation/a-long-name-{index:02}-instruct" for index in range(3)]
    assert tell_apart(names, 12) == ["…00…", "…01…", "…02…"]


def test_names_that_differ_in_the_middle_are_numbered() -> None:
    """Where neither end nor whole words tell names apart, their order does; equal names stay equal."""
    names = ["a" * 30 + middle + "b" * 30 for middle in "xyx"]
    assert tell_apart(names, 12) == ["aaaaa…bb 1", "aaaaa…bb 2", "aaaaa…bb 1"]


@given(ANYTHING | TROUBLE)
@example("".join(HOSTILE))
def test_escaped_markdown_keeps_no_raw_mark(text: str) -> None:
    """No raw `<`, unescaped pipe, backtick or bracket is left, and a mention is broken behind its sign."""
    escaped = markdown(text)
    bare = escaped.replace("\\\\", "")
    for mark in "|`[]*_~":
        assert bare.count(mark) == bare.count(f"\\{mark}")
    assert not set("<>\n") & set(escaped)
    assert escaped.count("@") == escaped.count("@&#8203;")
    assert "::" not in escaped
    assert "://" not in escaped
    assert "www." not in escaped.lower()


@given(TROUBLE)
@example("".join(HOSTILE))
@example("1. a")
@example("# a")
@example("- a")
@example("---")
@example("a@b.example and www.b.example and http://b.example")
def test_escaped_markdown_reads_as_the_text_itself(text: str) -> None:
    """A Markdown parser sees one paragraph of plain text, and in it what was to be shown."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = parser.parse(markdown(text))
    shown = " ".join(inert(text).split())
    assert [token.type for token in tokens] == (["paragraph_open", "inline", "paragraph_close"] if shown else [])
    if shown:
        children = tokens[1].children or []
        assert {child.type for child in children} == {"text"}
        read = "".join(child.content for child in children).replace("\u200b", "")
        assert " ".join(read.split()) == shown


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_markdown_stays_in_its_cell(text: str) -> None:
    """In a table a hostile name makes neither a column nor a row."""
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(f"| a | b |\n| -- | -- |\n| {markdown(text)} | x |\n")
    assert [token.type for token in tokens].count("td_open") == 2
    assert [token.type for token in tokens].count("tr_open") == 2
