"""Faults of headers and counters: what one event says against itself, or a header against the first one of its trace."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec

from specdiag.engines.definitions import Counts
from specdiag.engines.printed import differing
from specdiag.trace.events import DrafterInfo, TallyEvent, Trace
from specdiag.trace.notes import Notes
from specdiag.trace.salvage import PLACEHOLDER

_SAID = ("engine", "verification", "drafters", "verifier", "tokenizers", "labels")  # of the trace, not of who logged it

_ESTIMATED = ("rounds", "proposed", "accepted", "matched", "completion_tokens", "reached")


def check_header(header: Trace, line: int, notes: Notes) -> None:
    """Note drafters that are declared twice, differently; a placeholder in a number is noted, and taken out."""
    drafters = header.drafters or []
    if header.verifier:
        _check_numbers(header.verifier, "$.verifier", line, notes)
    first: dict[str, DrafterInfo] = {}
    for i, info in enumerate(drafters):
        _check_numbers(info, f"$.drafters[{i}]", line, notes)
        if first.setdefault(info.id, info) != info:
            what = ", ".join(_differing(first[info.id], info))
            notes.add("drafter_conflict", line, f"$.drafters[{i}]", f"{info.id[:80]}: {what}")


def differences(first: Trace, second: Trace) -> list[tuple[str, str]]:
    """(path, text) of what the second header says otherwise than the first, or in addition. What it leaves out, it does not deny."""
    found = ((name, _parts(getattr(first, name), getattr(second, name))) for name in _SAID)
    return [(f"$.{name}", ", ".join(parts)[:200]) for name, parts in found if parts]


def contradictions(counts: TallyEvent) -> Iterator[tuple[str, str]]:
    """(path, text) of each count that another count of the event rules out."""
    accepted, proposed, reached, drafted = counts.accepted, counts.proposed, counts.reached, counts.drafted
    if accepted is not None and proposed is not None and accepted > proposed:
        yield "$.accepted", f"{accepted} accepted of {proposed} proposed"
    yield from _falling("reached", reached or [], counts.rounds, accepted, "accepted")
    yield from _falling("drafted", drafted or [], counts.rounds, proposed, "proposed")
    if reached and drafted:
        above = next((i for i, (to, of) in enumerate(zip(reached, drafted, strict=False)) if to > of), None)
        if above is not None:
            yield f"$.reached[{above}]", f"{reached[above]} of {drafted[above]} rounds with a draft there"


def _falling(
    name: str, numbers: list[int], rounds: int | None, tokens: int | None, what: str
) -> Iterator[tuple[str, str]]:
    """(path, text) of rounds by position that rise, begin above all rounds, or add up to more tokens than there are."""
    if numbers and rounds is not None and numbers[0] > rounds:
        yield f"$.{name}[0]", f"{numbers[0]} of {rounds} rounds"
    rise = next((i for i, (before, after) in enumerate(pairwise(numbers), 1) if after > before), 0)
    if rise:
        yield f"$.{name}[{rise}]", f"{numbers[rise]} rounds, {numbers[rise - 1]} one position before"
    elif tokens is not None and sum(numbers) > tokens:
        yield f"$.{name}", f"adds up to {sum(numbers)} tokens, {tokens} {what}"


def misprints(event: TallyEvent) -> Iterator[tuple[str, str]]:
    """(path, text) of each figure that the engine printed and the event's counts do not give. What takes an estimated count is not compared."""
    if event.definitions and event.printed:
        exact = msgspec.structs.replace(event, **{name: None for name in _ESTIMATED if name in (event.estimated or {})})
        for figure, sentence in differing(event.definitions, event.printed, counts_of(exact)):
            yield f"$.printed.{figure}", sentence


def counts_of(event: TallyEvent) -> Counts:
    """The counts of an event, by the symbols of the definitions."""
    return Counts(
        A=event.accepted,
        R=event.rounds,
        D=event.proposed,
        G=event.completion_tokens,
        K=event.max_draft_tokens,
        n=event.requests,
        M=event.matched,
        P=_passes(event),
        S=None if event.reached is None else tuple(event.reached),
        N=None if event.drafted is None else tuple(event.drafted),
    )


def _passes(event: TallyEvent) -> int | None:
    """Passes of the verifier: each gives one token that is no accepted draft. There are no fewer than rounds and requests."""
    output, accepted, rounds = event.completion_tokens, event.accepted, event.rounds
    if output is None or accepted is None or rounds is None:
        return None
    return max(output - accepted, rounds + (event.requests or 0))


def _check_numbers(info: msgspec.Struct, path: str, line: int, notes: Notes) -> None:
    for name in info.__struct_fields__:
        value = getattr(info, name)
        if isinstance(value, float) and abs(value) >= PLACEHOLDER:
            notes.add("not_finite", line, f"{path}.{name}", repr(value))
            setattr(info, name, None)


def _differing(one: msgspec.Struct, other: msgspec.Struct) -> list[str]:
    return [name for name in one.__struct_fields__ if getattr(one, name) != getattr(other, name)]


def _parts(before: Any, after: Any) -> list[str]:
    """The names under which the second of two fields of a header says something that the first does not."""
    one, other = _by_name(before), _by_name(after)
    return [name for name, value in other.items() if value is not None and value != one.get(name)]


def _by_name(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {info.id: info for info in reversed(value)}  # the first declaration of a drafter stands
    return msgspec.structs.asdict(value) if isinstance(value, msgspec.Struct) else value or {}
