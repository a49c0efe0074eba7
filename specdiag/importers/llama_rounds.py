"""Rounds that an engine logs one by one, as proposals and verdicts, with their sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from specdiag.importers.interface import DRAFTER, Found
from specdiag.trace.events import Next, Proposal, Verdict

UNKNOWN = -1  # a token whose id is not logged


def one(
    line: int, request: str, number: int, start: int, accepted: int, tokens: list[int], follows: int = UNKNOWN
) -> Iterator[Found]:
    """One round: its block and the verdict on it. `follows`: the verifier's own token."""
    name = f"{request}#{number}"
    kind = "bonus" if accepted == len(tokens) else "correction"
    yield Found(line, Proposal(id=name, request=request, round=number, drafter=DRAFTER, start=start, tokens=tokens))
    yield Found(
        line,
        Verdict(proposal=name, request=request, round=number, accepted=accepted, next=Next(token=follows, kind=kind)),
    )


@dataclass(slots=True)
class Rounds:
    """The rounds of one task of llama-server, and what they add up to. A round that is replayed counts once, as it was before."""

    number: int = 0
    proposed: int = 0
    accepted: int = 0
    replays: int = 0
    longest: int = 0
    reached: list[int] = field(default_factory=list)
    position: int = 1  # behind the token of prefill
    replaying: bool = False
    plain: bool = False

    def add(
        self, line: int, request: str, accepted: int, proposed: int, *, debug: bool, replayed: bool
    ) -> Iterator[Found]:
        """One line. `debug`: the line of debug level, which repeats the plain one where both are on. `replayed`: the state is restored, and what
        was accepted goes through once more."""
        if debug and self.plain:
            return
        self.plain = self.plain or not debug
        if self.replaying:
            self.position += not replayed  # of the second forward one token is new
            self.replaying = replayed
            return
        self.replaying = replayed
        yield from one(line, request, self.number, self.position, accepted, [UNKNOWN] * proposed)
        self.number += 1
        self.proposed += proposed
        self.accepted += accepted
        self.replays += replayed
        self.longest = max(self.longest, proposed)
        self.position += accepted + 1
        self.reached.extend([0] * (proposed - len(self.reached)))
        for i in range(accepted):
            self.reached[i] += 1
