"""vLLM: what a response says of the speculation of its request, in sum or round by round.

Source: vllm/v1/metrics/stats.py of 0.29.0 to 0.33.0 (`--per-request-spec-decode-metrics`, in sum or detailed; vllm#48915):
`metrics.speculative_decoding` of a response, in a stream of its last chunk. It counts what was verified before a stop is looked for; null stands
where n is above 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from specdiag.importers.fields import count, counts, no_count, number_text, record, text
from specdiag.importers.histogram import MOST_DRAFTS, FirstRounds, one_by_one
from specdiag.importers.identities import readings
from specdiag.importers.interface import DRAFTER, Found, Importer, Output, Trouble
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

WRAPPED = (
    ("response", "body"),
    ("response",),
    ("body",),
)  # a response as the batch runner, or a log of requests, writes it
_WITHIN = "metrics.speculative_decoding."
_NUMBERS = ("num_spec_steps", "num_accepted_draft_tokens", "num_draft_tokens")
_OURS = re.compile(rb'"speculative_decoding"\s*:\s*(?:null|\{)')
_COUNTED = re.compile(rb'"num_accepted_draft_tokens"')  # the other names are TensorRT-LLM's, too


def read(source: Source) -> Iterator[Output]:
    """A tally for each request; before it, where they are there, its rounds."""
    first = FirstRounds()
    for line, value in source.values():
        for response in _responses(value):
            found = record(record(response.get("metrics")).get("speculative_decoding"))
            if found:
                yield from _request(line, response, found, first)
    yield from first.told()


def _responses(value: Any) -> Iterator[dict[str, Any]]:
    """The responses in a value: itself, or what it wraps."""
    whole = record(value)
    if "metrics" in whole:
        yield whole
        return
    for path in WRAPPED:
        inner: Any = whole
        for name in path:
            inner = record(inner).get(name)
        if "metrics" in record(inner):
            yield record(inner)
            return


def _request(line: int, response: dict[str, Any], found: dict[str, Any], first: FirstRounds) -> Iterator[Output]:
    rounds, accepted, proposed = (count(found.get(name)) for name in _NUMBERS)
    if rounds is None or accepted is None or proposed is None:
        yield Trouble(line, "no_count", no_count(found, *_NUMBERS, within=_WITHIN))
        return
    histogram = counts(found.get("acceptance_histogram"))
    if histogram is None and found.get("acceptance_histogram") is not None:
        yield Trouble(line, "no_count", f"{_WITHIN}acceptance_histogram: expected a list of whole numbers from 0 on")
    event = TallyEvent(
        drafter=DRAFTER,
        window="request",
        request=text(response.get("id")) or f"line-{line}",
        requests=1,
        rounds=rounds,
        accepted=accepted,
        proposed=proposed,
        completion_tokens=count(record(response.get("usage")).get("completion_tokens")),
        max_draft_tokens=count(found.get("num_spec_tokens"))
        or (len(histogram) - 1 if histogram and len(histogram) > 1 else None),
        reached=[*accumulate(reversed(histogram[1:]))][::-1] if histogram else None,
        definitions="vllm",
        printed={
            name: digits
            for name in ("mean_acceptance_length", "draft_acceptance_rate")
            if (digits := number_text(found.get(name)))
        }
        or None,
    )
    steps = _steps(found)
    if steps is None and found.get("per_step_accepted") is not None:
        yield Trouble(
            line,
            "no_count",
            f"{_WITHIN}per_step_accepted, per_step_drafted: expected two lists of whole numbers, of one length",
        )
    usage = record(response.get("usage"))
    if usage.get("completion_tokens") is not None and event.completion_tokens is None:
        yield Trouble(line, "no_count", no_count(usage, "completion_tokens", within="usage."))
    wrong = _contradiction(event, histogram, steps)
    if wrong:
        yield Trouble(line, "not_counts", wrong)
        return
    said = [*readings(line, event)]
    if not any(trouble.code == "not_counts" for trouble in said):
        if steps:
            parts = one_by_one(event.request or "", DRAFTER, steps, event.completion_tokens, _ended(response))
            yield from (Found(line, part) for part in parts)
            first.add(line, steps, event.max_draft_tokens or 0)
        yield Found(line, event)
    yield from said


def _ended(response: dict[str, Any]) -> str:
    """Why the one choice of a response ended, if it says so."""
    choices = response.get("choices")
    return text(record(choices[0]).get("finish_reason")) or "" if isinstance(choices, list) and choices else ""


def _steps(found: dict[str, Any]) -> list[tuple[int, int]] | None:
    """(accepted, drafted) of each round; None where they are not there, or are no such list."""
    accepted, drafted = counts(found.get("per_step_accepted")), counts(found.get("per_step_drafted"))
    return [*zip(accepted, drafted, strict=True)] if accepted and drafted and len(accepted) == len(drafted) else None


def _contradiction(event: TallyEvent, histogram: list[int] | None, steps: list[tuple[int, int]] | None) -> str:
    """What of the request's record rules out what; nothing where it can be true."""
    if histogram:
        tokens = sum(number * length for length, number in enumerate(histogram))
        if sum(histogram) != event.rounds:
            return f"the histogram has {sum(histogram)} rounds, num_spec_steps {event.rounds}"
        if tokens != event.accepted:
            return f"the histogram has {tokens} accepted tokens, num_accepted_draft_tokens {event.accepted}"
    if steps:
        sums = len(steps), sum(accepted for accepted, _ in steps), sum(drafted for _, drafted in steps)
        if sums != (event.rounds, event.accepted, event.proposed):
            return f"round by round {sums[0]} rounds, {sums[1]} of {sums[2]} accepted; in all {event.rounds}, {event.accepted} of {event.proposed}"
        if any(accepted > drafted or drafted > MOST_DRAFTS for accepted, drafted in steps):
            return "a round accepted more than was drafted, or drafted too many to be one"
    return ""


IMPORTERS = (
    Importer(
        name="vllm/response",
        reads="responses with `metrics.speculative_decoding` (0.29.0 to 0.33.0; JSON, JSONL, a list, a stream of events, lines of the batch runner)",
        carries="rounds, proposed and accepted tokens, the histogram, output tokens of each request; if detailed, its rounds in order",
        lacks="rounds without a draft; ids of tokens; anything where n is above 1",
        recognise=lambda head: _OURS.search(head) is not None and _COUNTED.search(head) is not None,
        read=read,
    ),
)
