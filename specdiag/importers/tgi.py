"""Text Generation Inference: the histogram of skipped tokens.

Source: backends/v3 and router of db931fcf, and docs/source/reference/metrics.md: `tgi_request_skipped_tokens` gets the tokens of each
message but one, and prefill sends a message with one token. So its sum is A, and its count is rounds and prefills. How many prefills there
were lies between requests that succeeded and requests that came; where these are equal, rounds are exact. Buckets are at 0, 1, … in
releases that have them.
"""

from __future__ import annotations

from collections.abc import Iterator

from specdiag.importers.counters import Samples, total
from specdiag.importers.fields import count
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.prometheus import scrapes
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

NAME = "tgi_request_skipped_tokens"
MOST = 1024  # positions


def read(source: Source) -> Iterator[Output]:
    """One tally a scrape, of all since the start."""
    for scrape in scrapes(source, "tgi_request_"):
        samples = scrape.samples
        if f"{NAME}_count" not in samples:
            continue
        line = samples[f"{NAME}_count"][0].line
        accepted, messages = total(samples.get(f"{NAME}_sum")), total(samples[f"{NAME}_count"])
        if accepted is None or messages is None:
            yield Trouble(line, "report_unreadable", NAME)
        elif messages:
            yield from told(line, _tally(accepted, messages, samples))


def _tally(accepted: int, messages: int, samples: Samples) -> TallyEvent:
    finished, came = total(samples.get("tgi_request_success")), total(samples.get("tgi_request_count"))
    event = TallyEvent(drafter=DRAFTER, window="lifetime", accepted=accepted, definitions="tgi")
    reached = _reached(messages, samples)
    if reached is not None and sum(reached) == accepted:
        event.reached = reached
    # Without an accepted token it may be that nothing is drafted: then messages are no rounds.
    if accepted and finished is not None and came is not None and finished <= came <= messages:
        event.rounds = messages - (finished + came) // 2
        spread = came - (finished + came) // 2
        event.requests = finished if not spread else None
        event.estimated = {"rounds": spread} if spread else None
        if reached and event.rounds < reached[0]:  # fewer than are known to have accepted something
            event.rounds = event.estimated = None
    return event


def _reached(messages: int, samples: Samples) -> list[int] | None:
    """Messages with more than 1, 2, … tokens, from buckets that end at each whole number."""
    below: dict[int, int] = {}
    for sample in samples.get(f"{NAME}_bucket", []):
        try:
            edge = count(float(sample.labels.get("le", "")))
        except ValueError:
            return None
        number = count(sample.value)
        if edge is not None and edge < MOST and number is not None and number <= messages:
            below[edge] = below.get(edge, 0) + number
    whole = below and [*sorted(below)] == [*range(len(below))]
    return [messages - below[edge] for edge in range(len(below)) if messages > below[edge]] if whole else None


IMPORTERS = (
    Importer(
        name="tgi/metrics",
        reads="what `/metrics` of Text Generation Inference gives (`tgi_request_skipped_tokens`), one scrape or many",
        carries="accepted tokens since the start; rounds, and rounds by position, as requests and buckets leave them",
        lacks="proposed tokens, so no acceptance rate; whether it speculates at all, where nothing was accepted",
        recognise=lambda head: f"{NAME}_count".encode() in head,
        read=read,
    ),
)
