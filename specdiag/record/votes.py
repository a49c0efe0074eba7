"""Parallel branches with a vote. A step ends in ballots over what the branches decoded; a staged effect commits where they agree, and is
discarded where they do not: then the verifier decodes the step alone. An effect is a record only: nothing is ever done."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from specdiag.record.laws import draw
from specdiag.record.lines import Line, Streams, digest
from specdiag.record.protocols import Verifier
from specdiag.record.verify import Rule
from specdiag.trace.recorder import Recorder

_WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*|[0-9]+")


@dataclass(frozen=True, slots=True)
class Voting:
    """A step is `step_tokens` tokens long, or up to the end of a line that holds a word; `quorum` equal ballots agree."""

    quorum: int
    step_tokens: int = 6

    def over(self, said: bytes, tokens: int) -> bool:
        """Whether a branch that decoded this has come to the end of the step."""
        return tokens >= self.step_tokens or (b"\n" in said and ballot(said) is not None)

    def outcome(self, ballots: Mapping[str, str | None]) -> str | None:
        """The branch whose effect commits: the first that voted for the value of most ballots; None without a quorum."""
        counts = Counter(value for value in ballots.values() if value is not None)
        if not counts or max(counts.values()) < self.quorum:
            return None
        best = max(counts.values())
        return next(branch for branch, value in ballots.items() if value is not None and counts[value] == best)


def ballot(said: bytes) -> str | None:
    """What a branch votes for: its first whole word, in lower case; None where it said none."""
    found = _WORD.search(said)
    return found[0].decode().lower() if found else None


def fork(trunk: Line, branch: str, number: int, step: str) -> Line:
    """A branch that starts from what the request has committed, with random streams of its own."""
    streams = Streams(trunk.streams.seed, trunk.streams.request, number + 1)
    return replace(trunk, context=list(trunk.context), branch=branch, step=step, streams=streams)


def alone(line: Line, verifier: Verifier, voting: Voting, rule: Rule) -> None:
    """The fallback: the verifier decodes a step by itself. Nothing of it was drafted, so nothing is logged as a draft."""
    begin, count = len(line.data), 0
    while not line.stop and not voting.over(line.data[begin:], count):
        law = verifier.score(line.context, ())[0]
        token = int(law.argmax()) if rule is Rule.greedy else draw(law, line.streams.of(-1).random())
        line.commit([token], verifier.tokenizer)
        line.stop = "eos" if token in verifier.end else None if line.room > 0 else "length"
        count += 1


def stage(recorder: Recorder, line: Line, value: str | None) -> None:
    """Note what a branch would do if the step agreed on it."""
    key, step, branch = _named(line)
    arguments = digest((value or "").encode())
    recorder.effect(
        request=line.request, step=step, branch=branch, key=key, action="stage", target="answer", args_digest=arguments
    )


def settle(recorder: Recorder, line: Line, won: bool) -> None:
    """Commit or discard what a branch has staged."""
    key, step, branch = _named(line)
    recorder.effect(
        request=line.request, step=step, branch=branch, key=key, action="commit" if won else "discard", target="answer"
    )


def _named(line: Line) -> tuple[str, str, str]:
    step, branch = line.step or "", line.branch or ""
    return f"{line.request}/{step}/{branch}", step, branch
