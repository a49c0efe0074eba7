"""llama.cpp: what llama-speculative, llama-speculative-simple and llama-lookup print at their end.

Source: examples/speculative, speculative-simple and lookup of llama-cpp-python 0.3.20 to 0.3.36 (llama.cpp#2926 had the same five lines; lookup pads
the names to 12). Every pass of the verifier gives one token that is no accepted draft: there were n_predict - n_accept passes. The first one of
llama-speculative and lookup has no draft, nor has one where nothing was found: R is at most that.

n_draft is the limit that was set, but up to llama.cpp#3624 the length that a heuristic had come to: it rose by 2 behind a draft that was taken whole
and fell by 1 behind another, so that no block was longer than n_draft + passes. The lines are the same. Where the blocks fill more than half of what
n_draft would allow in that many passes, or llama-lookup's times stand among the lines, it is the limit; else only the weaker bound holds, and the
length of a full block is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from specdiag.importers.fields import digits
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.source import Sighting, Source
from specdiag.trace.events import TallyEvent

NAMES = ("n_draft", "n_predict", "n_drafted", "n_accept", "accept")
MARKERS = tuple(
    f"{name:<{width}} =" for width in (9, 12) for name in ("n_drafted", "n_draft", "n_predict", "n_accept", "accept")
)
_BEFORE = re.compile(r"(?:.*[\s|\]>])?")
_VALUE = re.compile(r"\s*(\d+)\s*")
_RATE = re.compile(r"\s*(\d+\.\d{3}%|-?nan%)\s*")


@dataclass(slots=True)
class _Block:
    """The lines of one run, in their order."""

    line: int = 0
    lookup: bool = False
    values: list[int] = field(default_factory=list)


def read(source: Source) -> Iterator[Output]:
    """One run a block; several runs in one file are several blocks."""
    block = _Block()
    for seen in source.sightings(*MARKERS):
        name = seen.marker.rstrip("= ")
        if not _BEFORE.fullmatch(seen.before) or (name == "accept" and not block.values):
            continue
        value = _value(seen, name)
        if block.values and NAMES.index(name) != len(block.values):
            yield Trouble(
                block.line, "report_unreadable", f"{name} at line {seen.line} behind {NAMES[len(block.values) - 1]}"
            )
            block = _Block()
        if NAMES.index(name) != len(block.values):
            continue
        if value is None:
            if block.values:
                yield Trouble(seen.line, "report_unreadable", (seen.marker + seen.text).partition("\n")[0])
            block = _Block()
        elif isinstance(value, int):
            block.line = block.line or seen.line
            block.lookup = block.lookup or "t_draft" in seen.text
            block.values.append(value)
        else:
            yield from _run(block, value)
            block = _Block()
    if block.values:
        yield Trouble(block.line, "report_unreadable", f"ends behind {NAMES[len(block.values) - 1]}")


def _value(seen: Sighting, name: str) -> int | str | None:
    found = (_RATE if name == "accept" else _VALUE).fullmatch(seen.text.partition("\n")[0])
    return None if not found else found[1] if name == "accept" else digits(found[1])


def _run(block: _Block, rate: str) -> Iterator[Output]:
    most, output, proposed, accepted = block.values
    passes = output - accepted
    if passes < 0:
        yield Trouble(block.line, "not_counts", f"{accepted} accepted, {output} output tokens")
        return
    last = min(passes, proposed)
    limit = block.lookup or 2 * proposed > passes * most
    longest = most if limit else most + passes
    first = -(-proposed // longest) if longest > 0 else 1
    rounds = last if 0 <= first <= last else None
    event = TallyEvent(
        drafter=DRAFTER,
        window="request",
        request=f"line-{block.line}",
        requests=1,
        accepted=accepted,
        proposed=proposed,
        rounds=rounds,
        # A tree may have drafted more than n_draft at once.
        max_draft_tokens=most if limit and rounds is not None and most else None,
        completion_tokens=output,
        definitions="llama-cpp-cli",
        printed={"accept": rate},
        estimated={"rounds": last - first} if rounds is not None and last > first else None,
    )
    for said in told(block.line, event):
        # Whether G holds a token of prefill depends on which of the programs it was.
        if not (isinstance(said, Trouble) and said.code in ("output_below_counts", "rounds_without_draft")):
            yield said


_OURS = re.compile(rb"n_drafted\s*=\s*\d+[^=]*(?:t_draft[^\n]*\n[^=]*)*n_accept\s*=\s*\d+")

IMPORTERS = (
    Importer(
        name="llama-cpp/cli",
        reads="the output of llama-speculative, llama-speculative-simple and llama-lookup (`n_drafted`, `n_accept`, `accept`)",
        carries="accepted, proposed and output tokens of the run; rounds, within the limits that n_draft and the passes of the verifier set",
        lacks="which of the programs it was: llama-speculative counts steps of the draft model (not the nodes of a tree), -simple leaves out "
        "small drafts that it discards and counts a replayed round as a full one; output may be longer than -n",
        recognise=lambda head: _OURS.search(head) is not None,
        read=read,
    ),
)
