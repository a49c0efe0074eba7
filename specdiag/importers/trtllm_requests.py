"""TensorRT-LLM: the counts of a request: `request_perf_metrics`, records of `/perf_metrics`, or the proposed payload of a choice.

Source: tensorrt_llm/serve (records of performance metrics) as of September 2026, not pinned to a release; pull requests #17082 (until then the
PyTorch flow left the counts at zero) and #19311 (open; rounds and a histogram on each choice); thread aiperf#1433.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from specdiag.importers.fields import count, counts, number_text, record, text
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.nested import Enclosed, enclosed
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

PROPOSED, ACCEPTED, ROUNDS = "total_draft_tokens", "total_accepted_draft_tokens", "num_spec_steps"

_OURS = re.compile(rb'"speculative_decoding"\s*:\s*\{')


def read(source: Source) -> Iterator[Output]:
    """A tally for each request, or each choice of one."""
    empty = False
    for line, value in source.values():
        found = [one for one in enclosed(value, PROPOSED) if ACCEPTED in one.record]
        for number, one in enumerate(found):
            if count(one.record.get(PROPOSED)) == 0 and not one.record.get(ACCEPTED):
                if not empty:
                    yield Trouble(
                        line, "not_counts", "0 of 0: the PyTorch flow left these counts at zero until August 2026"
                    )
                empty = True
                continue
            yield from _request(line, one, alone=len(found) == 1, suffix="" if len(found) == 1 else f"/{number}")


def _request(line: int, found: Enclosed, *, alone: bool, suffix: str) -> Iterator[Output]:
    """The tally of one record. `alone`: whether `usage` of the response is of this choice only."""
    own = found.record
    proposed, accepted, rounds = (count(own.get(name)) for name in (PROPOSED, ACCEPTED, ROUNDS))
    if proposed is None or accepted is None:
        yield Trouble(line, "report_unreadable", f"{PROPOSED} or {ACCEPTED} is no count")
        return
    histogram = counts(own.get("acceptance_histogram"))
    event = TallyEvent(
        drafter=DRAFTER,
        window="request",
        request=f"{_name(found) or f'line-{line}'}{suffix}",
        requests=1,
        rounds=rounds,
        proposed=proposed,
        accepted=accepted,
        completion_tokens=count(record(found.value("usage")).get("completion_tokens")) if alone else None,
        max_draft_tokens=count(own.get("num_spec_tokens")),  # absent where the length follows the batch
        reached=[*accumulate(reversed(histogram[1:]))][::-1] if histogram else None,
        definitions="trtllm",
        printed=_printed(found),
    )
    wrong = _contradiction(event, histogram)
    if wrong:
        yield Trouble(line, "not_counts", wrong)
    else:
        yield from told(line, event)


def _name(found: Enclosed) -> str | None:
    """The id of a request; records of `/perf_metrics` have a number."""
    for key in ("id", "request_id"):
        value = found.value(key)
        number = count(value)
        if number is not None or text(value):
            return str(number) if number is not None else text(value)
    return None


def _printed(found: Enclosed) -> dict[str, str] | None:
    rate, per_iteration = found.record.get("acceptance_rate"), found.value("avg_decoded_tokens_per_iter")
    values = {"acceptance_rate": number_text(rate), "avg_decoded_tokens_per_iter": number_text(per_iteration)}
    return {name: digits for name, digits in values.items() if digits} or None


def _contradiction(event: TallyEvent, histogram: list[int] | None) -> str:
    if not histogram:
        return ""
    rounds, accepted = sum(histogram), sum(number * length for length, number in enumerate(histogram))
    if event.rounds is not None and rounds != event.rounds:
        return f"the histogram has {rounds} rounds, {ROUNDS} {event.rounds}"
    if accepted != event.accepted:
        return f"the histogram has {accepted} accepted tokens, {ACCEPTED} {event.accepted}"
    return ""


def _recognise(head: bytes) -> bool:
    return _OURS.search(head) is not None and f'"{ACCEPTED}"'.encode() in head and f'"{PROPOSED}"'.encode() in head


IMPORTERS = (
    Importer(
        name="trtllm/response",
        reads="`request_perf_metrics`, records of `/perf_metrics`, responses whose choices have `speculative_decoding` (JSON, JSONL, a list)",
        carries="proposed and accepted tokens of each request; with the payload of pull request #19311 rounds and rounds by accepted tokens",
        lacks="rounds, in all but that payload; all counts of the PyTorch flow before August 2026, which are zero",
        recognise=_recognise,
        read=read,
    ),
)
