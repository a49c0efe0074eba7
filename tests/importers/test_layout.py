"""Templates of lines match what is left of a line after a terminal, a mail or a paste, and nothing that was cut."""

from __future__ import annotations

import pytest

from specdiag.importers.layout import layout, numbers, whole

LINE = layout("length: <length:f2>, Accepted: <accepted:int> tokens, rates: <rates:f3s>{?, rate: <rate:f1|nan>%?}")
TEXT = "length: 2.50, Accepted: 1220 tokens, rates: 0.750, 0.500, 0.250"


def test_a_clean_line_gives_its_numbers() -> None:
    """Names are the numbers of the template; an optional part that is missing gives none."""
    found = whole(LINE, TEXT)
    assert found is not None
    assert found.groupdict() == {"length": "2.50", "accepted": "1220", "rates": "0.750, 0.500, 0.250", "rate": None}
    assert numbers(found["rates"]) == ["0.750", "0.500", "0.250"]
    found = whole(LINE, TEXT + ", rate: nan%")
    assert found is not None
    assert found["rate"] == "nan"


@pytest.mark.parametrize("width", [8, 13, 20, 37, 40])
@pytest.mark.parametrize("mark", ["", "> ", "   | "])
def test_a_wrapped_line_is_read_whole(width: int, mark: str) -> None:
    """Wherever a terminal cut the line, in the middle of a number too, and whatever a mail put before the parts."""
    parts = [TEXT[i : i + width] for i in range(0, len(TEXT), width)]
    found = whole(LINE, f"\n{mark}".join(parts) + "\nsomething else follows")
    assert found is not None
    assert (found["accepted"], found["rates"]) == ("1220", "0.750, 0.500, 0.250")


def test_a_list_that_goes_on_is_read_to_its_end() -> None:
    """A line that was wrapped inside a list is not taken for a shorter list."""
    found = whole(LINE, TEXT + "\n, 0.125, 0.100\nnext line")
    assert found is not None
    assert numbers(found["rates"])[3:] == ["0.125", "0.100"]


def test_lost_spaces_do_no_harm() -> None:
    """A paste may lose every space."""
    assert whole(LINE, TEXT.replace(" ", "")) is not None


def test_what_was_cut_is_not_read() -> None:
    """Of a line that ends anywhere before its last decimal nothing is read, but what ends between two rates reads as the shorter list."""
    read = {cut for cut in range(len(TEXT)) if whole(LINE, TEXT[:cut])}
    ends = {TEXT.index("0.750") + 5, TEXT.index("0.500") + 5}
    assert {cut for cut in read if TEXT[:cut].rstrip(",. ") == TEXT[:cut]} == ends


def test_the_quotes_of_a_paste_do_no_harm() -> None:
    """Markdown and mails put quotes behind what they quote."""
    assert whole(LINE, TEXT + "`") is not None
