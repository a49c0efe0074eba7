"""Forks of llama.cpp that write a JSON object for each round.

Source: okuvshynov/llama.cpp 778bdd6c (`--spec-log-file`, written by tools/server/server-context.cpp, with the ids of the drafted tokens) and
ikawrakow/ik_llama.cpp (`--log-format json --verbose`: the record `speculative decoding result` of examples/server/server-context.cpp, as its
server_log of 0bc69a1d writes it). Neither says where a request ends: one ends where the position of its slot falls, or its task changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from specdiag.importers.fields import LONGEST, count, record
from specdiag.importers.interface import Importer, Output, Trouble
from specdiag.importers.llama_rounds import UNKNOWN, one
from specdiag.importers.source import Source

RESULT = "speculative decoding result"
MOST_SLOTS = 4096


@dataclass(slots=True)
class _Slot:
    """Where a slot is: its request, the next round, and how far the sequence has come."""

    name: str
    task: int | None = None
    run: int = 1
    round: int = 0
    position: int = 0

    def begin(self, task: int | None = None) -> None:
        """Another request."""
        self.run += self.round > 0
        self.task, self.round, self.position = task, 0, 0

    @property
    def request(self) -> str:
        """Its name: slot, task if it is known, and how many requests the slot had."""
        return f"{self.name}{'' if self.task is None else f'/{self.task}'}#{self.run}"

    def moved(self, position: int) -> None:
        """The sequence has this many tokens: fewer than before are another one."""
        if self.round and position <= self.position:
            self.begin(self.task)
        self.position = position


class _Slots(dict[int, _Slot]):
    def of(self, number: int) -> _Slot:
        """The slot of this number."""
        if number not in self and len(self) >= MOST_SLOTS:
            self.pop(next(iter(self)))
        return self.setdefault(number, _Slot(str(number)))


def read_rounds(source: Source) -> Iterator[Output]:
    """`--spec-log-file`: one round a line."""
    slots = _Slots()
    for line, value in source.values():
        entry = record(value)
        draft, verify = record(entry.get("draft")), record(entry.get("verify"))
        if not draft or not verify:
            continue
        counts = [
            count(of.get(name))
            for of, name in ((entry, "slot_id"), (entry, "prompt_pos"), (draft, "n"), (verify, "n_accepted"))
        ]
        if None in counts:
            yield Trouble(line, "report_unreadable", "slot_id, prompt_pos, draft.n or verify.n_accepted is no count")
            continue
        number, position, proposed, accepted = (known or 0 for known in counts)
        refused, tokens = verify.get("rej_pos"), _ids(draft, proposed)
        # The draft that is logged is cut to what may still be put out: if all was accepted, that is what was proposed.
        proposed = accepted if refused == -1 else proposed
        if not 0 < proposed <= LONGEST or accepted > proposed or refused not in (-1, accepted) or refused == proposed:
            yield Trouble(line, "not_counts", f"{accepted} accepted of {proposed}, refused at {str(refused)[:20]}")
            continue
        slot = slots.of(number)
        slot.moved(position)
        follows = count(verify.get("target_id"))
        yield from one(
            line,
            slot.request,
            slot.round,
            position - accepted,
            accepted,
            tokens[:proposed],
            UNKNOWN if follows is None else follows,
        )
        slot.round += 1


def _ids(draft: dict[str, Any], proposed: int) -> list[int]:
    """The drafted tokens; unknown ones where they are not all there."""
    listed = draft.get("tokens")
    ids = [count(record(token).get("id")) for token in listed[:LONGEST]] if isinstance(listed, list) else []
    known = [number for number in ids if number is not None and number < 2**31]
    return known if len(known) == proposed else [UNKNOWN] * min(proposed, LONGEST)


def read_records(source: Source) -> Iterator[Output]:
    """The log of ik_llama.cpp: rounds among its other records, of which those of a slot name its task."""
    slots = _Slots()
    for line, value in source.values():
        entry = record(value)
        number, task = count(entry.get("id_slot")), count(entry.get("id_task"))
        if number is None:
            continue
        slot = slots.of(number)
        if task is not None and task != slot.task:
            slot.begin(task)
        if entry.get("msg") != RESULT:
            continue
        counts = [count(entry.get(name)) for name in ("accepted", "total", "new_n_past")]
        if None in counts:
            yield Trouble(line, "report_unreadable", "accepted, total or new_n_past is no count")
            continue
        accepted, proposed, position = (known or 0 for known in counts)
        if not 0 < proposed <= LONGEST or accepted > proposed:
            yield Trouble(line, "not_counts", f"{accepted} accepted of {proposed}")
            continue
        slot.moved(position)
        yield from one(line, slot.request, slot.round, position - accepted, accepted, [UNKNOWN] * proposed)
        slot.round += 1


_ROUND_ID, _VERIFY = re.compile(rb'"round_id"\s*:\s*\d'), re.compile(rb'"rej_pos"\s*:\s*-?\d')
_RECORD = re.compile(rb'"msg"\s*:\s*"speculative decoding result"')

IMPORTERS = (
    Importer(
        name="llama-cpp/spec-log",
        reads="the file of --spec-log-file in okuvshynov's fork of llama.cpp (778bdd6c)",
        carries="rounds, in order, with the ids of the drafted tokens and of the verifier's own",
        lacks="where requests end: a prompt that is longer than the last sequence of its slot continues that request; rounds without a draft",
        recognise=lambda head: _ROUND_ID.search(head) is not None and _VERIFY.search(head) is not None,
        read=read_rounds,
    ),
    Importer(
        name="llama-cpp/ik-log",
        reads="the log of llama-server of ik_llama.cpp with --log-format json --verbose (`speculative decoding result`)",
        carries="rounds, in order",
        lacks="ids of tokens; rounds without a draft",
        recognise=lambda head: _RECORD.search(head) is not None,
        read=read_records,
    ),
)
