"""Small tokenizers and models, and the test of exactness: what a loop emits against what the verifier alone would."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from specdiag.record import rounds
from specdiag.record.drafting import ModelVerifier
from specdiag.record.lines import Line, Member, Streams
from specdiag.record.protocols import Tokenizer
from specdiag.record.topology import Topology, chains
from specdiag.record.verify import Judge, Rule, judge
from specdiag.record.vocabulary import fingerprint

VERIFIER = (b"a", b"b", b"c", b" ", b"ab", b"bc", b"a b", "é".encode()[:1], "é".encode()[1:], "é".encode(), b"c a")
OTHER = (b"a", b"b", b"c", b" ", b"ba", b"bc", b" a", "é".encode()[:1], "é".encode()[1:], "éa".encode(), "é".encode())


class ToyTokenizer:
    """The longest token first."""

    def __init__(self, tokens: Sequence[bytes], name: str) -> None:
        self.name = name
        self.tokens = tokens
        self.size = len(tokens)
        self.fingerprint = fingerprint(tokens)

    def encode(self, data: bytes) -> list[int]:
        """Split, or raise ValueError."""
        ids = []
        while data:
            fits = [i for i, token in enumerate(self.tokens) if token and data.startswith(token)]
            if not fits:
                raise ValueError("no token fits")
            ids.append(max(fits, key=lambda i: len(self.tokens[i])))
            data = data[len(self.tokens[ids[-1]]) :]
        return ids

    def token_bytes(self, token: int) -> bytes:
        """Its bytes."""
        return self.tokens[token]


class ToyModel:
    """Arbitrary log-weights that depend on the last two tokens."""

    def __init__(
        self, tokenizer: ToyTokenizer, seed: int, spread: float = 1.5, end: frozenset[int] = frozenset()
    ) -> None:
        self.name = f"toy {seed}"
        self.tokenizer: Tokenizer = tokenizer
        self.end = end
        self._row = functools.cache(lambda *last: _weights(tokenizer.size, (seed, *last), spread))

    def logits(self, context: Sequence[int], tokens: Sequence[int] = ()) -> NDArray[np.float32]:
        """Rows behind each."""
        whole = [*context, *tokens]
        return np.array([self._row(*whole[max(0, end - 2) : end]) for end in range(len(context), len(whole) + 1)])

    def facts(self) -> Mapping[str, str]:
        """Nothing ran."""
        return {"engine": "toy"}


def _weights(size: int, seed: tuple[int, ...], spread: float) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0, spread, size).astype(np.float32)


def emitted(
    members: Sequence[Member],
    verifier: ModelVerifier,
    prompt: bytes,
    *,
    rule: Rule = Rule.rejection,
    topology: Topology = Topology.chain,
    draws: int = 2000,
    length: int = 2,
    judged: Judge = judge,
) -> Counter[tuple[int, ...]]:
    """How often each beginning of `length` tokens is the output behind one prompt."""
    context = verifier.tokenizer.encode(prompt)
    counts: Counter[tuple[int, ...]] = Counter()
    for number in range(draws):
        line = Line("r", list(context), prompt, length, Streams(7, number), round=number % len(members))
        while line.room > 0 and not line.stop:
            kept, *lost = chains(topology, members, line.round, False)
            for group in lost:
                rounds.run(line, group, verifier, rule, judged)
            chain = rounds.run(line, kept, verifier, rule, judged)
            line.commit(chain.output, verifier.tokenizer)
            line.stop = chain.stop
            line.round += 1
        counts[tuple(line.context[len(context) :])] += 1
    return counts


def law(verifier: ModelVerifier, prompt: bytes, length: int = 2) -> dict[tuple[int, ...], float]:
    """The probability of each beginning under the verifier alone."""
    context = verifier.tokenizer.encode(prompt)
    found: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(length):
        longer: dict[tuple[int, ...], float] = {}
        for before, mass in found.items():
            if before and before[-1] in verifier.end:
                longer[before] = mass
                continue
            row = verifier.score([*context, *before], ())[0]
            longer |= {(*before, int(token)): mass * float(row[token]) for token in np.flatnonzero(row)}
        found = longer
    return found


def excess(counts: Mapping[tuple[int, ...], int], expected: Mapping[tuple[int, ...], float]) -> float:
    """Chi-square over its critical value at 1 in 10,000, cells expected fewer than 5 times pooled. Above 1: another law. What cannot come
    at all and came anyway is infinite."""
    total = sum(counts.values())
    if any(expected.get(cell, 0) <= 0 for cell in counts):
        return math.inf
    cells = [(counts.get(cell, 0), mass * total) for cell, mass in expected.items() if mass * total >= 5]
    rest = (total - sum(seen for seen, _ in cells), total - sum(mean for _, mean in cells))
    if rest[1] > 1:
        cells.append(rest)
    statistic = sum((seen - mean) ** 2 / mean for seen, mean in cells)
    freedom = len(cells) - 1
    if freedom == 0:
        return 0.0
    wilson_hilferty = freedom * (1 - 2 / (9 * freedom) + 3.719 * math.sqrt(2 / (9 * freedom))) ** 3
    return statistic / wilson_hilferty
