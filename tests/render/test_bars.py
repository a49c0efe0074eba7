"""Bars, shades and the heat map."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdiag.render.bars import ASCII, UNICODE, Glyphs, bar, shade
from specdiag.render.heat import heat
from tests.sample_report import incident, many


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
@given(fraction=st.floats(0, 1), width=st.integers(1, 60))
def test_a_bar_is_empty_for_0_and_full_for_1_only(glyphs: Glyphs, fraction: float, width: int) -> None:
    """Like the rate beside it, a bar never shows nothing for little or all for nearly all."""
    drawn = bar(fraction, width, glyphs)
    assert len(drawn) <= width
    assert (drawn == "") == (fraction == 0)
    assert (drawn == glyphs.full * width) == (fraction == 1)


def test_a_bar_stays_within_its_width() -> None:
    """A value outside [0, 1] does not break the layout."""
    assert bar(3.2, 4, UNICODE) == "████"
    assert bar(-1.0, 4, UNICODE) == ""


def test_shades_follow_fixed_shares() -> None:
    """A shade means the same share of all discarded tokens in every report; a blank means none."""
    assert [shade(share, UNICODE) for share in (0, 0.001, 0.05, 0.15, 0.3, 1)] == [" ", "░", "▒", "▓", "█", "█"]
    assert [shade(share, ASCII) for share in (0, 0.001, 0.05, 0.15, 0.3)] == [" ", ".", ":", "+", "#"]


@pytest.mark.parametrize("most", [1, 2, 6, 12, 20])
def test_a_cut_matrix_still_adds_up(most: int) -> None:
    """Rows, columns and the remainder add up to all discarded tokens, however many drafters stand by themselves."""
    blame = many().blame
    assert blame is not None
    matrix = heat(blame, most)
    assert [sum(row) for row in matrix.tokens] == list(matrix.rows)
    assert [sum(column) for column in zip(*matrix.tokens, strict=True)] == list(matrix.columns)
    assert sum(matrix.rows) + matrix.remainder == matrix.total
    assert len(matrix.names) + matrix.others == len(blame.drafters)


def test_a_small_matrix_is_not_cut() -> None:
    """Three drafters stand by themselves, with nobody among the others."""
    blame = incident().blame
    assert blame is not None
    assert heat(blame).others == 0
    assert heat(blame).tokens == blame.tokens
