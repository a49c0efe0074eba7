"""What the recording loop asks of tokenizers, models, drafters and verifiers.

Between tokenizers contexts travel as bytes, never as text: decoding a cut character gives U+FFFD, and encoding that gives other tokens.
Everything the loop verifies is in the verifier's vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]
"""Probabilities, one row a position and one column a token of the verifier's vocabulary; each row sums to 1."""


class Tokenizer(Protocol):
    """Bytes to tokens and back. The concatenated bytes of the tokens of a text are the text, or `encode` raises ValueError."""

    name: str
    fingerprint: str  # sha256 over the bytes of every token, in order: equal fingerprints, same tokenizer
    size: int

    def encode(self, data: bytes) -> list[int]:
        """Tokens of these bytes; special tokens written out in them stay plain text."""
        ...

    def token_bytes(self, token: int) -> bytes:
        """The bytes of one token; none for a special token."""
        ...


class LanguageModel(Protocol):
    """A model over one tokenizer."""

    name: str
    tokenizer: Tokenizer
    end: frozenset[int]  # tokens that end a text

    def logits(self, context: Sequence[int], tokens: Sequence[int] = ()) -> NDArray[np.float32]:
        """(len(tokens) + 1, vocabulary): log-weights of the token behind `context`, behind `context + tokens[:1]`, and so on. A backend may
        keep what it computed for the last contexts; the answer does not depend on it beyond rounding."""
        ...

    def facts(self) -> Mapping[str, str]:
        """What ran: engine and its version, file and its sha256."""
        ...


@dataclass(frozen=True, slots=True)
class Draft:
    """A block: `tokens` in the drafter's vocabulary, `submitted` the same text in the verifier's. `q`: for each submitted token the whole
    law it was drawn from, in the verifier's vocabulary; None where there is none, as behind a match of strings: such a block is
    verified by exact match with the verifier's own draws."""

    tokens: list[int]
    submitted: list[int]
    q: Rows | None
    sizes: list[int]  # bytes of each of `tokens`
    ms: float
    gated: int = 0  # tokens that were dropped before they were submitted


class Drafter(Protocol):
    """Proposes tokens."""

    name: str

    def propose(self, context: bytes, n: int, rng: np.random.Generator) -> Draft:
        """At most `n` submitted tokens behind these bytes; an empty draft where the drafter has nothing to say."""
        ...


class Verifier(Protocol):
    """Judges tokens."""

    name: str
    tokenizer: Tokenizer
    end: frozenset[int]  # tokens that end a text

    def score(self, context: Sequence[int], tokens: Sequence[int]) -> Rows:
        """p: (len(tokens) + 1, vocabulary), the law of the token behind the context and behind each of the tokens."""
        ...
