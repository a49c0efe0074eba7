"""n-gram models with interpolated absolute discounting, trained in seconds on text that Python brings along.

Of each order the distinct n-grams are kept as sorted keys (number of the n-gram without its last token, last token), so that what followed
a context is one slice. Each order takes a discount off every count and gives the sum of them to the order below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from specdiag.errors import UsageError
from specdiag.record.backends import corpus, hf_tokenizer
from specdiag.record.backends.options import only
from specdiag.record.protocols import Tokenizer

Keys = NDArray[np.int64]


class NgramModel:
    """A model over the last `order - 1` tokens."""

    def __init__(
        self, name: str, tokenizer: Tokenizer, texts: Sequence[Sequence[int]], order: int, facts: Mapping[str, str]
    ) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self.end: frozenset[int] = frozenset()
        self._facts = facts
        self._order = order
        stream = (
            np.concatenate([np.asarray(text, dtype=np.int64) for text in texts]) if texts else np.zeros(0, np.int64)
        )
        self._base = self._unigram(stream)
        self._keys, self._counts = _grams(stream, order, tokenizer.size)
        self._discounts = [_discount(counts) for counts in self._counts]

    def _unigram(self, stream: Keys) -> NDArray[np.float64]:
        """Frequencies with one more of everything that has bytes: every such token can come anywhere."""
        can_come = np.array([bool(self.tokenizer.token_bytes(token)) for token in range(self.tokenizer.size)])
        counts = np.bincount(stream, minlength=self.tokenizer.size) + can_come
        shares: NDArray[np.float64] = counts / counts.sum()
        return shares

    def logits(self, context: Sequence[int], tokens: Sequence[int] = ()) -> NDArray[np.float32]:
        """Log-probabilities behind the context and behind each token."""
        whole = [*context[-self._order :], *tokens]
        first = len(whole) - len(tokens)
        rows = [self._row(whole[max(0, end - self._order + 1) : end]) for end in range(first, len(whole) + 1)]
        with np.errstate(divide="ignore"):
            return np.log(np.array(rows)).astype(np.float32)

    def _row(self, context: Sequence[int]) -> NDArray[np.float64]:
        row = self._base.copy()
        for length in range(1, min(len(context), len(self._keys)) + 1):  # a short text has no long n-grams
            found = self._followers(context[-length:])
            if found is None:
                break  # nor has a longer context been seen
            tokens, counts, discount = found
            total = counts.sum()
            row *= discount * len(tokens) / total
            row[tokens] += (counts - discount) / total
        return row

    def _followers(self, context: Sequence[int]) -> tuple[Keys, Keys, float] | None:
        """What followed a context, how often, and the discount of its order."""
        size, gram = self.tokenizer.size, int(context[0])
        for order, token in enumerate(context[1:]):
            key, keys = gram * size + int(token), self._keys[order]
            gram = int(np.searchsorted(keys, key))
            if gram == len(keys) or keys[gram] != key:
                return None
        keys = self._keys[len(context) - 1]
        begin, end = np.searchsorted(keys, (gram * size, (gram + 1) * size))
        if begin == end:
            return None
        order = len(context) - 1
        return keys[begin:end] - gram * size, self._counts[order][begin:end], self._discounts[order]

    def facts(self) -> Mapping[str, str]:
        """What it is and what it was trained on."""
        return self._facts


def _grams(stream: Keys, order: int, size: int) -> tuple[list[Keys], list[Keys]]:
    """Sorted keys and counts of the n-grams of 2 to `order` tokens."""
    keys, counts = [], []
    numbers = stream
    for length in range(2, order + 1):
        if len(stream) < length:
            break
        found, numbers, many = np.unique(
            numbers[:-1] * size + stream[length - 1 :], return_inverse=True, return_counts=True
        )
        keys.append(found)
        counts.append(many)
    return keys, counts


def _discount(counts: Keys) -> float:
    """n1 / (n1 + 2 n2), from how many n-grams were seen once and twice (Ney, Essen, Kneser 1994)."""
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return once / (once + 2 * twice) if once and twice else 0.5


@cache
def _tokens(spec: str, part: str) -> list[list[int]]:
    return hf_tokenizer.load(spec).encode_many(corpus.training(part))


def load(options: Mapping[str, str]) -> NgramModel:
    """`order` (1 to 8; 3), `tokenizer` (bpe:2000), `corpus` (all, I/N for every Nth text from the Ith, or a text file)."""
    only(options, "ngram", "order", "tokenizer", "corpus")
    order, spec, part = options.get("order", "3"), options.get("tokenizer", "bpe:2000"), options.get("corpus", "all")
    if order not in "12345678" or len(order) != 1:
        raise UsageError(f"ngram: order={order}: no such order", "Give 1 to 8.")
    tokenizer = hf_tokenizer.load(spec)
    facts = {
        "engine": "specdiag n-gram, absolute discounting",
        "order": order,
        "corpus": corpus.title(part),
        "corpus_sha256": corpus.digest(part),
        "tokenizers": str(hf_tokenizer.library().__version__),
    }
    return NgramModel(f"{order}-gram on {tokenizer.name}", tokenizer, _tokens(spec, part), int(order), facts)
