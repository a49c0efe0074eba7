"""Drafters and a verifier out of language models, and a drafter that only looks things up in its context."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from specdiag.record.laws import Law, Sampling, draw, laws, points
from specdiag.record.protocols import Draft, LanguageModel, Rows, Tokenizer
from specdiag.record.vocabulary import Crossing, Mapping, split_incomplete

NOTHING = Draft([], [], None, [], 0.0)


class ModelVerifier:
    """A model that judges."""

    def __init__(self, name: str, model: LanguageModel, sampling: Sampling) -> None:
        self.name = name
        self.model = model
        self.tokenizer = model.tokenizer
        self.end = model.end
        self.sampling = sampling

    def score(self, context: Sequence[int], tokens: Sequence[int]) -> Rows:
        """The law behind the context and behind each token."""
        return laws(self.model.logits(context, tokens), self.sampling)


class ModelDrafter:
    """A model that proposes.

    Where its tokenizer is not the verifier's, `intersection` draws from its law on the tokens that both have, and `string` lets it write
    freely and splits what it wrote with the verifier's tokenizer. It is shown whole characters only; the bytes of a cut one are held back,
    and its first token has to say them again.
    """

    def __init__(
        self, name: str, model: LanguageModel, sampling: Sampling, target: Tokenizer, mapping: Mapping
    ) -> None:
        self.name = name
        self.model = model
        self.sampling = sampling
        self.crossing = Crossing(model.tokenizer, target)
        self.by_string = mapping is Mapping.string and not self.crossing.same

    def propose(self, context: bytes, n: int, rng: np.random.Generator) -> Draft:
        """At most `n` tokens behind these bytes; none where they cannot be split, or the drafter knows no token that goes on from them."""
        begin = time.perf_counter()
        try:
            draft = self._written(context, n, rng) if self.by_string else self._shared(context, n, rng)
        except ValueError:
            return NOTHING
        draft.ms = (time.perf_counter() - begin) * 1e3
        return draft.frozen(self.model.tokenizer)

    def _shared(self, context: bytes, n: int, rng: np.random.Generator) -> _Growing:
        """Draw tokens that both vocabularies have."""
        draft = _Growing()
        whole, tail = split_incomplete(context)
        ids = self.model.tokenizer.encode(whole)
        while len(draft.submitted) < n:
            pairs = self.crossing.pairs(tail)
            row, share = pairs.law(self._law(ids + draft.tokens))
            if share == 0 and tail:  # no token spans the cut: show its bytes after all
                ids, tail = self.model.tokenizer.encode(context), b""
                continue
            if share == 0:
                break
            token = draw(row, rng.random())
            draft.tokens.append(pairs.first[token])
            draft.submitted.append(token)
            draft.q.append(row)
            tail = b""
            if pairs.first[token] in self.model.end:
                break
        return draft

    def _written(self, context: bytes, n: int, rng: np.random.Generator) -> _Growing:
        """Draw the drafter's own tokens, and split their whole characters anew."""
        draft, text = _Growing(), b""
        whole, tail = split_incomplete(context)
        ids = self.model.tokenizer.encode(whole)
        while len(draft.tokens) < n:
            law = self._law(ids + draft.tokens)
            if len(text) < len(tail):
                law = self._going_on(law, tail[len(text) :])
            if law.sum() == 0:
                return _Growing()
            token = draw(law, rng.random())
            if token in self.model.end:
                break
            draft.tokens.append(token)
            text += self.model.tokenizer.token_bytes(token)
        said = split_incomplete(text)[0][len(tail) :]
        split = self.crossing.target.encode(said)
        draft.submitted, draft.gated = split[:n], len(split[n:])
        return draft

    def _law(self, ids: list[int]) -> Law:
        row: Law = laws(self.model.logits(ids), self.sampling)[0]
        return row

    def _going_on(self, law: Law, tail: bytes) -> Law:
        """The law on tokens that agree with `tail` as far as both go."""
        tokenizer = self.model.tokenizer
        fits = np.array(
            [bool(data) and (data.startswith(tail) or tail.startswith(data)) for data in _all_bytes(tokenizer)]
        )
        return np.where(fits, law, 0.0)


class LookupDrafter:
    """Finds the last `longest` tokens, or fewer, earlier in the context, and proposes what followed there: a law that knows its token."""

    def __init__(self, name: str, target: Tokenizer, longest: int = 4) -> None:
        self.name = name
        self.target = target
        self.longest = longest

    def propose(self, context: bytes, n: int, rng: np.random.Generator) -> Draft:
        """At most `n` tokens; none where nothing repeats."""
        begin = time.perf_counter()
        try:
            ids = self.target.encode(context)
        except ValueError:
            return NOTHING
        found = _repeated(ids, self.longest)[:n]
        q = points(np.array(found, dtype=np.intp), self.target.size) if found else None
        sizes = [len(self.target.token_bytes(token)) for token in found]
        return Draft(found, found, q, sizes, (time.perf_counter() - begin) * 1e3)


def _repeated(ids: list[int], longest: int) -> list[int]:
    """What followed the latest earlier place of the longest suffix that has one."""
    for length in range(min(longest, len(ids) - 1), 0, -1):
        suffix = ids[-length:]
        for place in range(len(ids) - length - 1, -1, -1):
            if ids[place : place + length] == suffix:
                return ids[place + length :]
    return []


def _all_bytes(tokenizer: Tokenizer) -> list[bytes]:
    return [tokenizer.token_bytes(token) for token in range(tokenizer.size)]


@dataclass(slots=True)
class _Growing:
    """A draft in the making."""

    tokens: list[int] = field(default_factory=list)
    submitted: list[int] = field(default_factory=list)
    q: list[Law] = field(default_factory=list)
    gated: int = 0
    ms: float = 0.0

    def frozen(self, tokenizer: Tokenizer) -> Draft:
        sizes = [len(tokenizer.token_bytes(token)) for token in self.tokens]
        q = np.array(self.q) if self.q else None
        if not self.submitted:
            return Draft([], [], None, [], self.ms, gated=self.gated)
        return Draft(self.tokens, self.submitted, q, sizes, self.ms, self.gated)
