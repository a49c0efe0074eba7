"""SGLang: what the server's `/metrics` endpoint says of speculation, one scrape or several behind each other.

Source: metrics/collector.py of 0.5.3 and 0.5.5, observability/metrics_collector.py of 0.5.10, 0.5.12 and 0.5.23. The gauges are ratios of the
last interval of the decode log alone, and 0 where there was none; the counters of 0.5.23 are of finished requests: rounds, and beside them
requests and output tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from specdiag.importers.fields import count
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Found, Importer, Output, Trouble
from specdiag.importers.prometheus import Sample, Scrape, scrapes, whole_number
from specdiag.importers.ratios import Ratios
from specdiag.importers.sglang_rule import FORMULAS, LONGEST, NEWER, Blocks, known
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

PREFIX = "sglang:"
LENGTH, RATE, BLOCK = "sglang:spec_accept_length", "sglang:spec_accept_rate", "sglang:spec_num_draft_tokens"
ROUNDS, OUTPUT, REQUESTS = (
    "sglang:spec_verify_calls_total",
    "sglang:generation_tokens_total",
    "sglang:num_requests_total",
)
_STREAMING = "is_streaming"  # the only label that output tokens and requests have and rounds have not

_OURS = re.compile(rb"^sglang:spec_(?:accept_length|accept_rate|verify_calls_total)[ {]", re.MULTILINE)


def read(source: Source) -> Iterator[Output]:
    """Of each scrape and process the figures of its last interval; and the counters."""
    said: set[str] = set()
    alone = Ratios()
    for scrape in scrapes(source, PREFIX):
        for name, samples in _processes(scrape, LENGTH, RATE, BLOCK).items():
            yield from _gauges(name, samples, said, alone)
        for name, samples in _processes(scrape, ROUNDS, OUTPUT, REQUESTS).items():
            yield from _counters(name, samples)
    yield from alone.said()


def _processes(scrape: Scrape, *names: str) -> dict[str, dict[str, list[Sample]]]:
    """These samples, apart by all labels that tell processes apart."""
    parts: dict[str, dict[str, list[Sample]]] = {}
    for name in names:
        for sample in scrape.samples.get(name, []):
            labels = [f"{key} {value}" for key, value in sorted(sample.labels.items()) if key != _STREAMING and value]
            parts.setdefault(", ".join(labels), {}).setdefault(name, []).append(sample)
    return parts


def _gauges(name: str, samples: dict[str, list[Sample]], said: set[str], alone: Ratios) -> Iterator[Output]:
    length = samples[LENGTH][-1] if LENGTH in samples else None
    if length is None or not 1 <= length.value < 1e6:  # 0: no round in the last interval, or none yet
        return
    rate = samples[RATE][-1] if RATE in samples else None
    drafts = whole_number(samples[BLOCK][-1].value) if BLOCK in samples else None
    given = drafts - 1 if drafts and 1 < drafts <= LONGEST + 1 else None
    event = TallyEvent(
        drafter=DRAFTER,
        window="interval",
        source=name or None,
        max_draft_tokens=given,
        printed={"accept len": repr(length.value)},
    )
    if (
        rate is not None and 0 <= rate.value <= 1
    ):  # there is none up to 0.5.3; the length means the same in all releases
        assert event.printed is not None
        event.printed["accept rate"] = repr(rate.value)
        blocks = (known(given) if given else Blocks()).with_(repr(length.value), repr(rate.value))
        event.definitions = (
            NEWER if BLOCK in samples else blocks.rule
        )  # the release that has this gauge has the newer rule
        event.max_draft_tokens = given or blocks.length
        if event.definitions is None and name not in said:
            yield Trouble(rate.line, "definition_open", f"accept rate may be {' or '.join(FORMULAS.values())}")
        elif BLOCK not in samples and name not in said:
            yield Trouble(rate.line, "definition_told", f"only by {FORMULAS[event.definitions or NEWER]}")
        said.add(name)
    alone.add(length.line, event.printed or {})
    yield Found(length.line, event)


def _counters(name: str, samples: dict[str, list[Sample]]) -> Iterator[Output]:
    if ROUNDS not in samples:
        return
    event = TallyEvent(
        drafter=DRAFTER,
        window="lifetime",
        source=name or None,
        rounds=_sum(samples[ROUNDS]),
        completion_tokens=_sum(samples.get(OUTPUT)),
        requests=_sum(samples.get(REQUESTS)),
        definitions=NEWER,
    )
    if event.rounds is None:
        return
    yield from told(samples[ROUNDS][0].line, event)


def _sum(samples: list[Sample] | None) -> int | None:
    found = [whole_number(sample.value) for sample in samples or []]
    numbers = [number for number in found if number is not None]
    return count(sum(numbers)) if numbers and len(numbers) == len(found) else None


IMPORTERS = (
    Importer(
        name="sglang/metrics",
        reads="the text of the `/metrics` endpoint, one scrape or several (0.5.3 to 0.5.23)",
        carries="mean accepted length and accept rate of the last interval as printed, the length of a block; from 0.5.23 on rounds, requests and "
        "output tokens of finished requests",
        lacks="proposed and accepted tokens, so no acceptance is computed from it; what lies between two scrapes",
        recognise=lambda head: _OURS.search(head) is not None,
        read=read,
    ),
)
