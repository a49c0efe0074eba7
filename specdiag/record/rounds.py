"""One round: drafters extend a chain in turn, one pass of the verifier scores it, a rule judges it, and what fits becomes output."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from specdiag.record.laws import Law
from specdiag.record.lines import Line, Member
from specdiag.record.protocols import Draft, Rows, Verifier
from specdiag.record.verify import Judge, Rule, Ruling, judge
from specdiag.record.vocabulary import joined


@dataclass(frozen=True, slots=True)
class Block:
    """A draft on its chain: `offset` submitted tokens of the chain stand before it, and `context` was what its drafter saw."""

    member: Member
    draft: Draft
    offset: int
    context: bytes


@dataclass(frozen=True, slots=True)
class Chain:
    """A judged chain. `start` is the index of its first token in the request; of the accepted tokens and the verifier's own one behind
    them, `output` is what reaches the text; `stop` says why it ends there, if it is cut."""

    start: int
    blocks: list[Block]
    p: Rows
    ruling: Ruling
    output: list[int]
    stop: str | None
    ms: float

    @property
    def tokens(self) -> list[int]:
        """All submitted tokens."""
        return [token for block in self.blocks for token in block.draft.submitted]


def run(line: Line, members: Sequence[Member], verifier: Verifier, rule: Rule, judged: Judge = judge) -> Chain:
    """Draft and judge one chain behind what the line has committed; nothing is committed here."""
    blocks = _drafted(line, members, verifier)
    tokens = [token for block in blocks for token in block.draft.submitted]
    q: list[Law | None] = [law for block in blocks for law in _laws(block.draft)]
    begin = time.perf_counter()
    p = verifier.score(line.context, tokens)
    ms = (time.perf_counter() - begin) * 1e3
    ruling = judged(rule, tokens, q, p, line.streams.of(-1))
    output, stop = _cut([*tokens[: ruling.accepted], ruling.token], verifier.end, line.room)
    return Chain(len(line.context), blocks, p, ruling, output, stop, ms)


def _drafted(line: Line, members: Sequence[Member], verifier: Verifier) -> list[Block]:
    """The blocks of a chain: each drafter goes on from the bytes of the blocks before its own. Nobody goes on behind an end of text."""
    blocks: list[Block] = []
    offset, data, ended = 0, line.data, False
    for member in members:
        stream = line.streams.of(member.number)
        draft = Draft([], [], None, [], 0.0) if ended else member.drafter.propose(data, member.tokens, stream)
        blocks.append(Block(member, draft, offset, data))
        offset += len(draft.submitted)
        data += joined(verifier.tokenizer, draft.submitted)
        ended = ended or not verifier.end.isdisjoint(draft.submitted)
    return blocks


def _laws(draft: Draft) -> list[Law | None]:
    return list(draft.q) if draft.q is not None else [None] * len(draft.submitted)


def _cut(tokens: list[int], end: frozenset[int], room: int) -> tuple[list[int], str | None]:
    """What reaches the output: up to the first end of text, and no more than there is room for."""
    ends = next((place + 1 for place, token in enumerate(tokens) if token in end), len(tokens) + 1)
    if ends <= min(len(tokens), room):
        return tokens[:ends], "eos"
    return tokens[:room], "length" if room <= len(tokens) else None
