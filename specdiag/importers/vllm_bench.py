"""vLLM: results of `vllm bench serve`, as JSON or as its block on the console, and what the offline example of speculation prints.

Source: vllm/benchmarks/serve.py of 0.14.1 to 0.33.0 (the difference of two scrapes of the server, so with its warm-up and whatever else was served;
the rate in percent, the rates by position as fractions, on the console in percent, too); examples/offline_inference/spec_decode.py (all of its run).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from specdiag.importers.fields import count, digits, number_text, record
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.rounded import bounds, fitted, may_be
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

MOST_POSITIONS = 1024
LONGEST = 400  # line of a console
NEAR = 1e-6  # a rate as a float, times the rounds, is this near to a whole number

_CONSOLE = {
    "Successful requests": "requests",
    "Total generated tokens": "output",
    "Acceptance rate (%)": "rate",
    "Acceptance length": "length",
    "Drafts": "rounds",
    "Draft tokens": "proposed",
    "Accepted tokens": "accepted",
    "total_num_output_tokens": "output",
    "num_drafts": "rounds",
    "num_draft_tokens": "proposed",
    "num_accepted_tokens": "accepted",
    "mean acceptance length": "length",
}
_BY_POSITION = ("Position", "acceptance at token")
_FIRST = ("requests", "output", "rate", "rounds")  # of a run: behind rates by position they are the next one's
_COUNTS = ("requests", "output", "rounds", "proposed", "accepted")
_NUMBER = re.compile(r"\d+\.\d\d", re.ASCII)
_AROUND = " \t\r>|`*"  # of a line that was pasted
_OURS = (
    (b'"spec_decode_num_drafts"', b'"spec_decode_accepted_tokens"'),
    (b"Acceptance rate (%):", b"Draft tokens:", b"Accepted tokens:"),
    (b"num_drafts:", b"num_draft_tokens:", b"num_accepted_tokens:", b"mean acceptance length:"),
)


def read(source: Source) -> Iterator[Output]:
    """One tally for each run."""
    yield from _json(source) if source.head().lstrip()[:1] in (b"{", b"[") else _console(source)


def _json(source: Source) -> Iterator[Output]:
    for line, value in source.values():
        fields = record(value)
        if not any(key.startswith("spec_decode_") for key in fields):
            continue
        rounds, accepted = count(fields.get("spec_decode_num_drafts")), count(fields.get("spec_decode_accepted_tokens"))
        rates = fields.get("spec_decode_per_position_acceptance_rates")
        rates = rates if isinstance(rates, list) and len(rates) <= MOST_POSITIONS else []
        rate, length = (number_text(fields.get(f"spec_decode_acceptance_{name}")) for name in ("rate", "length"))
        event = TallyEvent(
            drafter=DRAFTER,
            window="interval",
            rounds=rounds,
            accepted=accepted,
            proposed=count(fields.get("spec_decode_draft_tokens")),
            requests=count(fields.get("completed")),
            completion_tokens=count(fields.get("total_output_tokens")),
            max_draft_tokens=len(rates) or None,
            reached=_reached(rates, rounds),
            definitions="vllm",
            printed=_printed(f"{rate}%" if rate else None, length),
        )
        if rounds is None and accepted is None and event.proposed is None:
            yield Trouble(line, "report_unreadable", "spec_decode_num_drafts and its like are no counts")
            continue
        yield from told(line, event)


def _printed(rate: str | None, length: str | None) -> dict[str, str] | None:
    pairs = {"Draft acceptance rate": rate, "Mean acceptance length": length}
    return {name: text for name, text in pairs.items() if text} or None


def _reached(rates: list[Any], rounds: int | None) -> list[int] | None:
    """Rounds by position, of rates with all their digits; None where one of them is no share of so many rounds."""
    if rounds is None or not rates:
        return None
    products = [
        rate * rounds
        for rate in rates
        if isinstance(rate, int | float) and not isinstance(rate, bool) and 0 <= rate <= 1
    ]
    whole = [round(product) for product in products]
    near = all(
        abs(product - number) <= NEAR * max(1, rounds / 1e9) for product, number in zip(products, whole, strict=True)
    )
    return whole if near and len(whole) == len(rates) else None


@dataclass(slots=True)
class _Block:
    """What was read of one run."""

    line: int = 0
    percent: bool = False
    values: dict[str, str] = field(default_factory=dict)
    positions: list[str] = field(default_factory=list)

    @property
    def begun(self) -> bool:
        """Whether anything of speculation was read."""
        return bool(self.values.keys() - {"requests", "output", "length"} or self.positions)


def _console(source: Source) -> Iterator[Output]:
    block = _Block()
    for number, row in source.rows():
        if block.begun and row.strip(_AROUND).startswith("===="):
            yield from _run(block)
            block = _Block()
        key, colon, text = row.partition(":") if len(row) < LONGEST else (row, "", "")
        key, text = key.strip(_AROUND), text.strip(_AROUND)
        name = _CONSOLE.get(key) if colon else None
        if name is None and colon:
            base, _, position = key.rpartition(" ")
            if base in _BY_POSITION and block.begun and position == str(len(block.positions)):
                block.positions.append(text)
        if name is None:
            continue
        if name in block.values or (block.positions and name in _FIRST):
            yield from _run(block)
            block = _Block()
        if not block.begun:
            block.line = number
        block.values[name] = text
        block.percent |= name == "rate"
    yield from _run(block)


def _run(block: _Block) -> Iterator[Output]:
    if not block.begun:
        return
    event = _tally(block)
    if event is None:
        said = ", ".join(f"{name} {text}" for name, text in block.values.items())
        yield Trouble(block.line, "report_unreadable", said)
        return
    if block.positions and event.proposed and not _positions(event, block):
        yield Trouble(
            block.line, "report_unreadable", f"rates by position that fit no counts: {', '.join(block.positions)}"
        )
    yield from told(block.line, event)


def _tally(block: _Block) -> TallyEvent | None:
    """The tally of a run; None where it was cut off, or its figures cannot be of one run."""
    numbers = {name: digits(block.values[name]) for name in _COUNTS if name in block.values}
    accepted, proposed, rounds = numbers.get("accepted"), numbers.get("proposed"), numbers.get("rounds")
    if None in numbers.values() or accepted is None or proposed is None or accepted > proposed:
        return None
    rate, length = block.values.get("rate"), block.values.get("length")
    if any(text is not None and not _NUMBER.fullmatch(text) for text in (rate, length)):
        return None
    if rate is not None and not may_be(accepted, proposed, bounds(f"{rate}%")) and proposed:
        return None  # the last number may have lost its end
    event = TallyEvent(
        drafter=DRAFTER,
        window="interval",
        rounds=rounds,
        accepted=accepted,
        proposed=proposed,
        requests=numbers.get("requests"),
        completion_tokens=numbers.get("output"),
        definitions="vllm",
        printed=_printed(f"{rate}%" if rate else None, length),
    )
    if rounds and rate is None and length is not None and not may_be(accepted, rounds, bounds(length).less(1)):
        return None
    return event


def _positions(event: TallyEvent, block: _Block) -> bool:
    """Put the rounds by position into the tally, and all rounds where they are not there; whether the rates fit its counts."""
    if not all(_NUMBER.fullmatch(text) for text in block.positions):
        return False
    rates = [bounds(f"{text}%" if block.percent else text) for text in block.positions]
    length = block.values.get("length")
    per_round = bounds(length).less(1) if length else None
    found = fitted(event.accepted or 0, event.proposed or 0, rates, per_round, event.rounds)
    if found is None:
        return False
    event.max_draft_tokens = len(rates)
    event.rounds, event.reached, event.estimated = found.rounds, [*found.reached], found.estimated
    return True


IMPORTERS = (
    Importer(
        name="vllm/bench",
        reads="`vllm bench serve` (JSON, or its console; 0.14.1 to 0.33.0), and the console of the offline example of speculation",
        carries="rounds, proposed and accepted tokens; output tokens and requests; rounds by position, from the console as its rates leave them",
        lacks="rounds without a draft; which requests were warm-up; from the offline example requests",
        recognise=lambda head: any(all(part in head for part in parts) for parts in _OURS),
        read=read,
    ),
)
