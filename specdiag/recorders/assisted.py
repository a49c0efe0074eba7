"""One call of stock `generate` with drafts, seen from its candidate generator: each round becomes a proposal and a verdict.

Read off live tensors; nothing that generation uses is changed, and no random number is drawn.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from specdiag.record.protocols import Tokenizer
from specdiag.trace.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Setting:
    """What does not change during a call: rule, drafter, where a text ends, and the tokenizers where they are known."""

    rule: str
    drafter: str
    ends: frozenset[int]
    max_length: int | None
    mixed: bool = False  # an ensemble of drafter and verifier decides: neither p/q nor the verifier's best token
    tokenizer: Tokenizer | None = None
    own: Tokenizer | None = None  # the drafter's, where it is another one


@dataclass(slots=True)
class Round:
    """A draft that waits for its verdict."""

    block: str
    start: int  # tokens of the context, the prompt's among them
    submitted: list[int]
    since: float
    accepted: int | None = None  # as the rejection sampler had it, before an end of text cut its result
    uniforms: list[float] | None = None


@dataclass(slots=True)
class Call:
    """The rounds of one request: `propose`, `drawn` where the sampler rejects, `verdict`, and so on to `close`."""

    trace: Recorder
    request: str
    setting: Setting
    prompt: int
    rounds: int = 0
    drafting: bool = False
    law: list[float] | None = (
        None  # in this round, of the drafted tokens, where the verifier is shown a translation of it
    )
    prepared: int | None = None  # in this round, length of the context of a drafter with a tokenizer of its own
    _own_context: list[int] = field(default_factory=list)
    _open: Round | None = None
    _told: bool = False

    def prepare(self, context: Sequence[int], added: int | None) -> None:
        """The drafter's context of this round, in its own tokens. `added`: only so many at its end are new, the others stay as they were."""
        kept = 0 if added is None else len(context) - added
        self._own_context = [*self._own_context[:kept], *context[kept:]]
        self.prepared = len(context)

    def propose(self, context: Any, candidates: Any, logits: Any, own: Sequence[int] | None, ms: float) -> None:
        """A draft: `candidates` is `context` with the submitted tokens behind it, `own` the drafter's tokens if those are others."""
        self.close()
        start = int(context.shape[1])
        submitted: list[int] = candidates[0, start:].tolist()
        tokens = submitted if own is None else own
        given = self.setting.tokenizer
        mine = given if own is None else self.setting.own
        conditioned = context[0].tolist() if own is None else self._own_context
        block = self.trace.propose(
            request=self.request,
            round=self.rounds,
            drafter=self.setting.drafter,
            start=start - self.prompt,
            tokens=tokens,
            submitted=None if own is None else submitted,
            bytes=_sizes(mine, tokens),
            submitted_bytes=None if own is None else _sizes(given, submitted),
            q=self._q(logits, submitted),
            context_digest=_digest(mine, conditioned) if own is None or self.prepared is not None else None,
            ms=round(ms, 3),
        )
        if own is not None:
            self._own_context = [*self._own_context, *own]
        self.prepared = None
        self._open = Round(block, start, submitted, time.perf_counter())

    def _q(self, logits: Any, submitted: list[int]) -> list[float] | None:
        """All on one token where nothing was drawn; none where the verifier does not ask for it."""
        if self.setting.mixed or self.setting.rule == "greedy":
            return None
        if self.setting.rule == "exact_match":
            return [1.0] * len(submitted)
        shown = None if logits is None else chosen(logits[0].softmax(dim=-1), submitted)
        if self.law is None or len(self.law) != len(submitted):
            return shown
        law, self.law = self.law, None
        if (
            shown is not None
            and not self._told
            and any(abs(a - b) > 1e-3 * max(a, b) for a, b in zip(law, shown, strict=True))
        ):
            self._told = True
            self.trace.note(
                f"request {self.request}: the drafter drew its tokens with q = {law}, and the verifier judged them with q = {shown}: "
                "the q of this trace are the drafter's, and the verdicts do not follow from them"
            )
        return law

    def drawn(self, accepted: int, uniforms: list[float] | None) -> None:
        """What the rejection sampler did, before its result was cut at an end of text."""
        if self._open is not None and not self.setting.mixed:
            self._open.accepted = accepted
            if uniforms is not None and len(uniforms) == len(self._open.submitted):
                self._open.uniforms = uniforms[: accepted + 1]

    def verdict(self, context: Any, scores: Any) -> None:
        """The outcome: `context` ends in the tokens that the round committed, `scores` are the verifier's logits, after its processors."""
        if self._open is None:
            return
        it, self._open = self._open, None
        ms = (time.perf_counter() - it.since) * 1000
        emitted: list[int] = context[0, it.start :].tolist()
        accepted, judged = self._accepted(it, scores[0], emitted)
        own = emitted[-1] if len(emitted) == accepted + 1 else None
        refused = accepted < (len(it.submitted) if judged is None else judged)
        laws = scores[0].softmax(dim=-1)
        self.trace.verdict(
            it.block,
            accepted=accepted,
            judged=judged,
            committed=min(accepted, len(emitted)),
            stop=self._stop(emitted, int(context.shape[1]), refused),
            p=chosen(laws, it.submitted),
            u=it.uniforms,
            gap=_gaps(scores[0], it.submitted) if self.setting.rule == "greedy" else None,
            next_token=own,
            next_p=None if own is None else chosen(laws[accepted:], [own])[0],
            context_digest=_digest(self.setting.tokenizer, context[0, : it.start].tolist()),
            ms=round(ms, 3),
            batch=1,
            context=it.start,
        )
        self.rounds += 1

    def _accepted(self, it: Round, scores: Any, emitted: list[int]) -> tuple[int, int | None]:
        """How many drafted tokens were accepted, those behind an end of text among them where that is known; how many were judged, unless
        as many as usual."""
        if it.accepted is not None:
            return it.accepted, None
        if self.setting.rule == "greedy" and not self.setting.mixed:
            return _common(scores.argmax(dim=-1).tolist(), it.submitted), None
        same = _common(emitted, it.submitted)
        return same, same if same == len(emitted) else None  # cut: of what stood behind, nothing is known

    def _stop(self, emitted: list[int], length: int, refused: bool) -> str | None:
        if emitted and emitted[-1] in self.setting.ends:
            return "eos"
        if self.setting.max_length is not None and length >= self.setting.max_length:
            return "length"
        return "rejected" if refused else None

    def close(self) -> None:
        """A round that never got its verdict was aborted."""
        if self._open is not None:
            self.trace.verdict(self._open.block, accepted=0, stop="aborted")
            self._open = None
            self.rounds += 1


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the common prefix."""
    pairs = zip(left, right, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


def _short(values: Iterable[float]) -> list[float]:
    """Single precision in the nine digits that it takes."""
    return [float(f"{value:.9g}") for value in values]


def chosen(laws: Any, tokens: Sequence[int]) -> list[float]:
    """What each row gives its token."""
    return _short(laws[range(len(tokens)), list(tokens)].tolist()) if tokens else []


def _gaps(scores: Any, tokens: list[int]) -> list[float]:
    """From the best logit of each row to that of its token."""
    if not tokens:
        return []
    rows = scores[: len(tokens)]
    return _short((rows.max(dim=-1).values - rows[range(len(tokens)), tokens]).tolist())


def _bytes(tokenizer: Tokenizer, token: int) -> bytes:
    """A model may have more outputs than its tokenizer has tokens."""
    return tokenizer.token_bytes(token) if 0 <= token < tokenizer.size else b""


def _sizes(tokenizer: Tokenizer | None, tokens: Sequence[int]) -> list[int] | None:
    return None if tokenizer is None else [len(_bytes(tokenizer, token)) for token in tokens]


def _digest(tokenizer: Tokenizer | None, tokens: Sequence[int]) -> str | None:
    """Of the bytes of these tokens; special ones have none."""
    if tokenizer is None:
        return None
    return hashlib.sha256(b"".join(_bytes(tokenizer, token) for token in tokens)).hexdigest()[:16]
