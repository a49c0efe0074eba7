"""TensorRT-LLM: what the `/prometheus/metrics` endpoint of its server says of speculation, one scrape or several behind each other.

Source: tensorrt_llm/metrics/collector.py as of March (totals over iterations) and September 2026 (counters by position, over finished requests), not
pinned to a release. A round with a draft has drafted its first position: by position, that is R. The gauges are of the last iteration alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from specdiag.importers.fields import LONGEST, digits
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output
from specdiag.importers.prometheus import Sample, Scrape, scrapes, whole_number
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

PREFIX = "trtllm_spec_decode_"
PROPOSED, ACCEPTED = "num_draft_tokens_total", "num_accepted_tokens_total"
PROPOSED_AT, ACCEPTED_AT, POSITION = "drafted_tokens_total", "accepted_tokens_total", "token_position"

_OURS = re.compile(rb"^trtllm_spec_decode_(?:num_(?:draft|accepted)_tokens|drafted_tokens)", re.MULTILINE)


def read(source: Source) -> Iterator[Output]:
    """A tally for each scrape and server: by position where it is there, which is of finished requests; else of all iterations."""
    for scrape in scrapes(source, PREFIX):
        for name, samples in _servers(scrape).items():
            event = _by_position(samples) or _totals(samples)
            if event is None:
                continue
            event.source = name or None
            yield from told(min(found[0].line for found in samples.values()), event)


def _servers(scrape: Scrape) -> dict[str, dict[str, list[Sample]]]:
    parts: dict[str, dict[str, list[Sample]]] = {}
    for name, found in scrape.samples.items():
        for sample in found:
            labels = [f"{key} {value}" for key, value in sorted(sample.labels.items()) if key != POSITION and value]
            parts.setdefault(", ".join(labels), {}).setdefault(name.removeprefix(PREFIX), []).append(sample)
    return parts


def _by_position(samples: dict[str, list[Sample]]) -> TallyEvent | None:
    drafted, accepted = _positions(samples.get(PROPOSED_AT)), _positions(samples.get(ACCEPTED_AT))
    if not drafted or not accepted:
        return None
    if sorted(drafted) != [*range(len(drafted))] or not accepted.keys() <= drafted.keys():
        return None
    reached = [accepted.get(position, 0) for position in range(len(drafted))]
    total = whole_number(samples[ACCEPTED][-1].value) if ACCEPTED in samples else None
    # A position that never accepted has no sample, and no more have those that a cut took away: the total tells.
    whole = len(accepted) == len(drafted) or total == sum(reached)
    return TallyEvent(
        drafter=DRAFTER,
        window="lifetime",
        rounds=drafted[0],
        proposed=sum(drafted.values()),
        accepted=sum(reached) if whole else None,
        reached=reached if whole else None,
        max_draft_tokens=len(drafted),
        definitions="trtllm",
    )


def _positions(samples: list[Sample] | None) -> dict[int, int] | None:
    """The counts by position; None where one is no count, or no position."""
    found: dict[int, int] = {}
    for sample in samples or []:
        position, number = digits(sample.labels.get(POSITION, "")), whole_number(sample.value)
        if position is None or number is None or position >= LONGEST:
            return None
        found[position] = number
    return found


def _totals(samples: dict[str, list[Sample]]) -> TallyEvent | None:
    proposed, accepted = (
        whole_number(samples[name][-1].value) if name in samples else None for name in (PROPOSED, ACCEPTED)
    )
    if not proposed or accepted is None:
        return None
    return TallyEvent(drafter=DRAFTER, window="lifetime", proposed=proposed, accepted=accepted, definitions="trtllm")


IMPORTERS = (
    Importer(
        name="trtllm/metrics",
        reads="the text of the `/prometheus/metrics` endpoint, one scrape or several",
        carries="proposed and accepted tokens; with counters by position rounds and rounds by accepted tokens, of finished requests",
        lacks="rounds, where there are no counters by position; output tokens; mean lengths, for the gauge is of the last iteration alone",
        recognise=lambda head: _OURS.search(head) is not None,
        read=read,
    ),
)
