"""llama.cpp: the `timings` of llama-server's answers, and the result file of its SPEED-Bench client.

Source: llama.cpp#12603 (`draft_n`, `draft_n_accepted`; they stand there only where something was drafted), llama.cpp#14104 (drafts that were made and
not verified are no longer in `draft_n`), tools/server/server-task.cpp of llama-cpp-python 0.3.36, tools/server/bench/speed-bench. `predicted_n` is G.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from specdiag.importers.fields import count, no_count, number_text, record, text
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent


def read(source: Source) -> Iterator[Output]:
    """One request an answer. Of an answer that was streamed, with timings in every piece of it, the last piece counts."""
    for line, value in source.values():
        answer = record(value)
        timings = record(answer.get("timings"))
        if not timings or _goes_on(answer):
            continue
        accepted, proposed = count(timings.get("draft_n_accepted")), count(timings.get("draft_n"))
        if not timings.keys() & {"draft_n", "draft_n_accepted"}:
            continue  # nothing was drafted, or nothing was to be
        if proposed is None or accepted is None:
            yield Trouble(line, "no_count", no_count(timings, "draft_n", "draft_n_accepted", within="timings."))
            continue
        name = text(answer.get("id")) or f"line-{line}"
        yield from told(line, _request(name, accepted, proposed, count(timings.get("predicted_n"))))


def _goes_on(answer: dict[str, Any]) -> bool:
    """Whether more of this answer follows: a piece in llama-server's own format says so, one in OpenAI's does not say why it ended."""
    choices = _list(answer.get("choices"))
    return answer.get("stop") is False or (
        bool(choices) and all(record(c).get("finish_reason") is None for c in choices)
    )


def _request(name: str, accepted: int, proposed: int, output: int | None) -> TallyEvent:
    return TallyEvent(
        drafter=DRAFTER,
        window="request",
        request=name,
        requests=1,
        accepted=accepted,
        proposed=proposed,
        completion_tokens=output,
        definitions="llama-cpp",
    )


def read_bench(source: Source) -> Iterator[Output]:
    """One request a result. The rows of the summary are sums of these: where they are not, it is said."""
    for line, value in source.values():
        file = record(value)
        sums: dict[str, list[int]] = {}
        for number, result in enumerate(_list(file.get("results"))):
            event = _result(record(result), f"result-{number}")
            if event is None:
                continue
            for category in ("overall", text(record(result).get("category")) or ""):
                total = sums.setdefault(category, [0, 0])
                total[0] += event.accepted or 0
                total[1] += event.proposed or 0
            yield from told(line, event)
        for row in map(record, _list(file.get("summary"))):
            yield from _row(line, row, sums)


def _result(result: dict[str, Any], name: str) -> TallyEvent | None:
    accepted, proposed = count(result.get("draft_n_accepted")), count(result.get("draft_n"))
    if accepted is None or not proposed or result.get("ok") is not True:  # the client writes 0 where nothing is known
        return None
    event = _request(text(result.get("id")) or name, accepted, proposed, count(result.get("completion_tokens")))
    event.requests = count(result.get("turns"))
    return event


def _row(line: int, row: dict[str, Any], sums: dict[str, list[int]]) -> Iterator[Output]:
    category, accepted, proposed = text(row.get("category")), count(row.get("accepted")), count(row.get("draft_n"))
    if category not in sums or accepted is None or proposed is None:
        return
    if [accepted, proposed] != sums[category]:
        given = "{} / {}".format(*sums[category])
        rate = number_text(row.get("accept_rate"))
        yield Trouble(
            line,
            "printed_differs",
            f"{category}: {accepted} / {proposed} ({rate}) in the summary, {given} by its results",
        )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


_OTHERS = re.compile(rb'"draft_kind"|"draft_rounds"')
_TIMINGS = re.compile(rb'"timings"\s*:\s*\{')
_COUNTS = re.compile(rb'"draft_n"\s*:\s*\d+')


def recognise(head: bytes) -> bool:
    """Timings with drafts, which mlx-vlm writes under more names."""
    return bool(_COUNTS.search(head) and _TIMINGS.search(head) and not _OTHERS.search(head))


def recognise_bench(head: bytes) -> bool:
    """The client's own words beside the draft counts."""
    return bool(
        _COUNTS.search(head) and not _TIMINGS.search(head) and b'"draft_n_accepted"' in head and b'"latency_s"' in head
    )


IMPORTERS = (
    Importer(
        name="llama-cpp/response",
        reads="answers of llama-server (`timings` with `draft_n`, `draft_n_accepted`, `predicted_n`), one a line, in a list, or streamed",
        carries="accepted, proposed and output tokens of each request",
        lacks="rounds, so no acceptance length; which implementation the drafts came from; before llama.cpp#14104 `draft_n` has drafts that were "
        "never verified",
        recognise=recognise,
        read=read,
    ),
    Importer(
        name="llama-cpp/speed-bench",
        reads="the result file of the SPEED-Bench client of llama.cpp (`--output`)",
        carries="accepted, proposed and output tokens of each sample",
        lacks="rounds; samples without a draft, which are written as 0",
        recognise=recognise_bench,
        read=read_bench,
    ),
)
