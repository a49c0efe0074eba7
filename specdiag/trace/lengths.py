"""Lists that do not fit their block: they cannot be held against its tokens, which is worth saying."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from specdiag.trace.blocks import Bools, Ints, Ragged, Verdicts
from specdiag.trace.notes import Notes, Where

CODE = "wrong_length"


class Lengths:
    """Takes the proposals with a second list of tokens or of byte lengths; of all others the columns say enough."""

    def __init__(self) -> None:
        self.drafted: dict[int, int] = {}  # row of a translated block → its tokens as drafted
        self.sent: set[int] = set()  # rows whose byte lengths are those of the submitted tokens
        self.unfit: list[Where] = []

    def sizes(self, first: int, lines: Ints, fields: dict[str, tuple[Any, ...]]) -> Sequence[Any]:
        """The byte lengths of the submitted tokens of these proposals, whose rows begin at `first`."""
        out = []
        columns = zip(*(fields[name] for name in ("tokens", "submitted", "bytes", "submitted_bytes")), strict=True)
        for row, (tokens, submitted, sizes, sent) in enumerate(columns, first):
            if submitted is not None:
                self.drafted[row] = len(tokens)
            if sent is not None:
                self.sent.add(row)
            if sizes and (submitted is not None or sent is not None) and len(sizes) != len(tokens):
                self.unfit.append(Where(int(lines[row - first]), "$.bytes", _said(len(sizes), len(tokens))))
            out.append(sent if sent is not None else sizes if submitted is None else None)
        return out

    def note(self, size: Ints, lines: Ints, q: Ragged, sizes: Ragged, notes: Notes) -> None:
        """Note the lists of all proposals, in the order of their rows, that do not fit. q may be as long as the tokens drafted."""
        notes.add_many(CODE, self.unfit)
        for path, lists in (("$.q", q), ("$.bytes", sizes)):
            unfit = [
                row
                for row in np.flatnonzero(_unfit(lists, lists.lengths != size)).tolist()
                if path != "$.q" or lists.lengths[row] != self.drafted.get(row, -1)
            ]
            for row in unfit:
                name = "$.submitted_bytes" if path == "$.bytes" and row in self.sent else path
                notes.add(CODE, int(lines[row]), name, _said(int(lists.lengths[row]), int(size[row])))


def note_overlong(verdicts: Verdicts, size: Ints, notes: Notes) -> None:
    """Note probabilities and draws of more tokens than the blocks have. `size`: of all blocks, in the order of their rows."""
    own = size[verdicts.row]
    for path, lists in (("$.p", verdicts.p), ("$.u", verdicts.u)):
        for row in np.flatnonzero(_unfit(lists, lists.lengths > own)).tolist():
            notes.add(CODE, int(verdicts.judged_by[row]), path, _said(int(lists.lengths[row]), int(own[row])))


def _unfit(lists: Ragged, wrong: Bools) -> Bools:
    return (lists.lengths > 0) & wrong


def _said(numbers: int, tokens: int) -> str:
    return f"{numbers} numbers, {tokens} tokens"
