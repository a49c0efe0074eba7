"""llama.cpp: the counters of llama-server's /metrics, for all requests that ended since its start.

Source: tools/server/server-task.cpp of llama-cpp-python 0.3.36 (llama.cpp#26389). `num_drafts` is R. Values are printed with six digits:
from a million on they are no exact counts, and the last digits stand as an estimate.
"""

from __future__ import annotations

from collections.abc import Iterator

from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.prometheus import Sample, Scrape, scrapes, whole_number
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

PREFIX = "llamacpp:spec_decode_"
ROUNDS, PROPOSED, ACCEPTED = (
    f"{PREFIX}{name}_total" for name in ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
)
REACHED = f"{PREFIX}num_accepted_tokens_per_pos_total"
DIGITS = 6
MOST_POSITIONS = 1 << 16


def read(source: Source) -> Iterator[Output]:
    """One tally a scrape, lifetime."""
    for scrape in scrapes(source, PREFIX):
        yield from _tally(scrape)


def _tally(scrape: Scrape) -> Iterator[Output]:
    for (instance,), samples in scrape.by("instance").items():
        rounds, proposed, accepted = (_count(samples.get(name, [])) for name in (ROUNDS, PROPOSED, ACCEPTED))
        reached = _reached(samples.get(REACHED, []))
        line = max((s.line for of in samples.values() for s in of), default=0)
        # Once a draft was verified, every scrape ends with the positions.
        if rounds is None or proposed is None or accepted is None or (rounds and not reached):
            yield Trouble(line, "report_unreadable", "a scrape in which a counter is missing, or is no count")
            continue
        estimated = {
            name: 10 ** (len(str(number)) - DIGITS) // 2
            for name, number in (("rounds", rounds), ("proposed", proposed), ("accepted", accepted))
            if number >= 10**DIGITS
        }
        total = sum(reached or [])
        if reached and abs(total - accepted) > estimated.get("accepted", 0):
            yield Trouble(line, "report_unreadable", f"{total} accepted by position, {accepted} in all")
            reached = None
        elif reached:
            accepted = total  # these are printed with all their digits
            estimated.pop("accepted", None)
        event = TallyEvent(
            drafter=DRAFTER,
            window="lifetime",
            source=instance or None,
            rounds=rounds,
            proposed=proposed,
            accepted=accepted,
            reached=reached,
            definitions="llama-cpp",
            estimated=estimated or None,
        )
        yield from told(line, event)


def _count(samples: list[Sample]) -> int | None:
    values = [whole_number(sample.value) for sample in samples]
    known = [value for value in values if value is not None and value <= 2**53]
    return sum(known) if known and len(known) == len(values) else None


def _reached(samples: list[Sample]) -> list[int] | None:
    """S_i by position, which the engine counts from 0. As many positions as the longest draft may have: what none came to is 0."""
    by_position = {sample.labels.get("position", ""): whole_number(sample.value) for sample in samples}
    if not 0 < len(by_position) <= MOST_POSITIONS:
        return None
    listed = [by_position.get(str(i)) for i in range(len(by_position))]
    return [value for value in listed if value is not None] if None not in listed else None


IMPORTERS = (
    Importer(
        name="llama-cpp/metrics",
        reads="/metrics of llama-server with --metrics (`llamacpp:spec_decode_…`), one scrape or many",
        carries="accepted and proposed tokens, rounds, and rounds by position, since the start of the server",
        lacks="requests; the length of a full block; which implementation the drafts came from; tasks that have not ended",
        recognise=lambda head: b"llamacpp:spec_decode_num_" in head,
        read=read,
    ),
)
