"""The report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace

from specdiag.render.markdown import render
from specdiag.report import Place
from tests.sample_report import VARIANTS, all_absent, counts, hostile, incident, many, out_of_scope

OUR_TAGS = {"<br>", "<sub>", "</sub>", "<details>", "</details>", "<summary>", "</summary>"}


def test_golden(golden: Callable[[str, str], None]) -> None:
    """The Markdown of the incident, and of an engine's counts alone, is the one that was looked at."""
    golden("incident.md", render(incident()))
    golden("counts.md", render(counts()))


@pytest.mark.parametrize("variant", VARIANTS)
def test_only_our_own_tags(variant: str) -> None:
    """Whatever the trace says, the only tags, and the only kinds of element, are those of this face."""
    text = render(VARIANTS[variant]())
    assert set(re.findall(r"<[^>]*>?", text)) <= OUR_TAGS
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    kinds = {child.type for token in tokens for child in token.children or []}
    assert kinds <= {"text", "code_inline", "strong_open", "strong_close", "html_inline", "softbreak"}
    assert not {"fence", "code_block", "hr", "ordered_list_open"} & {token.type for token in tokens}


def test_rows_have_as_many_cells_as_their_heading() -> None:
    """No name breaks a table."""
    text = render(hostile())
    for block in text.split("\n\n"):
        rows = [re.findall(r"(?<!\\)\|", line) for line in block.splitlines() if line.startswith("|")]
        assert len({len(row) for row in rows}) <= 1


def test_absent_parts_are_left_out() -> None:
    """Without shared prefixes there is neither blame nor marginal value, and the scope is said first."""
    text = render(out_of_scope())
    assert "### Blame" not in text
    assert "### Shared" not in text
    assert text.index("**out of scope**: one drafter only") < text.index("### Drafters")
    assert "**broken**: committed &lt;= accepted: 12 is not 11" in text


def test_missing_figures_have_a_reason() -> None:
    """A dash in a table has its reason in the list of what was not observed."""
    text = render(all_absent())
    assert "| `joint_acceptance` | — |  |  |" in text
    assert "no log carries joint\\_acceptance" in text


def test_long_parts_say_how_much_is_left_out() -> None:
    """Drafters, positions and rows beyond the limit are counted."""
    report = many()
    text = render(replace(report, slices=report.slices * 10))
    assert "7 others" in text
    assert "+6 more drafters" in text
    assert "### By `branch` (+10 more rows)" in text


def test_every_kind_of_note_is_said() -> None:
    """A note says its severity, code, count, place and advice, problems before the others."""
    report = incident()
    notes = [replace(report.integrity[0], advice="", places=[]), replace(report.integrity[1], places=[Place("x y", 3)])]
    text = render(replace(report, integrity=notes[::-1]))
    assert text.index("**problem** `proposal_orphan` ×2") < text.index("**info** `unknown_field` ×14")
    assert "first at x y line 3" in text
