"""Layouts of lines that engines print, written as one reads them, and matched against what is left of them after a terminal, a mail or a paste.

A template is the line itself; `<name:kind>` is a number in it, `{?` and `?}` enclose what may be missing. Where the template has a space, the line
may have any number, or none. A number must stand there as the engine prints it, with all its decimals: of a line that was cut in the middle of
a number nothing is read.
"""

from __future__ import annotations

import re
from itertools import accumulate

MOST_LINES = 12  # that a report may have been wrapped into

KINDS = {
    "int": r"\d+",
    "f1": r"\d+\.\d{1}",
    "f2": r"\d+\.\d{2}",
    "f3": r"\d+\.\d{3}",
    "f5": r"\d+\.\d{5}",
    "number": r"\d+(?:\.\d+)?(?:e[+-]?\d+)?",
    "word": r"[\w./:+-]+",
    "shares": r"\d+\s*:\s*'\d+\.\d{2}%'(?:\s*,\s*\d+\s*:\s*'\d+\.\d{2}%')*",  # a dict of percentages, as Python writes it
}
KINDS |= {f"{kind}|nan": rf"(?:{pattern}|-?nan)" for kind, pattern in KINDS.items() if kind.startswith("f")}
KINDS |= {f"{kind}s": rf"{pattern}(?:\s*,\s*{pattern})*" for kind, pattern in KINDS.items() if kind[0] == "f"}

_TOKEN = re.compile(r"<(\w+):([\w|]+)>|(\{\?)|(\?\})|(\s+)|(.)", re.DOTALL)
_CONTINUED = re.compile(r"^[ \t>|]+")
_GOES_ON = re.compile(
    r"[ \t>|]*[\d,.]"
)  # what may follow on a report that is whole already: more numbers of a list at its end
_AROUND = "`\"'*. \t\r"  # what a paste may have put behind a report


def layout(template: str) -> re.Pattern[str]:
    """The pattern of a template."""
    parts = []
    for name, kind, opened, closed, space, other in _TOKEN.findall(template):
        if name:
            parts.append(f"(?P<{name}>{KINDS[kind]})")
        else:
            parts.append("(?:" if opened else ")?" if closed else r"\s*" if space else re.escape(other) + r"\s*")
    return re.compile("".join(parts).replace(r"\s*\s*", r"\s*"))


def whole(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The match of all of a report that may be wrapped: of its line, or of as many lines joined as match. None where none does."""
    first, *more = text.split("\n", MOST_LINES)
    alone = pattern.fullmatch(first.strip(_AROUND))
    if alone and not (more and _GOES_ON.match(more[0])):
        return alone
    joined = accumulate(
        [first, *(_CONTINUED.sub("", line) for line in more[: MOST_LINES - 1])], lambda a, b: a.rstrip("\r") + b
    )
    matches = (pattern.fullmatch(line.strip(_AROUND)) for line in joined)
    return next((found for found in reversed([*matches]) if found), None)


def numbers(text: str) -> list[str]:
    """The members of a list of numbers, as printed."""
    return [part.strip() for part in text.split(",")] if text else []
