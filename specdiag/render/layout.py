"""Lines and tables for a terminal of a given width.

Lines are laid out here, cell by cell, and handed to the terminal library only for their colour. So a line is never
longer than the width, a table that is too wide continues below itself instead of wrapping, and the bytes do not change
with the library's version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.text import Text

from specdiag.errors import cut
from specdiag.render.bars import ASCII, UNICODE, Glyphs
from specdiag.render.figures import figure, interval, percent, ratio
from specdiag.render.text import cells, clip, inert, tell_apart, wrap
from specdiag.report import Rate

# Narrower than this nothing is readable, and the terminal may as well wrap.
NARROWEST = 60
# A message from a trace may be a megabyte long.
LONGEST = 600
_LEAST_LABEL = 11
_GAPS = (2, 1)
_MOST_LABEL = 34
_RATIO = 13
_GAP = "  "

Cell = Sequence[Text]
"""The lines of one cell of a table."""


@dataclass(frozen=True, slots=True)
class Face:
    """What the terminal can show: its width in cells, and whether it has more than ASCII."""

    width: int
    ascii: bool = False

    @property
    def glyphs(self) -> Glyphs:
        """The characters for bars, dashes and marks."""
        return ASCII if self.ascii else UNICODE

    def say(self, text: str, width: int = LONGEST) -> str:
        """Untrusted text, inert and at most `width` cells long."""
        return clip(inert(cut(text, 2 * LONGEST), ascii=self.ascii), width, self.glyphs.ellipsis)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading and its cells. Figures stand at the right, words at the left."""

    head: str
    cells: Sequence[Cell]
    right: bool = True

    def width(self) -> int:
        """The cells that the widest line needs."""
        return max([cells(self.head), *(cells(line.plain) for cell in self.cells for line in cell)])


def paragraph(face: Face, text: str, *, style: str = "", indent: str = "", hang: str | None = None) -> Iterator[Text]:
    """Text in lines; the first begins with `indent`, the others with `hang`.

    It is made inert as a whole, because two harmless parts may join to a command.
    """
    hang = indent if hang is None else hang
    room = face.width - max(cells(indent), cells(hang))
    for index, line in enumerate(wrap(inert(text, ascii=face.ascii), room)):
        yield Text((hang if index else indent) + line, style=style)


def heading(face: Face, title: str, caption: str = "") -> Iterator[Text]:
    """The title of a section in capitals, and what its figures are, in the same line where it fits."""
    title = title.upper()
    if not caption:
        yield Text(title, style="bold")
    elif cells(title) + 2 + cells(caption) <= face.width:
        yield Text.assemble((title, "bold"), _GAP, (caption, "dim"))
    else:
        yield Text(title, style="bold")
        yield from paragraph(face, caption, style="dim")


def items(face: Face, pairs: Sequence[tuple[str, str]], *, style: str = "") -> Iterator[Text]:
    """A list of names and texts: the names in a column of their own, or above their texts where they are long."""
    column = min(max((cells(name) for name, _ in pairs), default=0), face.width * 2 // 5)
    for name, text in pairs:
        if cells(name) > column:
            yield from paragraph(face, name, style=style, hang=_GAP)
            name = ""
        lines = wrap(text, face.width - column - 2)
        for index, line in enumerate(lines):
            yield Text(pad(name if not index else "", column) + _GAP + line, style=style)


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Text filled with blanks to `width` cells."""
    blanks = " " * max(width - cells(text), 0)
    return blanks + text if right else text + blanks


def table(face: Face, label: Column, columns: Sequence[Column], *, spaced: bool = False) -> Iterator[Text]:
    """A table in one piece, or in as many pieces below each other as the width asks for, each with the labels again.

    `spaced` is for rows of several lines: a blank line between them, and a label that is too long above its row instead
    of clipped.
    """
    left = list(columns)
    while left:
        gap, taken = max(((gap, _fitting(face.width, left, gap)) for gap in _GAPS), key=lambda fit: fit[1])
        room = face.width - sum(column.width() + gap for column in left[:taken])
        yield from _piece(face, [label, *left[:taken]], min(label.width(), room, _MOST_LABEL), gap, spaced)
        left = left[taken:]
        if left:
            yield Text()


def _fitting(width: int, columns: Sequence[Column], gap: int) -> int:
    used, taken = _LEAST_LABEL, 0
    for column in columns:
        used += column.width() + gap
        if used > width and taken:
            break
        taken += 1
    return taken


def _piece(face: Face, columns: Sequence[Column], label_width: int, gap: int, spaced: bool) -> Iterator[Text]:
    widths = [label_width, *(column.width() for column in columns[1:])]

    def line(texts: Sequence[Text]) -> Text:
        cuts = [clip(text.plain, width, face.glyphs.ellipsis) for text, width in zip(texts, widths, strict=True)]
        padded = [pad(cut, width, right=column.right) for cut, width, column in zip(cuts, widths, columns, strict=True)]
        return Text(" " * gap).join(Text(cut, style=text.style) for cut, text in zip(padded, texts, strict=True))

    yield line([Text(column.head, style="dim") for column in columns])
    labels = [list(cell) for cell in columns[0].cells]
    if not spaced:
        names = tell_apart([label[0].plain for label in labels], label_width, face.glyphs.ellipsis)
        labels = [[Text(name, style=label[0].style), *label[1:]] for name, label in zip(names, labels, strict=True)]
    for index, label in enumerate(labels):
        if spaced and index:
            yield Text()
        above = max((at + 1 for at, text in enumerate(label) if cells(text.plain) > label_width), default=0)
        for text in label[:above]:
            yield Text(clip(text.plain, face.width, face.glyphs.ellipsis), style=text.style)
        for texts in zip_longest(label[above:], *(column.cells[index] for column in columns[1:]), fillvalue=Text()):
            yield line(texts)


def fold(name: str, width: int, ellipsis: str = "…") -> list[str]:
    """A long name of ours in several lines, broken behind its underscores."""
    lines = [""]
    for part in name.replace("_", "_ ").split(" "):
        if lines[-1] and cells(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return [clip(line, width, ellipsis) for line in lines]


def stacked(face: Face, rate: Rate | None) -> Cell:
    """Value, interval and counts below each other: the narrowest form that keeps all three."""
    value = Text(figure(rate, face.glyphs), style="bold")
    if rate is None or rate.value is None:
        return [value]
    return [value, Text(interval(rate, face.glyphs), style="dim"), Text(ratio(rate, _RATIO - 1), style="dim")]


def rate_table(face: Face, named: Mapping[str, Rate], level: float) -> Iterator[Text]:
    """Rates below each other: name, value, interval, numerator/denominator. The name says which definition it is."""
    if not named:
        return
    rates = named.values()
    width = _RATIO + 6 if face.width >= 80 else _RATIO
    columns = [
        Column("value", [[Text(figure(rate, face.glyphs), style="bold")] for rate in rates]),
        Column(f"{percent(level)} interval", [[Text(interval(rate, face.glyphs))] for rate in rates]),
        Column("of", [[Text(ratio(rate, width))] for rate in rates]),
    ]
    room = min(face.width - sum(column.width() + 2 for column in columns), _MOST_LABEL)
    names = [[Text(line) for line in fold(face.say(name, 3 * room), room, face.glyphs.ellipsis)] for name in named]
    yield from table(face, Column("rate", names, right=False), columns)
