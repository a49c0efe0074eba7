"""speculators: acceptance.csv of its evaluations, and the older table of sweeps that has the same columns behind others.

Source: speculators c05b95b3: differences of the counters of vLLM's metrics endpoint between two scrapes, one row a subset; positions are counted
from 0 and divide by all rounds, with all digits, so that the rounds which came there are whole numbers again. The table of sweeps writes the counters
of the whole server into every row: rows that say the same are one.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import takewhile
from math import ceil, floor

from specdiag.engines.printed import parsed
from specdiag.importers.fields import count
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.source import Source
from specdiag.importers.tables import Line, table
from specdiag.trace.events import TallyEvent

_COUNTS = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
_POSITION = "acceptance_at_pos_"
MOST_KEPT = 4096  # rows of a table of sweeps that are compared with later ones


def read(source: Source) -> Iterator[Output]:
    """A tally for each subset."""
    seen: set[tuple[int | None, ...]] = set()
    for row in table(source, *_COUNTS):
        if isinstance(row, Trouble):
            yield row
            continue
        rounds, proposed, accepted = numbers = tuple(_count(row.fields[name]) for name in _COUNTS)
        if rounds is None or proposed is None or accepted is None:
            yield Trouble(row.number, "no_count", _wrong(row.fields))
            continue
        if "strategy" in row.fields:
            if numbers in seen:
                yield Trouble(row.number, "duplicate_line", "the counters of the whole server, as in an earlier row")
                continue
            if len(seen) < MOST_KEPT:
                seen.add(numbers)
        yield from _subset(row, rounds, proposed, accepted)


def _subset(row: Line, rounds: int, proposed: int, accepted: int) -> Iterator[Output]:
    rates = [*takewhile(bool, (row.fields.get(f"{_POSITION}{i}", "") for i in range(len(row.fields))))]
    survivors = [_survivors(rate, rounds) for rate in rates]
    reached = [number for number in survivors if number is not None]
    if not row.ended and not (reached and len(reached) == len(survivors) and sum(reached) == accepted):
        yield Trouble(row.number, "report_unreadable", "the last row has no line end: it may have been cut in a number")
        return
    printed = {"acceptance_length": row.fields.get("acceptance_length", "")}
    if len(reached) < len(survivors):  # rounded by somebody: they say something, but no counts
        reached = []
        printed |= {f"acceptance_at_pos[{i}]": rate for i, rate in enumerate(rates, 1)}
    event = TallyEvent(
        source=row.fields.get("subset") or None,
        drafter=DRAFTER,
        window="interval",
        rounds=rounds,
        proposed=proposed,
        accepted=accepted,
        reached=reached or None,
        max_draft_tokens=len(rates) or None,
        definitions="speculators",
        printed={name: said for name, said in printed.items() if rounds and parsed(said)} or None,
    )
    yield from told(row.number, event)


def _wrong(fields: dict[str, str]) -> str:
    """The first of the counts that is none."""
    name = next(name for name in _COUNTS if _count(fields[name]) is None)
    return f"{name}: expected a whole number from 0 on, got {fields[name][:80]!r}"


def _count(text: str) -> int | None:
    """A counter as Python writes a float."""
    said = parsed(text)
    return count(float(said.value)) if said and abs(said.value) <= 2**53 else None


def _survivors(rate: str, rounds: int) -> int | None:
    """The only number of rounds that has this share; None where several do, or none."""
    said = parsed(rate)
    if said is None or not 0 <= said.value <= 1:
        return None
    low, high = ((said.value + sign * said.slack) * rounds for sign in (-1, 1))
    least, most = ceil(max(low, Fraction(0))), floor(min(high, Fraction(rounds)))
    return least if least == most else None


IMPORTERS = (
    Importer(
        name="speculators/acceptance-csv",
        reads="acceptance.csv of speculators, and its older table of sweeps",
        carries="rounds, proposed and accepted tokens, rounds by accepted tokens of each subset",
        lacks="output tokens, and how many requests they were",
        recognise=lambda head: all(name.encode() in head for name in _COUNTS) and b",acceptance_length" in head,
        read=read,
    ),
)
