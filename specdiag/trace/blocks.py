"""Blocks in columns: one row a proposal, with the verdict that was joined to it.

All columns of a `Blocks` have the same number of rows; `q`, `p`, `u`, `gap` and `sizes` hold a run of numbers for each row. Strings are held once and
rows carry codes or 64-bit keys, which are the same in every process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

MISSING = -(2**62)  # "not logged", for counts that may themselves be negative in a broken log
NO_PARENT = -1
UNKNOWN_PARENT = -2

STOPS = ("", "rejected", "eos", "length", "grammar", "branch_lost", "aborted", "padding")
STOP_CODES = {name: code for code, name in enumerate(STOPS)}
BRANCH_LOST, ABORTED, PADDING = (STOP_CODES[name] for name in ("branch_lost", "aborted", "padding"))


def key_of(text: str) -> int:
    """64-bit key of a string, the same in every process and release."""
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True)
class Ragged:
    """Runs of numbers: row i is values[offsets[i]:offsets[i + 1]]; NaN is a missing number, an empty run a missing list."""

    values: Floats
    offsets: Ints

    @property
    def lengths(self) -> Ints:
        """Numbers in each row."""
        return np.diff(self.offsets)

    @staticmethod
    def of(values: Floats, lengths: Ints) -> Ragged:
        """From the concatenated values and the length of each row."""
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return Ragged(values, offsets)

    def take(self, rows: Ints) -> Ragged:
        """The rows asked for, in that order; row -1 gives an empty run."""
        if len(rows) == len(self.offsets) - 1 and np.array_equal(rows, np.arange(len(rows))):
            return self
        if not len(self.values):
            return Ragged.of(self.values, np.zeros(len(rows), np.int64))
        there = rows >= 0
        lengths = np.where(there, self.lengths[rows], 0)
        if np.array_equal(rows[there], np.arange(len(self.offsets) - 1)):
            return Ragged.of(self.values, lengths)
        out = Ragged.of(self.values[:0], lengths)
        shift = np.repeat(self.offsets[np.where(there, rows, 0)] - out.offsets[:-1], lengths)
        return Ragged(self.values[shift + np.arange(out.offsets[-1])], out.offsets)

    @staticmethod
    def concat(parts: Sequence[Ragged]) -> Ragged:
        """Rows of all parts, one after the other."""
        return Ragged.of(np.concatenate([p.values for p in parts]), np.concatenate([p.lengths for p in parts]))


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Verdicts in columns: one row a verdict, for the proposal in row `row` of some blocks."""

    row: Ints
    judged_by: Ints
    accepted: Ints
    judged: Ints
    committed: Ints
    stop: Ints
    has_next: Bools
    verify_ns: Ints
    p: Ragged
    u: Ragged
    gap: Ragged


def _either(old: Ragged, new: Ragged, pick: Ints) -> Ragged:
    """The new runs that are picked, and the old ones elsewhere."""
    if not len(old.values):
        return new.take(pick)
    return Ragged.concat([old, new]).take(np.where(pick >= 0, pick + len(pick), np.arange(len(pick))))


