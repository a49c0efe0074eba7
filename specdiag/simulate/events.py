"""From what was played to lines of a trace: blocks with their parents, verdicts, votes and effects, under a virtual clock.

Ids, rounds and starts are those of an engine that wrote this log: a round is one attempt of a branch, `start` counts the tokens in the output.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec
from numpy.typing import NDArray

from specdiag.simulate.mechanism import VOCABULARY
from specdiag.simulate.parameters import Parameters
from specdiag.simulate.play import Chain, Outcome
from specdiag.trace.codec import encode
from specdiag.trace.events import (
    MAIN,
    SCHEMA,
    Ballot,
    Consensus,
    DrafterInfo,
    Effect,
    Floats,
    Next,
    Proposal,
    Software,
    TokenizerInfo,
    Trace,
    Verdict,
    Verification,
    VerifierInfo,
)
from specdiag.version import __version__

PLACES = 6  # of a logged time, in ms
AGREES, NO_VOTE = msgspec.Raw(b'"agrees"'), msgspec.Raw(b"null")


def header(parameters: Parameters, trace_id: str, labels: dict[str, str]) -> bytes:
    """The header of the events behind it."""
    own = parameters.drafters[0]
    drafters = [
        DrafterInfo(
            id=d.id,
            kind="model",
            tokenizer=d.tokenizer,
            temperature=d.temperature,
            pass_ms=round_ms(parameters.verifier_pass_ms * d.billions / parameters.verifier_billions),
            parameters=d.billions * 1e9,
        )
        for d in parameters.drafters
    ]
    names = sorted({d.tokenizer for d in parameters.drafters})
    return encode(
        Trace(
            schema=SCHEMA,
            trace_id=trace_id,
            engine=Software("specdiag simulate", __version__),
            recorder=Software("specdiag", __version__),
            verification=Verification("rejection"),
            drafters=drafters,
            verifier=VerifierInfo(
                id="verifier", tokenizer=own.tokenizer, temperature=own.temperature, pass_ms=parameters.verifier_pass_ms
            ),
            tokenizers={name: TokenizerInfo(VOCABULARY, _fingerprint(name)) for name in names},
            labels=dict(labels),
        )
    )


def _fingerprint(tokenizer: str) -> str:
    return hashlib.blake2b(f"simulated tokenizer {tokenizer}".encode(), digest_size=8).hexdigest()


def round_ms(ms: float) -> float:
    """As it is logged."""
    return round(ms, PLACES)


class Writer:
    """Collects the lines of some requests, each request's in order."""

    def __init__(self, parameters: Parameters, names: list[str], branch: str = MAIN) -> None:
        """`branch`: the name of the leading branch."""
        self.names, self.branch = names, branch
        self.ids = parameters.ids
        self.quorum, self.pass_ms = parameters.quorum, parameters.verifier_pass_ms
        own = parameters.drafters[0].tokenizer
        self.foreign = [drafter.tokenizer != own for drafter in parameters.drafters]
        self.lines: list[list[bytes]] = [[] for _ in names]
        self.round = [0] * len(names)
        self.start = [0] * len(names)

    def attempt(self, chains: list[Chain], step: int | None = None) -> None:
        """One attempt, the leading chains first. Its branches begin at the same place; the tokens of the leading one move it on."""
        name = None if step is None else _step(step)
        for chain in reversed(chains):
            branch = self.branch if chain.leads else chain.branch
            for row, round in zip(chain.rows.tolist(), _rounds(chain), strict=True):
                self._chain(row, name, branch, chain.leads, round)
        for row, accepted in zip(chains[0].rows.tolist(), chains[0].judged.accepted.tolist(), strict=True):
            self.round[row] += 1
            self.start[row] += accepted + 1

    def _chain(self, row: int, step: str | None, branch: str, leads: bool, round: _Round) -> None:
        """One round: a block for each drafter on the chain, and the verdict on each."""
        lines = self.lines[row]
        verdicts: list[bytes] = []
        begin, parent = 0, None
        for drafter, size, spent in zip(round.drafters, round.sizes, round.draft_ms, strict=True):
            if not size:
                break
            id = f"{self.names[row]}.{self.round[row]}.{self.ids[drafter]}"
            tokens = round.tokens[begin : begin + size]
            proposal = Proposal(
                id=id,
                request=self.names[row],
                round=self.round[row],
                branch=branch,
                step=step,
                drafter=self.ids[drafter],
                parent=parent,
                start=self.start[row] + begin,
                tokens=[_foreign(token) for token in tokens] if self.foreign[drafter] else tokens,
                submitted=tokens if self.foreign[drafter] else None,
                q=round.q[begin : begin + size],
                ms=round_ms(spent),
            )
            lines.append(encode(proposal))
            verdicts.append(encode(self._verdict(proposal, begin, begin + size, leads, round)))
            begin, parent = begin + size, id
        lines.extend(verdicts)

    def _verdict(self, block: Proposal, begin: int, end: int, leads: bool, round: _Round) -> Verdict:
        """The verdict on the tokens from `begin` to `end` of the chain."""
        accepted = round.accepted
        kept = min(max(accepted - begin, 0), end - begin)
        refuses, reached = begin <= accepted < end, begin <= accepted
        lost = kept > 0 and not leads
        own = None
        if leads and (refuses or accepted == end == sum(round.sizes)):
            own = Next(_own(block.start - begin + accepted), "correction" if refuses else "bonus")
        return Verdict(
            proposal=block.id,
            request=block.request,
            round=block.round,
            accepted=kept,
            judged=None if reached else 0,
            committed=0 if lost else None,
            stop="rejected" if refuses else "branch_lost" if lost else None,
            p=round.p[begin:end],
            u=round.u[begin : min(end, accepted + 1)] if reached else None,
            next=own,
            ms=round_ms(round.verify_ms),
        )

    def outcome(self, end: Outcome) -> None:
        """The end of a step: the effect is staged, then the vote, then its fate; without a quorum the verifier decodes a token by itself."""
        step = _step(end.step)
        columns = (end.votes.tolist(), end.agreed.tolist(), end.last.tolist())
        for row, (votes, agreed, last) in enumerate(zip(*columns, strict=True)):
            vote = Consensus(
                request=self.names[row],
                step=step,
                quorum=self.quorum,
                ballots=[Ballot(d, AGREES if yes else NO_VOTE) for d, yes in zip(self.ids, votes, strict=True)],
                outcome="agreed" if agreed else "fallback",
                value=AGREES if agreed else msgspec.UNSET,
            )
            fate = self._effect(row, step, "commit" if agreed else "discard")
            self.lines[row] += [self._effect(row, step, "stage"), encode(vote), fate]
            if not agreed:
                self._verifier_alone(row, last, step)

    def _effect(self, row: int, step: str, action: Literal["stage", "commit", "discard"]) -> bytes:
        name = self.names[row]
        return encode(Effect(request=name, step=step, branch=self.branch, key=f"{name}/{step}", action=action))

    def _verifier_alone(self, row: int, drafter: int, step: str) -> None:
        """A round in which the drafter that led abstains: one pass, one token."""
        abstains = Proposal(
            id=f"{self.names[row]}.{self.round[row]}",
            request=self.names[row],
            round=self.round[row],
            branch=self.branch,
            step=step,
            drafter=self.ids[drafter],
            start=self.start[row],
            tokens=[],
        )
        token = Verdict(
            proposal=abstains.id,
            request=abstains.request,
            round=abstains.round,
            accepted=0,
            next=Next(_own(abstains.start), "bonus"),
            ms=self.pass_ms,
        )
        self.lines[row] += [encode(abstains), encode(token)]
        self.round[row] += 1
        self.start[row] += 1


class _Round(NamedTuple):
    """One request's chain of an attempt, as Python's own numbers."""

    drafters: list[int]
    sizes: list[int]
    draft_ms: list[float]
    verify_ms: float
    accepted: int
    tokens: list[int]
    p: Floats
    q: Floats
    u: Floats


def _rounds(chain: Chain) -> Iterator[_Round]:
    judged = chain.judged
    columns: tuple[NDArray[Any], ...] = (chain.plan.drafter, chain.plan.size, chain.draft_ms, chain.verify_ms)
    columns += (judged.accepted, judged.tokens, judged.p, judged.q, judged.u)
    return map(_Round._make, zip(*(column.tolist() for column in columns), strict=True))


def _step(number: int) -> str:
    return f"s{number:02d}"


def _foreign(token: int) -> int:
    """The id of the same token in the other vocabulary: a permutation of ids."""
    return token * 20_011 % VOCABULARY


def _own(place: int) -> int:
    """The verifier's own token at this place of the output."""
    return (place + 1) * 7_919 % VOCABULARY
