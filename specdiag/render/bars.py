"""Bars and heat marks as characters: pure drawing, apart from layout and colour.

Nothing here is the only carrier of a figure. A bar stands beside its rate, a shade beside its count, so that a reader
without colour, or with a screen reader, loses nothing.
"""

from __future__ import annotations

from typing import NamedTuple


class Glyphs(NamedTuple):
    """The few characters that differ between a UTF-8 terminal and one that has only ASCII."""

    dash: str
    ellipsis: str
    dot: str
    span: str
    at_most: str
    at_least: str
    times: str
    full: str
    parts: str
    shades: str


UNICODE = Glyphs("—", "…", " · ", "–", "≤ ", "≥ ", "×", "█", "▏▎▍▌▋▊▉", "░▒▓█")
ASCII = Glyphs("--", "...", " | ", "-", "<= ", ">= ", "x", "=", "-", ".:+#")

# Lower bounds of the four shades, as shares of all discarded tokens: the same shade means the same in every report.
SHADES_FROM = (0.0, 0.05, 0.15, 0.30)


def bar(fraction: float, width: int, glyphs: Glyphs) -> str:
    """A bar of at most `width` cells. It is empty only for 0 and full only for 1, like the rate beside it."""
    steps = len(glyphs.parts) + 1
    last = width * steps
    units = round(min(max(fraction, 0.0), 1.0) * last)
    if 0 < fraction < 1:
        units = min(max(units, 1), last - 1)
    whole, part = divmod(units, steps)
    return glyphs.full * whole + (glyphs.parts[part - 1] if part else "")


def shade(share: float, glyphs: Glyphs) -> str:
    """The mark for a share of all discarded tokens; a blank means that nothing was lost there."""
    if share <= 0:
        return " "
    return glyphs.shades[sum(share >= bound for bound in SHADES_FROM) - 1]


def shade_key(glyphs: Glyphs) -> str:
    """What the four marks mean, for the line below a heat map."""
    uppers = [f"below {bound:.0%}" for bound in SHADES_FROM[1:]] + [f"{SHADES_FROM[-1]:.0%} and more"]
    return ", ".join(f"{mark} {upper}" for mark, upper in zip(glyphs.shades, uppers, strict=True))
