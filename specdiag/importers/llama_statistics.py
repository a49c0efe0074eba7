"""llama.cpp: the `statistics` lines, one for each implementation, cumulative since the server was started.

Source: common/speculative.cpp of llama-cpp-python 0.3.20, 0.3.31 and 0.3.36. `#calls(b,g,a)`: how often it began, was asked for a draft, and was told
what became of one: the last is R. `#acc drafts` is S_1. An implementation is named as the releases of today do, with hyphens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from specdiag.importers.fields import digits
from specdiag.importers.identities import told
from specdiag.importers.interface import Output, Trouble
from specdiag.importers.layout import layout, numbers, whole
from specdiag.importers.rounded import MOST_POSITIONS, bounds
from specdiag.importers.source import Sighting
from specdiag.trace.events import TallyEvent

STATISTICS = "statistics "

# Numbers apart by spaces: where those were lost, nothing tells them apart.
_CALLS = r"\s*(?:=\s*(?P<call>\d+)|\(\s*b,g,a\s*\)\s*=\s*(?P<calls>\d+\s+\d+\s+\d+))\s*"
_NAME = re.compile(
    r"(?:draft|ngram)(?:-(?:simple|eagle3|mtp|dflash|dspark|map-k|map-k4v|mod|cache))?|(?!draft|ngram)[a-z0-9]+"
)  # what the releases have, and a word that a fork may have
LINE = re.compile(
    layout(" <name:word>: #calls").pattern
    + _CALLS
    + layout(
        ", #gen drafts = <drafts:int>, #acc drafts = <hits:int>, #gen tokens = <proposed:int>, #acc tokens = <accepted:int>"
        "{?, #mean acc len = <length:f2>, #acc rate/pos = ({?<rates:f3s>?})?}"
        "{?, dur(b,g,a) = <begin:f3>, <draft:f3>, <accept:f3> ms?}"
    ).pattern
)
_LIKE = re.compile(r"\s*[\w-]{1,40}\s*:\s*#calls")
_COUNTS = ("drafts", "hits", "proposed", "accepted")


def statistics(seen: Sighting, source: str | None) -> Iterator[Output]:
    """The tally of one line."""
    if not _LIKE.match(seen.text):
        return
    found = whole(LINE, seen.text)
    counts = [digits(found[name]) for name in _COUNTS] if found else []
    calls = [digits(number) for number in (found["call"] or found["calls"]).split()] if found else []
    # A number at the end of all there is may have lost its last digits.
    torn = found is not None and found["begin"] is None and found["length"] is None and "\n" not in seen.text
    name = found["name"].replace("_", "-") if found else ""
    if not found or torn or None in counts or None in calls or not _NAME.fullmatch(name):
        yield Trouble(seen.line, "report_unreadable", (STATISTICS + seen.text).partition("\n")[0])
        return
    drafts, hits, proposed, accepted = (number or 0 for number in counts)
    # Before `(b,g,a)` it was not said how many drafts were verified: all that were made, or fewer.
    rounds, spread = (calls[2] or 0, 0) if len(calls) == 3 else (drafts, max(drafts - hits, 0))
    rates = numbers(found["rates"] or "")
    reached = _reached(accepted, rounds, hits, rates)
    derived = reached is not None and len(reached) > 1
    printed = {"mean len": found["length"]} if found["length"] else {}
    printed |= {f"acc per pos[{i}]": rate for i, rate in enumerate(rates[: 1 if derived else len(rates)], 1)}
    event = TallyEvent(
        drafter=name,
        window="lifetime",
        source=source,
        rounds=rounds,
        proposed=proposed,
        accepted=accepted,
        reached=reached or [hits],
        definitions="llama-cpp" if printed else None,
        printed=printed or None,
        estimated={"rounds": spread} if spread else None,
    )
    yield from told(seen.line, event)


def _reached(accepted: int, rounds: int, hits: int, rates: list[str]) -> list[int] | None:
    """S_i, where each rate leaves one number, S_1 is the one that is printed, and they add up to A."""
    if not accepted or not 0 < len(rates) <= MOST_POSITIONS:
        return None
    listed: list[int] = []
    for rate in map(bounds, rates):
        least, most = max(-(-rate.low * rounds // rate.scale), 0), rate.high * rounds // rate.scale
        if least != most:
            return None
        listed.append(least)
    falls = all(before >= after for before, after in pairwise([rounds, *listed]))
    return listed if falls and listed[0] == hits and sum(listed) == accepted else None
