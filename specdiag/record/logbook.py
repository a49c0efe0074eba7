"""Writing judged chains to a trace."""

from __future__ import annotations

import math
from dataclasses import dataclass

from specdiag.record.lines import Line
from specdiag.record.protocols import Tokenizer
from specdiag.record.rounds import Block, Chain
from specdiag.record.verify import Rule
from specdiag.trace.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Entry:
    """A chain and the place where it was judged, to be written once it is known whether its line was lost."""

    request: str
    branch: str | None
    step: str | None
    round: int
    chain: Chain

    @classmethod
    def of(cls, line: Line, chain: Chain) -> Entry:
        """The chain of a line's present round."""
        return cls(line.request, line.branch, line.step, line.round, chain)


@dataclass(frozen=True, slots=True)
class Logbook:
    """`times` off leaves out all milliseconds, so that equal runs give equal bytes."""

    recorder: Recorder
    tokenizer: Tokenizer
    rule: Rule
    times: bool = True

    def write(self, entry: Entry, *, lost: bool = False) -> None:
        """The proposals of a chain, then their verdicts. A lost chain was judged, and none of it reached the output."""
        ids = self._proposals(entry)
        last = self._ending(entry.chain)
        for number, (name, block) in enumerate(zip(ids, entry.chain.blocks, strict=True)):
            self._verdict(entry, name, block, lost=lost, first=number == 0, last=number == last)

    def _proposals(self, entry: Entry) -> list[str]:
        ids: list[str] = []
        for block in entry.chain.blocks:
            draft = block.draft
            ids.append(
                self.recorder.propose(
                    request=entry.request,
                    round=entry.round,
                    branch=entry.branch,
                    step=entry.step,
                    drafter=block.member.drafter.name,
                    parent=ids[-1] if ids else None,
                    start=entry.chain.start + block.offset,
                    tokens=draft.tokens,
                    submitted=None if self._untranslated(block) else draft.submitted,
                    bytes=draft.sizes,
                    submitted_bytes=[len(self.tokenizer.token_bytes(token)) for token in draft.submitted],
                    q=block.q,
                    gated=draft.gated or None,
                    context_digest=block.context,
                    ms=round(draft.ms, 3) if self.times else None,
                )
            )
        return ids

    def _verdict(self, entry: Entry, name: str, block: Block, *, lost: bool, first: bool, last: bool) -> None:
        chain, tokens = entry.chain, block.draft.submitted
        ruling, begin = chain.ruling, block.offset
        accepted = _within(ruling.accepted - begin, len(tokens))
        committed = 0 if lost else _within(len(chain.output) - begin, accepted)
        u = ruling.u[begin : begin + len(tokens)]
        emitted = last and len(chain.output) > ruling.accepted
        self.recorder.verdict(
            name,
            accepted=accepted,
            judged=len(u),
            committed=committed,
            stop=_stop(chain, lost=lost, short=committed < accepted, last=last),
            p=block.p,
            u=u if any(value is not None for value in u) else None,
            gap=_gaps(block) if self.rule is Rule.greedy else None,
            next_token=ruling.token if emitted else None,
            next_kind=ruling.kind,
            next_p=ruling.p,
            context_digest=block.context,
            ms=round(chain.ms, 3) if first and self.times else None,
            context=chain.start + begin,
        )

    def _untranslated(self, block: Block) -> bool:
        return block.member.tokenizer == self.tokenizer.fingerprint and block.draft.tokens == block.draft.submitted

    @staticmethod
    def _ending(chain: Chain) -> int:
        """The block at which the chain ended: that of the refusal, else the last one."""
        if chain.ruling.kind == "bonus":
            return len(chain.blocks) - 1
        return max(
            i for i, block in enumerate(chain.blocks) if block.offset <= chain.ruling.accepted and block.draft.submitted
        )


def _within(count: int, most: int) -> int:
    return min(max(count, 0), most)


def _stop(chain: Chain, *, lost: bool, short: bool, last: bool) -> str | None:
    if lost:
        return "branch_lost"
    if short or (last and chain.stop and len(chain.output) <= chain.ruling.accepted):
        return chain.stop
    if last and chain.ruling.kind == "correction":
        return "rejected"
    return chain.stop if last else None


def _gaps(block: Block) -> list[float | None]:
    """ln of the likeliest token's probability over the submitted one's; None where that has none."""
    return [math.log(best / own) if own > 0 else None for best, own in zip(block.best, block.p, strict=True)]
