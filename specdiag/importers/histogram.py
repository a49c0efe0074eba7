"""Rounds by how many drafts they accepted, and rounds one by one, as vLLM and those who copy its records write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from specdiag.importers.fields import count, digits
from specdiag.importers.interface import Trouble
from specdiag.trace.events import Next, Proposal, Verdict

MOST_DRAFTS = 1024  # of one round: what says more is no count of rounds
SEVERAL = 3  # requests, from which on their first rounds are worth a word


def sparse(value: Any) -> dict[int, int] | None:
    """A JSON object of counts by whole numbers, whose keys JSON has made strings; None for anything else."""
    if not isinstance(value, dict) or len(value) > MOST_DRAFTS + 1:
        return None
    found: Counter[int] = Counter()
    for key, number in value.items():
        length, rounds = digits(key), count(number)
        if length is None or length > MOST_DRAFTS or rounds is None:
            return None
        found[length] += rounds
    return dict(found)


def reached(rounds: Mapping[int, int], positions: int = 0) -> list[int]:
    """Rounds that accepted at least so many drafts, from one on; for `positions`, or for as many as any round accepted."""
    longest = max(positions, max((length for length, number in rounds.items() if number), default=0))
    return [*accumulate(rounds.get(length, 0) for length in range(longest, 0, -1))][::-1]


def accepted(rounds: Mapping[int, int]) -> int:
    """Accepted drafts of all these rounds."""
    return sum(length * number for length, number in rounds.items())


def one_by_one(
    request: str, drafter: str, steps: list[tuple[int, int]], output: int | None = None, ended: str = ""
) -> Iterator[Proposal | Verdict]:
    """Rounds of (accepted, drafted) as events; the first block begins behind the token that prefill samples. Ids of tokens are not known.

    `output`: tokens of the whole request. Where they are fewer than the rounds gave, the last round was cut, since a stop ends the request. `ended`:
    why the output did, as vLLM says it; where it does not, `eos` stands for any end.
    """
    start = 1
    past = 0 if output is None else max(1 + sum(accepted + 1 for accepted, _ in steps) - output, 0)
    for number, (accepted, drafted) in enumerate(steps):
        name = f"{request}/{number}"
        yield Proposal(id=name, request=request, round=number, drafter=drafter, start=start, tokens=[-1] * drafted)
        verdict = Verdict(proposal=name, request=request, round=number, accepted=accepted)
        if number + 1 == len(steps) and 0 < past <= accepted + 1:
            verdict.committed, verdict.stop = accepted + 1 - past, "length" if ended == "length" else "eos"
        else:
            verdict.next = Next(-1, "bonus" if accepted == drafted else "correction")
        yield verdict
        start += accepted + 1


@dataclass(slots=True)
class FirstRounds:
    """Of the requests with their rounds: how many began with a full block of which nothing was accepted, and the same of their other rounds. vLLM may
    have judged placeholders there, after a hand-over from prefill (vllm#50518)."""

    requests: int = 0
    empty: int = 0
    rounds: int = 0
    empty_rounds: int = 0
    line: int = 0

    def add(self, line: int, steps: list[tuple[int, int]], most: int) -> None:
        """The (accepted, drafted) of one request, and the length of a full block."""
        if len(steps) < 2:
            return
        self.line = self.line or line
        self.requests += 1
        self.empty += steps[0] == (0, most)
        self.rounds += len(steps) - 1
        self.empty_rounds += sum(accepted == 0 for accepted, _ in steps[1:])

    def told(self) -> Iterator[Trouble]:
        """A word, where nearly all began so, and their other rounds did not go so."""
        if self.requests >= SEVERAL and 10 * self.empty >= 9 * self.requests and 2 * self.empty_rounds <= self.rounds:
            yield Trouble(
                self.line,
                "padded_rounds",
                f"the first round of {self.empty} of {self.requests} requests, against {self.empty_rounds} of their {self.rounds} others",
            )
