"""vLLM: what the server's `/metrics` endpoint says of speculation, one scrape or several behind each other.

Source: vllm/v1/spec_decode/metrics.py of 0.8.5 to 0.33.0 (counters of rounds, drafts, and accepted drafts, in all and by position);
vllm/engine/metrics.py of 0.8.5 for V0, whose counters are raised by their own running total at every tick: of V0 only the gauges say anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Found, Importer, Output, Trouble
from specdiag.importers.prometheus import Sample, scrapes, whole_number
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

PREFIX = "vllm:spec_decode_"
ROUNDS, PROPOSED, ACCEPTED, REACHED = (
    "num_drafts",
    "num_draft_tokens",
    "num_accepted_tokens",
    "num_accepted_tokens_per_pos",
)
EMITTED = "num_emitted_tokens"  # of V0 alone
GAUGES = {"draft_acceptance_rate": "Draft acceptance rate", "efficiency": "System efficiency"}
MOST_ENGINES = 4096

_OURS = re.compile(
    rb"^vllm:spec_decode_(?:num_(?:drafts|draft_tokens|emitted_tokens)|draft_acceptance_rate|efficiency)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class _Counters:
    """The counters of one engine in one scrape."""

    line: int
    rounds: int | None
    proposed: int | None
    accepted: int | None
    reached: tuple[int, ...] | None

    def less(self, before: _Counters) -> _Counters | None:
        """What was added since an earlier scrape; None where a counter fell."""
        pairs = [(self.rounds, before.rounds), (self.proposed, before.proposed), (self.accepted, before.accepted)]
        pairs += zip(self.reached or (), before.reached or (), strict=False)
        if any(now is not None and then is not None and now < then for now, then in pairs):
            return None
        rounds, proposed, accepted, *reached = (
            None if now is None or then is None else now - then for now, then in pairs
        )
        known = tuple(number for number in reached if number is not None)
        same = self.reached is not None and before.reached is not None and len(self.reached) == len(before.reached)
        return _Counters(self.line, rounds, proposed, accepted, known if same else None)


def read(source: Source) -> Iterator[Output]:
    """For each engine what was added from scrape to scrape; of a single scrape all since the start."""
    last: dict[str, tuple[_Counters, str, bool]] = {}  # of each engine, its drafter, and whether it was told already
    models = _Models()
    refused = False
    for scrape in scrapes(source, PREFIX):
        engines = _engines(scrape.samples)
        models.seen(engines)
        for engine, samples in engines.items():
            if EMITTED in samples or (samples.keys() & GAUGES.keys() and ROUNDS not in samples):
                yield from _v0(engine, samples, refused)
                refused = refused or EMITTED in samples
                continue
            now = _counters(samples)
            if now is None:
                continue
            if REACHED in samples and now.reached is None:
                yield Trouble(now.line, "no_count", f"{REACHED}: expected positions 0, 1, 2, … with whole numbers")
            before = last.get(engine)
            if before is not None:
                added = now.less(before[0])
                if added is None:
                    yield Trouble(
                        now.line,
                        "counter_reset",
                        f"{engine or 'the engine'}: {before[0].proposed} drafts before, {now.proposed} now",
                    )
                yield from told(now.line, _tally(engine, models.drafter(samples), added or now, "interval"))
            if before is not None or len(last) < MOST_ENGINES:
                last[engine] = now, models.drafter(samples), before is not None
    for engine, (only, drafter, is_told) in last.items():
        if not is_told:
            yield from told(only.line, _tally(engine, drafter, only, "lifetime"))


@dataclass(slots=True)
class _Models:
    """Names for drafters: that of one model's needs none, those of several are no one drafter."""

    several: bool = False

    def seen(self, engines: dict[str, dict[str, list[Sample]]]) -> None:
        """The models of one scrape."""
        self.several = self.several or len(set(map(_model, engines.values()))) > 1

    def drafter(self, samples: dict[str, list[Sample]]) -> str:
        """The name of the drafter of these samples."""
        return f"{DRAFTER} of {_model(samples)}" if self.several else DRAFTER


def _model(samples: dict[str, list[Sample]]) -> str:
    return next(iter(samples.values()))[0].labels.get("model_name", "")


def _engines(samples: dict[str, list[Sample]]) -> dict[str, dict[str, list[Sample]]]:
    """The samples by engine (every label but the position), by their names without prefix and suffix."""
    parts: dict[str, dict[str, list[Sample]]] = {}
    for name, found in samples.items():
        for sample in found:
            engine = ", ".join(f"{key} {value}" for key, value in sorted(sample.labels.items()) if key != "position")
            parts.setdefault(engine, {}).setdefault(name.removeprefix(PREFIX).removesuffix("_total"), []).append(sample)
    return parts


def _counters(samples: dict[str, list[Sample]]) -> _Counters | None:
    found = [sample for name in (ROUNDS, PROPOSED, ACCEPTED) for sample in samples.get(name, [])]
    if not found:
        return None
    numbers = {
        name: whole_number(samples[name][-1].value) if name in samples else None
        for name in (ROUNDS, PROPOSED, ACCEPTED)
    }
    by_position = {sample.labels.get("position", ""): whole_number(sample.value) for sample in samples.get(REACHED, [])}
    reached = [by_position.get(str(position)) for position in range(len(by_position))]
    whole = tuple(number for number in reached if number is not None)
    return _Counters(
        min(sample.line for sample in found),
        numbers[ROUNDS],
        numbers[PROPOSED],
        numbers[ACCEPTED],
        whole if whole and len(whole) == len(reached) else None,
    )


def _tally(engine: str, drafter: str, counters: _Counters, window: str) -> TallyEvent:
    return TallyEvent(
        drafter=drafter,
        window="lifetime" if window == "lifetime" else "interval",
        source=engine or None,
        rounds=counters.rounds,
        proposed=counters.proposed,
        accepted=counters.accepted,
        reached=None if counters.reached is None else [*counters.reached],
        max_draft_tokens=len(counters.reached) if counters.reached else None,  # there is a counter for each position
        definitions="vllm",
    )


def _v0(engine: str, samples: dict[str, list[Sample]], refused: bool) -> Iterator[Output]:
    """The gauges of V0, as printed; its counters are no counts."""
    line = min(sample.line for found in samples.values() for sample in found)
    if EMITTED in samples and not refused:
        yield Trouble(
            line,
            "not_counts",
            "vLLM V0 adds its running totals up again at every tick: these counters are too large, and only its gauges (and its log) are usable",
        )
    printed = {GAUGES[name]: repr(found[-1].value) for name, found in samples.items() if name in GAUGES}
    if printed:
        yield Found(
            line,
            TallyEvent(
                drafter=DRAFTER, window="lifetime", source=engine or None, definitions="vllm-v0", printed=printed
            ),
        )


IMPORTERS = (
    Importer(
        name="vllm/metrics",
        reads="the text of the `/metrics` endpoint, one scrape or several (V1: 0.8.5 to 0.33.0; of V0 the gauges)",
        carries="rounds, proposed and accepted tokens, rounds by position, of each engine; the difference of two scrapes is what lies between them",
        lacks="output tokens; rounds without a draft; requests",
        recognise=lambda head: _OURS.search(head) is not None,
        read=read,
    ),
)
