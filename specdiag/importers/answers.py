"""Answer files of MT-Bench, which Spec-Bench, EAGLE and Medusa write: one question a line, with one choice or several, of one turn or several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from specdiag.importers.fields import number_text, record, text
from specdiag.importers.interface import DRAFTER, Output, Trouble
from specdiag.importers.source import Source

ERROR = "ERROR"  # the answer that stands where a turn ended in a RuntimeError; its numbers are those of the turn before
BASELINE = 30  # steps from which on a file without any accepted draft is worth a word


class Choice(NamedTuple):
    """One choice of one question: its line, its name, and `model_id`, which names verifier and method."""

    line: int
    name: str
    model: str
    fields: dict[str, Any]

    @property
    def failed(self) -> list[int]:
        """The turns that ended in an error, from 0."""
        turns = self.fields.get("turns")
        return [i for i, turn in enumerate(turns) if turn == ERROR] if isinstance(turns, list) else []


@dataclass(slots=True)
class Sum:
    """Steps of a file, and drafts accepted in them."""

    steps: int = 0
    accepted: int = 0

    def told(self) -> Iterator[Output]:
        """A word on a file in which every step gave one token: this is how a run without a drafter is written."""
        if self.steps >= BASELINE and not self.accepted:
            yield Trouble(1, "no_drafter", f"{self.steps} steps, {self.steps} tokens")


def choices(source: Source) -> Iterator[Choice]:
    """Every choice of every question."""
    for line, value in source.values():
        answer = record(value)
        question = text(answer.get("question_id")) or number_text(answer.get("question_id")) or f"line-{line}"
        found = answer.get("choices")
        listed = found if isinstance(found, list) else []
        for number, choice in enumerate(listed):
            name = question if len(listed) == 1 else f"{question}/{number}"
            yield Choice(line, name, text(answer.get("model_id")) or DRAFTER, record(choice))
