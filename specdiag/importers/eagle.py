"""EAGLE and Medusa: answers with the last index of the loop and the new tokens of each turn.

Source: EAGLE cb7e0841, eagle/evaluation/gen_ea_answer_vicuna.py, and Medusa, whose layout is the same: `idxs` counts from 0, so a turn has idx + 1
rounds; each appends its accepted drafts and one token of the verifier, and prefill appends none (SafeAILab/EAGLE#153, #160, #195).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from specdiag.importers.answers import Choice, Sum, choices
from specdiag.importers.fields import counts
from specdiag.importers.identities import told
from specdiag.importers.interface import Importer, Output, Trouble
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

_OURS = re.compile(rb'"idxs"\s*:\s*\[')
_STEPS = re.compile(rb'"accept_lengths"\s*:\s*\[')  # beside them: an older file of Spec-Bench


def read(source: Source) -> Iterator[Output]:
    """A tally for each turn."""
    total = Sum()
    for choice in choices(source):
        yield from _choice(choice, total)
    yield from total.told()


def _choice(choice: Choice, total: Sum) -> Iterator[Output]:
    last, tokens = counts(choice.fields.get("idxs")), counts(choice.fields.get("new_tokens"))
    if last is None or tokens is None or len(last) != len(tokens):
        yield Trouble(
            choice.line, "report_unreadable", f"idxs and new_tokens of {choice.name} are no two lists of one length"
        )
        return
    failed = choice.failed
    for turn, (index, new) in enumerate(zip(last, tokens, strict=True)):
        name = f"{choice.name}/{turn}"
        if turn in failed:
            yield Trouble(choice.line, "not_counts", f"turn {name} failed: the numbers of the turn before stand again")
            continue
        rounds = index + 1
        if new < rounds:
            yield Trouble(choice.line, "not_counts", f"{new} tokens from {rounds} rounds in turn {name}")
            continue
        event = TallyEvent(
            drafter=choice.model,
            window="request",
            request=name,
            requests=1,
            rounds=rounds,
            accepted=new - rounds,
            completion_tokens=new,
            definitions="eagle",
        )
        total.steps += rounds
        total.accepted += new - rounds
        yield from told(choice.line, event, prefill_token=False)


IMPORTERS = (
    Importer(
        name="eagle/answers",
        reads="answer files of EAGLE and Medusa (`idxs` and `new_tokens`)",
        carries="rounds, accepted and output tokens of each turn",
        lacks="proposed tokens, rounds by accepted tokens; `alpha` of older files",
        recognise=lambda head: _OURS.search(head) is not None and _STEPS.search(head) is None and b'"choices"' in head,
        read=read,
    ),
)
