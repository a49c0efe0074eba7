"""Rounds by how many drafts they accepted, and rounds one by one, as several tools write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from specdiag.importers.fields import count, digits
from specdiag.trace.events import Next, Proposal, Verdict

MOST_DRAFTS = 1024  # of one round: what says more is no count of rounds


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
    request: str, drafter: str, steps: Iterable[tuple[int, int]], start: int
) -> Iterator[Proposal | Verdict]:
    """Rounds of (accepted, drafted) as events; the first block begins at `start` of the output. Ids of tokens are not known."""
    for number, (kept, drafted) in enumerate(steps):
        name = f"{request}/{number}"
        yield Proposal(id=name, request=request, round=number, drafter=drafter, start=start, tokens=[-1] * drafted)
        own = Next(-1, "bonus" if kept == drafted else "correction")
        yield Verdict(proposal=name, request=request, round=number, accepted=kept, next=own)
        start += kept + 1
