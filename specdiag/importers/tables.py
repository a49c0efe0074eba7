"""Tables: CSV with a header, read by the rules of the csv module, so that a quoted name may hold commas and line ends."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass

from specdiag.importers.interface import Trouble
from specdiag.importers.source import Source


@dataclass(frozen=True, slots=True)
class Line:
    """A row by the names of its columns, the line on which it ends, and whether a line end stands behind it: else it may have been cut."""

    number: int
    fields: dict[str, str]
    ended: bool


def table(source: Source, *needed: str) -> Iterator[Line | Trouble]:
    """The rows below a header that has these columns. Another such header, of a file that was put behind, is a header again."""
    at, ended = 0, True

    def lines() -> Iterator[str]:
        nonlocal at, ended
        for start, data, _ in source.chunks():
            *whole, rest = data.replace(b"\0", b"").split(b"\n")
            for line in whole:
                at, start = start, start + 1
                yield line.decode(errors="replace") + "\n"
            if rest:
                at, ended = start, False
                yield rest.decode(errors="replace")

    rows, header = csv.reader(lines()), list[str]()
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            yield Trouble(at, "report_unreadable", str(error))
            continue
        if row is None:
            return
        cells = [cell.strip().lstrip("\ufeff") for cell in row]
        if set(needed) <= set(cells):
            header = cells
        elif header and len(cells) == len(header):
            yield Line(at, dict(zip(header, cells, strict=True)), ended)
        elif header and any(cells):
            yield Trouble(at, "report_unreadable", f"{len(cells)} columns, {len(header)} in the header")
