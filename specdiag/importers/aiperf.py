"""AIPerf: what its records say of the speculation of each request, and its aggregate over all of them.

Source: AIPerf 0.13.0, common/models/spec_decode_models.py (the record, a copy of what vLLM sends), common/models/record_models.py
(profile_export.jsonl), exporters/metrics_json_exporter.py (the aggregate). The histogram is sparse: a number of accepted drafts that no round had is
left out. Aggregates leave out requests of the warm-up and those that failed, and so does this reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from specdiag.importers.averages import mean_of_means
from specdiag.importers.fields import count, counts, no_count, number_text, record, text
from specdiag.importers.histogram import MOST_DRAFTS, FirstRounds, accepted, one_by_one, reached, sparse
from specdiag.importers.identities import readings, told
from specdiag.importers.interface import DRAFTER, Found, Importer, Output, Trouble
from specdiag.importers.source import Source
from specdiag.trace.consistency import counts_of
from specdiag.trace.events import TallyEvent

_RECORD = re.compile(rb'"spec_decode_acceptance"\s*:\s*(?:null|\{)')
_POOLED = re.compile(rb'"pooled_spec_decode_acceptance_histogram"\s*:\s*\{')
_NUMBERS = ("num_spec_steps", "num_accepted_draft_tokens", "num_draft_tokens")
_WITHIN = "spec_decode_acceptance."
_NO_HISTOGRAM = f"{_WITHIN}acceptance_histogram: expected whole numbers by whole number"
_LENGTHS = ("spec_decode_acceptance_length", "spec_decode_token_weighted_acceptance_length")
_RATES = ("spec_decode_draft_acceptance_rate", "spec_decode_overall_draft_acceptance_rate")
_SHARES = ("spec_decode_accepted_per_verified",)


def read_profile(source: Source) -> Iterator[Output]:
    """A tally for each request; before it, where they are there, its rounds."""
    first = FirstRounds()
    for line, value in source.values():
        whole = record(value)
        found, metadata = whole.get("spec_decode_acceptance"), record(whole.get("metadata"))
        if isinstance(found, dict) and not whole.get("error") and metadata.get("benchmark_phase") != "warmup":
            name = text(metadata.get("x_request_id")) or f"line-{line}"
            yield from _request(line, name, found, record(whole.get("metrics")), first)
    yield from first.told()


def _request(
    line: int, name: str, found: dict[str, Any], metrics: dict[str, Any], first: FirstRounds
) -> Iterator[Output]:
    rounds, taken, proposed = (count(found.get(key)) for key in _NUMBERS)
    histogram = sparse(found.get("acceptance_histogram"))
    if rounds is None or taken is None or proposed is None or histogram is None:
        yield Trouble(line, "no_count", no_count(found, *_NUMBERS, within=_WITHIN) or _NO_HISTOGRAM)
        return
    most = count(found.get("num_spec_tokens"))
    event = TallyEvent(
        drafter=DRAFTER,
        window="request",
        request=name,
        requests=1,
        rounds=rounds,
        accepted=taken,
        proposed=proposed,
        completion_tokens=count(found.get("completion_tokens")),
        reached=reached(histogram, min(most or 0, MOST_DRAFTS)),
        max_draft_tokens=most,
        definitions="aiperf",
        printed=_printed(found, ("mean_acceptance_length", "draft_acceptance_rate")) | _metrics(metrics, "value")
        or None,
    )
    steps = [counts(found.get(key)) for key in ("per_step_accepted", "per_step_drafted")]
    wrong = _contradiction(event, histogram, *steps)
    said = [Trouble(line, "not_counts", wrong)] if wrong else [*readings(line, event)]
    if not any(trouble.code == "not_counts" for trouble in said):
        if steps[0] and steps[1]:
            pairs = [*zip(steps[0], steps[1], strict=True)]
            first.add(line, pairs, most or 0)
            yield from (Found(line, part) for part in one_by_one(name, DRAFTER, pairs, event.completion_tokens))
        yield Found(line, event)
    yield from said


def _contradiction(
    event: TallyEvent, histogram: dict[int, int], taken: list[int] | None, drafted: list[int] | None
) -> str:
    """What of a record rules out what; AIPerf itself refuses such records."""
    if (number := sum(histogram.values())) != event.rounds:
        return f"the histogram has {number} rounds, num_spec_steps {event.rounds}"
    if (number := accepted(histogram)) != event.accepted:
        return f"the histogram has {number} accepted tokens, num_accepted_draft_tokens {event.accepted}"
    longest = max((length for length, rounds in histogram.items() if rounds), default=0)
    if event.max_draft_tokens is not None and longest > event.max_draft_tokens:
        return f"the histogram has rounds of {longest} accepted tokens, num_spec_tokens is {event.max_draft_tokens}"
    for steps, whole, what in ((taken, event.accepted, "accepted"), (drafted, event.proposed, "drafted")):
        if steps is not None and (len(steps), sum(steps)) != (event.rounds, whole):
            return f"{sum(steps)} {what} in {len(steps)} steps, {whole} in {event.rounds} in all"
    if taken and drafted and any(a > d or d > MOST_DRAFTS for a, d in zip(taken, drafted, strict=True)):
        return "a step accepted more than was drafted, or drafted too many to be one"
    return ""


def read_summary(source: Source) -> Iterator[Output]:
    """One tally, of all requests."""
    for line, value in source.values():
        whole = record(value)
        if "pooled_spec_decode_acceptance_histogram" in whole:
            yield from _summary(line, whole)


def _summary(line: int, whole: dict[str, Any]) -> Iterator[Output]:
    histogram = sparse(whole["pooled_spec_decode_acceptance_histogram"])
    if histogram is None:
        yield Trouble(line, "report_unreadable", "pooled_spec_decode_acceptance_histogram holds no counts")
        return
    rounds, taken, proposed = (
        count(record(whole.get(name)).get("avg"))
        for name in ("total_spec_decode_steps", "total_accepted_draft_tokens", "total_draft_tokens")
    )
    own = sum(histogram.values()), accepted(histogram)
    if (own[0] if rounds is None else rounds, own[1] if taken is None else taken) != own:
        yield Trouble(
            line,
            "not_counts",
            f"{own[1]} accepted in {own[0]} rounds by the histogram, {taken} in {rounds} by the totals",
        )
        return
    printed = _metrics(whole, "avg")
    event = TallyEvent(
        drafter=DRAFTER,
        window="interval",
        requests=count(record(whole.get("spec_decode_steps")).get("count")),
        rounds=own[0],
        accepted=own[1],
        proposed=proposed,
        reached=reached(histogram),
        definitions="aiperf",
        printed=printed or None,
    )
    yield from told(line, event)
    if event.requests != 1:
        yield from mean_of_means(line, "aiperf", printed, counts_of(event))


def _metrics(metrics: dict[str, Any], key: str) -> dict[str, str]:
    """The figures of AIPerf in a record or an aggregate: objects that hold the number under `key`."""
    found = {name: record(metrics.get(name)).get(key) for name in (*_LENGTHS, *_RATES, *_SHARES)}
    return {name: f"{said}%" if name in _RATES else said for name, said in _printed(found, found).items()}


def _printed(found: dict[str, Any], names: Any) -> dict[str, str]:
    return {name: said for name in names if (said := number_text(found.get(name)))}


IMPORTERS = (
    Importer(
        name="aiperf/profile",
        reads="profile_export.jsonl of AIPerf (0.13.0)",
        carries="rounds, proposed and accepted tokens, the histogram, output tokens of each request; its rounds in order where vLLM sent them",
        lacks="requests of the warm-up, and those that failed; rounds without a draft; ids of tokens",
        recognise=lambda head: _RECORD.search(head) is not None and b'"metadata"' in head,
        read=read_profile,
    ),
    Importer(
        name="aiperf/summary",
        reads="profile_export_aiperf.json of AIPerf (0.13.0), with its pooled histogram",
        carries="rounds, proposed and accepted tokens, rounds by accepted tokens of all requests",
        lacks="output tokens; means over requests are compared, and not what they were taken of",
        recognise=lambda head: _POOLED.search(head) is not None,
        read=read_summary,
    ),
)
