"""A line of execution: what one branch of a request has committed, and the random streams that it draws from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from specdiag.record.protocols import Drafter, Tokenizer
from specdiag.record.vocabulary import joined


def digest(data: bytes) -> str:
    """A short digest of a context."""
    return hashlib.sha256(data).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text to go on from."""

    id: str
    text: bytes


@dataclass(frozen=True, slots=True)
class Member:
    """A drafter as the loop uses it: at most `tokens` a block. Drafters with equal `tokenizer` (a fingerprint) may share a chain under
    partition. `number` selects its random stream."""

    drafter: Drafter
    tokens: int
    tokenizer: str
    number: int


@dataclass(frozen=True, slots=True)
class Streams:
    """Independent random streams of one line: one for each drafter and one for the verifier, so that no drafter moves another's draws."""

    seed: int
    request: int
    branch: int = 0
    _open: dict[int, np.random.Generator] = field(default_factory=dict)

    def of(self, number: int) -> np.random.Generator:
        """The stream of this drafter; -1: the verifier's."""
        if number not in self._open:
            sequence = np.random.SeedSequence(self.seed, spawn_key=(self.request, self.branch, number + 1))
            self._open[number] = np.random.Generator(np.random.PCG64(sequence))
        return self._open[number]


@dataclass(slots=True)
class Line:
    """`context` holds the prompt and what was committed, in verifier tokens, which are the truth; `data` is the same in bytes."""

    request: str
    context: list[int]
    data: bytes
    room: int  # tokens that may still come
    streams: Streams
    branch: str | None = None
    step: str | None = None
    round: int = 0
    stop: str | None = None

    def commit(self, tokens: Sequence[int], tokenizer: Tokenizer) -> None:
        """Append tokens of the output."""
        self.context.extend(tokens)
        self.data += joined(tokenizer, tokens)
        self.room -= len(tokens)
