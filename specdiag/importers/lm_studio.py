"""LM Studio: the statistics of a prediction.

Source: LLMPredictionStats of lmstudio-js 6ec11db1 (camel case), and answers of the REST interface as users pasted them (snake case, under
`stats`, later under `usage`). Total = accepted + rejected + ignored; ignored drafts were never given to the verifier, so they are not
proposed ones here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from specdiag.importers.fields import count, record, text
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.nested import holders
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent


class Spelling(NamedTuple):
    """The names of the fields in one of the interfaces."""

    accepted: str
    rejected: str
    ignored: str
    total: str
    drafter: str
    output: str


CAMEL = Spelling(
    "acceptedDraftTokensCount",
    "rejectedDraftTokensCount",
    "ignoredDraftTokensCount",
    "totalDraftTokensCount",
    "usedDraftModelKey",
    "predictedTokensCount",
)
SNAKE = Spelling(
    "accepted_draft_tokens_count",
    "rejected_draft_tokens_count",
    "ignored_draft_tokens_count",
    "total_draft_tokens_count",
    "draft_model",
    "completion_tokens",
)


def read(source: Source) -> Iterator[Output]:
    """One prediction for each object with the counts."""
    for line, value in source.values():
        answer = record(value)
        for spelling in (CAMEL, SNAKE):
            for stats in holders(value, spelling.accepted):
                yield from _prediction(line, answer, stats, spelling)


def _prediction(line: int, answer: dict[str, Any], stats: dict[str, Any], names: Spelling) -> Iterator[Output]:
    accepted, rejected, ignored, total = (count(stats.get(name)) for name in names[:4])
    left_over = None if total is None or accepted is None else total - accepted - (ignored or 0)
    if rejected is None and ignored is not None:
        rejected = left_over
    if accepted is None or (rejected is not None and left_over not in (None, rejected) and ignored is not None):
        yield Trouble(
            line, "not_counts", f"{total} drafted, {accepted} accepted, {rejected} rejected, {ignored} ignored"
        )
        return
    usage = record(answer.get("usage"))
    output = count(stats.get(names.output, usage.get("completion_tokens")))
    drafter = text(stats.get(names.drafter)) or text(record(answer.get("stats")).get(names.drafter))
    yield from told(
        line,
        TallyEvent(
            drafter=drafter or DRAFTER,
            window="request",
            request=text(answer.get("id")),
            requests=1,
            accepted=accepted,
            proposed=accepted + rejected if rejected is not None and rejected >= 0 else None,
            completion_tokens=output,
            definitions="lm-studio",
        ),
    )


IMPORTERS = (
    Importer(
        name="lm-studio/stats",
        reads="predictions of the SDKs of LM Studio, or answers of its REST interface (`acceptedDraftTokensCount`, `accepted_draft_tokens_count`)",
        carries="accepted and proposed tokens, the drafter, output tokens of each request",
        lacks="rounds, so no acceptance length",
        recognise=lambda head: any(f'"{names.accepted}"'.encode() in head for names in (CAMEL, SNAKE)),
        read=read,
    ),
)
