"""mlx-vlm: the `timings` of its server's answers.

Source: mlx-vlm#1788 (the fields; a sample of 30 rounds, 90 drafted, 81 accepted, 111 tokens) and #2324 (what they count). Rounds are those
of the batch, so they are a request's own as long as it ran alone. They are counted before the end of the output is looked for: accepted
tokens behind it are among them. llama.cpp's `timings` have `draft_n` and `draft_n_accepted`, too, but no `draft_rounds`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from specdiag.importers.fields import count, record, text
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.nested import holders
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent


def read(source: Source) -> Iterator[Output]:
    """One request for each answer. Of the pieces of a streamed one, which share an id, the last timings stand for all."""
    held: tuple[int, TallyEvent] | None = None
    for line, value in source.values():
        for answer in holders(value, "timings"):
            timings = record(answer["timings"])
            if timings.get("draft_rounds") is None:
                continue
            event = _tally(answer, timings)
            if event is None:
                yield Trouble(line, "not_counts", repr({name: timings.get(name) for name in _NAMES})[:160])
                continue
            if held is not None and not (event.request and event.request == held[1].request):
                yield from _said(*held)
            held = (line, event)
    if held is not None:
        yield from _said(*held)


_NAMES = ("draft_rounds", "draft_n", "draft_n_accepted")


def _tally(answer: dict[str, Any], timings: dict[str, Any]) -> TallyEvent | None:
    rounds, proposed, accepted = (count(timings.get(name)) for name in _NAMES)
    if rounds is None or proposed is None or accepted is None:
        return None
    usage = record(answer.get("usage"))
    output = timings.get("predicted_n", usage.get("completion_tokens", usage.get("output_tokens")))
    return TallyEvent(
        drafter=text(timings.get("draft_kind")) or DRAFTER,
        window="request",
        request=text(answer.get("id")),
        requests=1,
        rounds=rounds,
        proposed=proposed,
        accepted=accepted,
        completion_tokens=count(output),
        max_draft_tokens=proposed // rounds if rounds and proposed % rounds == 0 else None,
        # Documented is that prefill gives a token; in the sample of #1788 the output is accepted tokens and rounds alone.
        definitions="mlx-vlm-1788" if count(output) == accepted + rounds else "mlx-vlm",
    )


def _said(line: int, event: TallyEvent) -> Iterator[Output]:
    yield from told(line, event, prefill_token=event.definitions == "mlx-vlm")


IMPORTERS = (
    Importer(
        name="mlx-vlm/response",
        reads="answers of the server of mlx-vlm (`timings` with `draft_rounds`)",
        carries="rounds, accepted and proposed tokens, output tokens of each request",
        lacks="rounds by position; which request a round was of, where several ran at once",
        recognise=lambda head: b'"draft_rounds"' in head,
        read=read,
    ),
)
