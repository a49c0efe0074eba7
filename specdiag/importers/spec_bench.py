"""Spec-Bench: answers with the tokens that each step appended.

Source: Spec-Bench fd2c1cd7, evaluation/eval.py: `accept_lengths` has a + 1 for each step, over all turns of a choice. How many were drafted
stands nowhere, so there are no blocks. Steps without a draft have an entry of 1, too, and so has every step of the baseline. EAGLE and PLD take
tokens behind the end of the output off the last entry; other methods do not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from specdiag.importers.answers import Choice, Sum, choices
from specdiag.importers.fields import counts
from specdiag.importers.histogram import MOST_DRAFTS, accepted, reached
from specdiag.importers.identities import readings
from specdiag.importers.interface import Found, Importer, Output, Trouble
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

_OURS = re.compile(rb'"accept_lengths"\s*:\s*\[')


def read(source: Source) -> Iterator[Output]:
    """A tally for each choice of each question."""
    total = Sum()
    for choice in choices(source):
        yield from _choice(choice, total)
    yield from total.told()


def _choice(choice: Choice, total: Sum) -> Iterator[Output]:
    lengths = counts(choice.fields.get("accept_lengths"))
    if lengths is None or max(lengths, default=0) > MOST_DRAFTS:
        yield Trouble(choice.line, "report_unreadable", f"accept_lengths of {choice.name} is no list of steps")
        return
    if choice.failed:
        turns = ", ".join(str(i + 1) for i in choice.failed)
        yield Trouble(
            choice.line, "not_counts", f"turn {turns} of {choice.name} failed: the steps of the turn before stand again"
        )
        return
    if not lengths:
        return
    rounds = Counter(max(length - 1, 0) for length in lengths)
    tokens = counts(choice.fields.get("new_tokens"))
    event = TallyEvent(
        drafter=choice.model,
        window="request",
        request=choice.name,
        requests=1,
        rounds=len(lengths),
        accepted=accepted(rounds),
        completion_tokens=sum(tokens) if tokens else None,
        reached=reached(rounds),
        definitions="spec-bench",
    )
    total.steps += len(lengths)
    total.accepted += accepted(rounds)
    yield Found(choice.line, event)
    surplus = (event.completion_tokens or 0) - sum(max(length, 1) for length in lengths)
    for trouble in readings(choice.line, event, prefill_token=False):
        # Rounds without a draft have an entry here: a token more in each turn is that of prefill, more are no steps of this question.
        if trouble.code != "rounds_without_draft" or surplus > len(tokens or []):
            yield trouble


IMPORTERS = (
    Importer(
        name="spec-bench/answers",
        reads="answer files of Spec-Bench (`accept_lengths`)",
        carries="rounds, accepted tokens, rounds by accepted tokens, output tokens of each question",
        lacks="proposed tokens; rounds without a draft count as rounds; questions with a turn that failed are left out",
        recognise=lambda head: _OURS.search(head) is not None and b'"choices"' in head,
        read=read,
    ),
)
