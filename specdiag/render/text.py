"""Making untrusted text inert, and fitting it into cells of a terminal.

A drafter's name comes from a trace that anybody may have written. Shown raw it can clear the screen, reverse the line,
start a command of the machine that runs the build, or link to a page. Here it becomes plain characters that can be
seen: a control is shown as its escape.

Widths are counted from Python's own Unicode tables, not from a terminal library: the same report gives the same bytes
whatever is installed and whatever the environment says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from unicodedata import category, east_asian_width

# Drawn as nothing, though Unicode files them under letters and marks: fillers, joiners, variation selectors.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# Monograms, hexagrams and counting rods were narrow until Unicode 16; counted as wide, no line gets too long.
_WIDE_SINCE_16 = re.compile("[\u2630-\u2637\u268a-\u268f\u4dc0-\u4dff\U0001d300-\U0001d356\U0001d360-\U0001d376]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
# What our own prose uses, for terminals that have no more than ASCII.
_PLAIN = str.maketrans({"—": "--", "–": "-", "−": "-", "…": "...", "≤": "<=", "≥": ">=", "×": "x", "·": "|", "’": "'"})
_MARKS_IN_A_ROW = 2


@lru_cache(maxsize=4096)
def hidden(char: str) -> bool:
    """Whether a character acts on its surroundings or is not drawn: categories C*, Zl, Zp, and the unseen letters."""
    kind = category(char)
    return kind[0] == "C" or kind in ("Zl", "Zp") or _UNSEEN.match(char) is not None


def visible(char: str) -> str:
    """The escape that stands for a character, as in a Python literal."""
    code = ord(char)
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return _SHORT.get(char) or (f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}")


def _seen(text: str, ascii: bool) -> Iterator[str]:
    marks, before = _MARKS_IN_A_ROW, ""
    for char in text:
        marks = marks + 1 if category(char)[0] == "M" else 0
        # `::` begins a command of GitHub Actions, `##[` or `##vso[` one of Azure: some anywhere in a line.
        command = char in ":#" and char == before
        before = char
        shown = not (command or marks > _MARKS_IN_A_ROW or hidden(char) or (ascii and char > "~"))
        yield char if shown else visible(char)


def inert(text: str, *, ascii: bool = False) -> str:
    """The text with nothing in it that acts: one line, every control, format, unassigned or unseen character as a
    visible escape.

    Accents that pile up, or that open the text and would land on our own character, are escaped too, and so is the
    second of `::` and `##`. With `ascii` every character beyond ASCII is escaped. Applying it twice changes nothing.
    """
    if ascii:
        text = text.translate(_PLAIN)
    return "".join(_seen(text, ascii))


def json_lines(text: str) -> str:
    """Lines of JSON that say the same, with nothing in their strings that a terminal acts on."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(_in_json(char) if char > "~" and hidden(char) else char for char in text)


def _in_json(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


@lru_cache(maxsize=4096)
def _cell(char: str) -> int:
    if category(char) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(char) in "WF" or _WIDE_SINCE_16.match(char) else 1


def cells(text: str) -> int:
    """The width of inert text in terminal cells."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def _head(text: str, width: int) -> str:
    used = 0
    for index, char in enumerate(text):
        used += _cell(char)
        if used > width:
            return text[:index]
    return text


def _tail(text: str, width: int) -> str:
    kept = _head(text[::-1], width)[::-1]
    while kept and _cell(kept[0]) == 0:
        kept = kept[1:]
    return kept


def clip(text: str, width: int, ellipsis: str = "…") -> str:
    """At most `width` cells of inert text: its ends around an ellipsis, since long names often differ at the end."""
    if cells(text) <= width:
        return text
    room = width - cells(ellipsis)
    if room <= 0:
        return _head(ellipsis, max(width, 0))
    end = room // 3
    return _head(text, room - end) + ellipsis + _tail(text, end)


def _shared_words(names: Sequence[str]) -> int:
    """How many characters all names begin with, up to the last word that they share as a whole."""
    first, last = min(names), max(names)
    same = next((index for index, pair in enumerate(zip(first, last, strict=False)) if len(set(pair)) > 1), len(first))
    return max(first.rfind(mark, 0, same) for mark in "-_/.: ") + 1


def tell_apart(names: Sequence[str], width: int, ellipsis: str = "…") -> list[str]:
    """Inert names clipped to `width`, yet different where they differ: if need be, what all share is cut out."""
    clipped = [clip(name, width, ellipsis) for name in names]
    if len(set(clipped)) == len(set(names)):
        return clipped
    start = _shared_words(names)
    end = _shared_words([name[start:][::-1] for name in names])
    rests = [ellipsis + name[start : len(name) - end] + (ellipsis if end else "") for name in names]
    clipped = [clip(rest, width, ellipsis) for rest in rests]
    if len(set(clipped)) == len(set(names)):
        return clipped
    order = {name: str(index) for index, name in enumerate(dict.fromkeys(names), start=1)}
    return [f"{clip(name, max(width - 4, 0), ellipsis)} {order[name]}" for name in names]


def wrap(text: str, width: int) -> list[str]:
    """Inert text in lines of at most `width` cells, broken at spaces; a word longer than a line is cut."""
    lines = [""]
    for word in text.split(" "):
        while cells(word) > width:
            room = width - cells(lines[-1]) - 1 if lines[-1] else width
            piece = _head(word, room) if room > width // 3 else ""
            lines[-1] += f" {piece}" if piece and lines[-1] else piece
            word = word[len(piece) :]
            lines.append("")
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cells(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines if lines[-1] or len(lines) == 1 else lines[:-1]


_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "@": "@&#8203;"}
# In this order: what opens a block at the start of a line; a reference to an issue; an address; then single characters.
_MARKDOWN = re.compile(
    r"^(?:[#=]|[-+](?=[\s-]|$)|\d+(?=[.)](?:\s|$)))|#(?=\d)|\bgh-(?=\d)|\bwww(?=\.)|:(?=\S)|[\\`*_{}\[\]|~]|[&<>$@]",
    re.IGNORECASE,
)


def _quoted(found: re.Match[str]) -> str:
    text = found[0]
    if text in _ENTITIES:
        return _ENTITIES[text]
    if text in "\\`*_{}[]|~":
        return f"\\{text}"
    if text in "#:=-+" or text.isdigit():
        return f"&#{ord(text[0])};{text[1:]}" + ("&#8203;" if text == "#" else "")
    return f"{text}&#8203;"


def markdown(text: str) -> str:
    """Untrusted text as GitHub flavoured Markdown that shows it and does nothing else, in a sentence or in a cell.

    No HTML, link, image, code, emphasis, formula or emoji; no mention (which would notify somebody) and no reference to
    an issue. An entity stands where a backslash would not do: GitHub looks for mentions and addresses after it has
    removed backslashes.
    """
    return _MARKDOWN.sub(_quoted, inert(text).strip())