@dataclass(frozen=True, slots=True)
class Blocks:
    """Proposals with their verdicts, in file order. Times in nanoseconds; -1 where not logged."""

    request: Keys
    branch: Keys
    epoch: Ints  # which trace of the input, by header
    born: Ints  # bytes of input read when the proposal came
    round: Ints
    drafter: Ints  # index into `drafters`
    parent: Ints  # row, NO_PARENT or UNKNOWN_PARENT
    start: Ints
    size: Ints  # submitted tokens
    gated: Ints
    line: Ints
    draft_ns: Ints
    content: Ints  # digest of the tokens; 0 unless the verification is greedy
    judged_by: Ints  # line of the verdict; 0: none
    accepted: Ints
    judged: Ints  # MISSING: not logged
    committed: Ints  # MISSING: not logged
    stop: Ints  # index into STOPS
    has_next: Bools
    verify_ns: Ints
    q: Ragged
    p: Ragged
    u: Ragged
    gap: Ragged
    sizes: Ragged  # byte length of each submitted token
    ids: list[str]
    parent_ids: dict[int, str]  # row -> parent, for rows with UNKNOWN_PARENT
    drafters: list[str]
    branches: dict[int, str]  # key -> name

    def __len__(self) -> int:
        return len(self.line)

    def take(self, rows: Ints) -> Blocks:
        """The rows asked for, in that order. A parent that is not among them becomes unknown, by its id."""
        place = np.full(len(self) + 1, UNKNOWN_PARENT, np.int64)
        place[rows] = np.arange(len(rows))
        place[-1] = NO_PARENT  # index -1
        old = self.parent[rows]
        parent = np.where(old == UNKNOWN_PARENT, UNKNOWN_PARENT, place[old])
        parent_ids = {}
        for row in np.flatnonzero(parent == UNKNOWN_PARENT).tolist():
            parent_ids[row] = self.parent_ids[int(rows[row])] if old[row] == UNKNOWN_PARENT else self.ids[int(old[row])]
        ids = self.ids
        return self._map(
            lambda column: column.take(rows) if isinstance(column, Ragged) else column[rows],
            parent=parent,
            ids=[ids[row] for row in rows.tolist()],
            parent_ids=parent_ids,
            drafters=self.drafters,
            branches=self.branches,
        )

    def with_columns(self, **columns: Any) -> Blocks:
        """The same rows with some columns replaced."""
        return self._map(lambda column: column, **columns)

    def judge(self, verdicts: Verdicts) -> Blocks:
        """The same blocks with these verdicts; at most one for each block."""
        row = verdicts.row
        if not len(row):
            return self
        columns = {}
        for name in _FROM_VERDICT:
            column = columns[name] = getattr(self, name).copy()
            column[row] = getattr(verdicts, name)
        pick = np.full(len(self), -1, np.int64)
        pick[row] = np.arange(len(row))
        runs = {name: _either(getattr(self, name), getattr(verdicts, name), pick) for name in ("p", "u", "gap")}
        return self.with_columns(**columns, **runs)

    def _map(self, change: Any, **replaced: Any) -> Blocks:
        return Blocks(
            **{f.name: replaced[f.name] if f.name in replaced else change(getattr(self, f.name)) for f in fields(self)}
        )

    @staticmethod
    def concat(parts: Sequence[Blocks]) -> Blocks:
        """Rows of all parts, one after the other, with drafters renumbered."""
        names = list(dict.fromkeys(name for part in parts for name in part.drafters))
        number = {name: i for i, name in enumerate(names)}
        shifts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        columns: dict[str, Any] = {}
        for f in fields(Blocks):
            values = [getattr(part, f.name) for part in parts]
            columns[f.name] = Ragged.concat(values) if isinstance(values[0], Ragged) else values
        columns["drafter"] = [
            np.array([number[name] for name in part.drafters], np.int64)[part.drafter] for part in parts
        ]
        columns["parent"] = [
            np.where(part.parent >= 0, part.parent + s, part.parent) for part, s in zip(parts, shifts, strict=False)
        ]
        merged: dict[str, Any] = {
            k: np.concatenate(v) if isinstance(v, list) and isinstance(v[0], np.ndarray) else v
            for k, v in columns.items()
        }
        merged["ids"] = [name for part in parts for name in part.ids]
        merged["parent_ids"] = {
            row + int(s): name for part, s in zip(parts, shifts, strict=False) for row, name in part.parent_ids.items()
        }
        merged["drafters"] = names
        merged["branches"] = {key: name for part in parts for key, name in part.branches.items()}
        return Blocks(**merged)


_FROM_VERDICT = ("judged_by", "accepted", "judged", "committed", "stop", "has_next", "verify_ns")
