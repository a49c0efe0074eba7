"""Between two tokenizers: what they share, by the bytes of their tokens, and characters cut in the middle."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from specdiag.record.laws import Law
from specdiag.record.protocols import Tokenizer

Ids = NDArray[np.intp]


class Mapping(StrEnum):
    """How a drafter's tokens become the verifier's where the tokenizers differ."""

    intersection = "intersection"
    string = "string"


def fingerprint(tokens: Iterable[bytes]) -> str:
    """sha256 over the bytes of every token, each behind its length."""
    digest = hashlib.sha256()
    for token in tokens:
        digest.update(len(token).to_bytes(4, "little"))
        digest.update(token)
    return digest.hexdigest()


def split_incomplete(data: bytes) -> tuple[bytes, bytes]:
    """`data` up to its last whole UTF-8 character, and the 0 to 3 bytes of a character that is not complete."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        width = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return (data[:-back], data[-back:]) if width > back else (data, b"")
    return data, b""


def joined(tokenizer: Tokenizer, tokens: Iterable[int]) -> bytes:
    """The bytes of these tokens."""
    return b"".join(map(tokenizer.token_bytes, tokens))


@dataclass(frozen=True, slots=True)
class Pairs:
    """`own[i]` of a drafter says what `target[i]` of the verifier says. `first` gives one own token for each target that has any."""

    own: Ids
    target: Ids
    size: int
    first: dict[int, int]

    def law(self, own_law: Law) -> tuple[Law, float]:
        """A drafter's law on the verifier's vocabulary, restricted to what both share and renormalised, and the share that it kept;
        lossless with this law as q (Timor et al. 2025, algorithm 4)."""
        row: Law = np.bincount(self.target, weights=own_law[self.own], minlength=self.size).astype(np.float64)
        share = float(row.sum())
        return (row / share if share > 0 else row), share


@dataclass(slots=True)
class Crossing:
    """The shared tokens of a drafter's tokenizer and the verifier's."""

    own: Tokenizer
    target: Tokenizer
    _by_bytes: dict[bytes, int] = field(default_factory=dict)
    _pairs: dict[bytes, Pairs] = field(default_factory=dict)

    @property
    def same(self) -> bool:
        """Whether both are one tokenizer."""
        return self.own.fingerprint == self.target.fingerprint

    def pairs(self, tail: bytes = b"") -> Pairs:
        """The shared tokens behind `tail`, bytes of a character that the drafter has not been shown yet: its token says them again first.
        Special tokens, which have no bytes, are shared by one and the same tokenizer alone."""
        if tail not in self._pairs:
            self._pairs[tail] = self._identity() if self.same and not tail else self._matched(tail)
        return self._pairs[tail]

    def _identity(self) -> Pairs:
        every = np.arange(self.own.size)
        return Pairs(every, every, self.target.size, {i: i for i in range(self.own.size)})

    def _matched(self, tail: bytes) -> Pairs:
        if not self._by_bytes:
            for token in reversed(range(self.target.size)):  # of equal ones the first stays
                self._by_bytes[self.target.token_bytes(token)] = token
            self._by_bytes.pop(b"", None)
        own: list[int] = []
        target: list[int] = []
        first: dict[int, int] = {}
        for token in range(self.own.size):
            data = self.own.token_bytes(token)
            match = self._by_bytes.get(data[len(tail) :]) if data.startswith(tail) else None
            if match is not None:
                own.append(token)
                target.append(match)
                first.setdefault(match, token)
        return Pairs(np.array(own, dtype=np.intp), np.array(target, dtype=np.intp), self.target.size, first)
