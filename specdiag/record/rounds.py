"""One round: drafters extend a chain in turn, one pass of the verifier scores it, a rule judges it, and what fits becomes output."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from specdiag.record.laws import Law
from specdiag.record.lines import Line, Member, digest
from specdiag.record.protocols import Draft, Rows, Verifier
from specdiag.record.verify import Judge, Rule, Ruling, judge
from specdiag.record.vocabulary import joined


@dataclass(frozen=True, slots=True)
class Block:
    """A draft on its chain, without its laws: `q` and `p` are those of its submitted tokens alone, `best` that of the likeliest token at
    each. `offset` submitted tokens of the chain stand before it; `context` is a digest of what its drafter was shown."""

    member: Member
    draft: Draft
    offset: int
    context: str
    q: list[float] | None
    p: list[float]
    best: list[float]


@dataclass(frozen=True, slots=True)
class Chain:
    """A judged chain. `start` is the index of its first token in the request; of the accepted tokens and the verifier's own one behind
    them, `output` is what reaches the text; `stop` says why it ends there, if it is cut."""

    start: int
    blocks: list[Block]
    ruling: Ruling
    output: list[int]
    stop: str | None
    ms: float


def run(line: Line, members: Sequence[Member], verifier: Verifier, rule: Rule, judged: Judge = judge) -> Chain:
    """Draft and judge one chain behind what the line has committed; nothing is committed here."""
    drafts = _drafted(line, members, verifier)
    tokens = [token for draft in drafts for token in draft.submitted]
    q: list[Law | None] = [law for draft in drafts for law in _laws(draft)]
    begin = time.perf_counter()
    p = verifier.score(line.context, tokens)
    ms = (time.perf_counter() - begin) * 1e3
    ruling = judged(rule, tokens, q, p, line.streams.of(-1))
    output, stop = _cut([*tokens[: ruling.accepted], ruling.token], verifier.end, line.room)
    return Chain(len(line.context), _blocks(line, members, drafts, verifier, p), ruling, output, stop, ms)


def _drafted(line: Line, members: Sequence[Member], verifier: Verifier) -> list[Draft]:
    """The drafts of a chain: each drafter goes on from the bytes of the drafts before its own. Nobody goes on behind an end of text."""
    drafts: list[Draft] = []
    data, ended = line.data, False
    for member in members:
        stream = line.streams.of(member.number)
        drafts.append(Draft([], [], None, [], 0.0) if ended else member.drafter.propose(data, member.tokens, stream))
        data += joined(verifier.tokenizer, drafts[-1].submitted)
        ended = ended or not verifier.end.isdisjoint(drafts[-1].submitted)
    return drafts


def _blocks(line: Line, members: Sequence[Member], drafts: Sequence[Draft], verifier: Verifier, p: Rows) -> list[Block]:
    """What is kept of the drafts: whole laws of large vocabularies would fill the memory where many rounds wait for a vote."""
    blocks, offset, data = [], 0, line.data
    for member, draft in zip(members, drafts, strict=True):
        rows, tokens = p[offset : offset + len(draft.submitted)], draft.submitted
        chosen = None if draft.q is None else _of(draft.q, tokens)
        light = replace(draft, q=None)
        blocks.append(Block(member, light, offset, digest(data), chosen, _of(rows, tokens), rows.max(axis=1).tolist()))
        offset += len(tokens)
        data += joined(verifier.tokenizer, tokens)
    return blocks


def _of(rows: Rows, tokens: Sequence[int]) -> list[float]:
    """The probability of each token in its row."""
    chosen: list[float] = rows[np.arange(len(tokens)), np.array(tokens, dtype=np.intp)].tolist()
    return chosen


def _laws(draft: Draft) -> list[Law | None]:
    return list(draft.q) if draft.q is not None else [None] * len(draft.submitted)


def _cut(tokens: list[int], end: frozenset[int], room: int) -> tuple[list[int], str | None]:
    """What reaches the output: up to the first end of text, and no more than there is room for."""
    ends = next((place + 1 for place, token in enumerate(tokens) if token in end), len(tokens) + 1)
    if ends <= min(len(tokens), room):
        return tokens[:ends], "eos"
    return tokens[:room], "length" if room <= len(tokens) else None
