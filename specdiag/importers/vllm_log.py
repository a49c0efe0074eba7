"""vLLM: the lines that the server writes of speculation every ten seconds (V1), or of all of it since the start (V0).

Source: vllm/v1/spec_decode/metrics.py of 0.8.4 (a rate and two counts), 0.8.5, 0.9.0 to 0.10.0 (the same text, another mean length) and 0.10.2 to
0.33.0; vllm/engine/metrics.py of 0.6.3 to 0.8.5 (V0), and its variant of mid-2024; vllm/v1/metrics/loggers.py, which writes the line of an engine's
throughput before it. A V1 line has A and D as counts; R and the S_i are the whole numbers that its rates leave (see rounded.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from specdiag.importers.fields import digits
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.layout import layout, numbers, whole
from specdiag.importers.rounded import Bounds, Rounds, bounds, fitted, may_be
from specdiag.importers.source import Sighting, Source, broken
from specdiag.trace.events import TallyEvent

V1, V0, ENGINE = "SpecDecoding metrics: ", "Speculative metrics: ", "Avg prompt throughput: "

LINE_084 = layout(
    "Draft acceptance rate: <rate:f1|nan>%, Accepted: <accepted:int> tokens, Drafted: <proposed:int> tokens"
)
LINE_085 = layout(
    "Draft acceptance rate: <rate:f1|nan>%, Mean acceptance length: <length:f2|nan>, Accepted: <accepted:int> tokens, "
    "Drafted: <proposed:int> tokens, Per-position acceptance rate: <rates:f3|nans>"
)
LINE = layout(
    "Mean acceptance length: <length:f2|nan>, {?Current speculative depth: <depth:int>, ?}"
    "Accepted throughput: <accepting:f2> tokens/s, Drafted throughput: <drafting:f2> tokens/s, Accepted: <accepted:int> tokens, "
    "Drafted: <proposed:int> tokens, Per-position acceptance rate: <rates:f3|nans>, Avg Draft acceptance rate: <rate:f1|nan>%"
)
LINE_V0 = layout(
    "Draft acceptance rate: <rate:f3|nan>, System efficiency: <efficiency:f3|nan>, Number of speculative tokens: <most:int>, "
    "Number of accepted tokens: <matched:int>, Number of draft tokens{? tokens?}: <proposed:int>, "
    "Number of emitted tokens{? tokens?}: <emitted:int>"
)

_PROCESS = re.compile(r"\(([A-Za-z]\w*)[^()]*\bpid=(\d+)[^()]*\)")
_ENGINE = re.compile(r"\bEngine (\d+): *$|\b(\d+) Engines Aggregated: *$")
_OURS = re.compile(
    broken("SpecDecoding metrics:")
    + rb"\s*(?:%s\s*(?:\d[\d\s]*\.\s*\d\s*|nan\s*)%%|%s)"
    % (broken("Draft acceptance rate:"), broken("Mean acceptance length:"))
)
_OURS_V0 = re.compile(rb"Speculative\s*metrics:\s*Draft\s*acceptance\s*rate:")
_ALL = "all engines"
MOST_SOURCES = 4096  # that are told apart


@dataclass(slots=True)
class _Log:
    """What earlier lines say of the next one: by process the engine whose throughput was written last, and which of the two loggers is read; by
    source how many rates a line has; and what was said of the two meanings of one layout."""

    engines: dict[str, str] = field(default_factory=dict)
    positions: dict[str, int] = field(default_factory=dict)
    loggers: dict[str, bool] = field(default_factory=dict)
    said: set[str] = field(default_factory=set)
    open_at: int = 0


def read(source: Source) -> Iterator[Output]:
    """One tally a line: an interval (V1), or all since the start (V0)."""
    log = _Log()
    for seen in source.sightings(V1, V0, ENGINE):
        if seen.marker == ENGINE:
            _engine(seen, log)
        elif seen.marker == V0:
            yield from _v0(seen)
        else:
            yield from _v1(seen, log)
    if log.open_at and not log.said & {"vllm", "vllm-0.8.5"}:
        yield Trouble(log.open_at, "definition_open", "vLLM 0.8.5 prints A / R, later releases 1 + A / R")


def _engine(seen: Sighting, log: _Log) -> None:
    found = _ENGINE.search(seen.before)
    if found and len(log.engines) < MOST_SOURCES:
        log.engines[_process(seen.before)[1]] = f"engine {int(found[1])}" if found[1] else _ALL


def _process(before: str) -> tuple[str, str]:
    """The name of the process that wrote a line, and the name with its number."""
    found = [*_PROCESS.finditer(before)]
    return (found[-1][1], f"{found[-1][1]} {found[-1][2]}") if found else ("", "")


def _v1(seen: Sighting, log: _Log) -> Iterator[Output]:
    found = whole(LINE, seen.text)
    older = None if found else whole(LINE_085, seen.text) or whole(LINE_084, seen.text)
    line = found or older
    event, why = _interval(line, older is not None) if line else (None, "")
    if event is None:
        yield Trouble(seen.line, "report_unreadable", f"{seen.text.partition(chr(10))[0]}{why and f': {why}'}")
        return
    name, process = _process(seen.before)
    engine = log.engines.get(process, "")
    event.source = ", ".join(part for part in (name, engine) if part) or None
    if not _as_many(event, log):
        yield Trouble(
            seen.line, "report_unreadable", f"{event.max_draft_tokens} rates, where earlier lines have another number"
        )
        return
    if engine and log.loggers.setdefault(process, engine == _ALL) != (engine == _ALL):
        if "twice" not in log.said:
            yield Trouble(
                seen.line, "ranks_agree", "a line of all engines, and a line of each: the kind that came first counts"
            )
        log.said.add("twice")
        return
    if line is older and line is not None and line.re is LINE_085:
        yield from _definition(seen.line, event, log)
    yield from told(seen.line, event)


def _as_many(event: TallyEvent, log: _Log) -> bool:
    """Whether a line has as many rates as those before it, or as its own drafts ask for. Of two lines that became one, rates of zero may be left
    over, which nothing else in it tells."""
    most, source = event.max_draft_tokens, event.source or ""
    if not most or not event.rounds:
        return True
    before = log.positions.get(source, most)
    if most != before and event.proposed != event.rounds * most and event.proposed == event.rounds * before:
        return False
    if len(log.positions) < MOST_SOURCES or source in log.positions:
        log.positions[source] = most
    return True


def _interval(line: re.Match[str], either: bool) -> tuple[TallyEvent | None, str]:
    """The tally of a V1 line; None, and why, where its figures cannot be of one window. `either`: the mean length may be with or without 1."""
    accepted, proposed = digits(line["accepted"]), digits(line["proposed"])
    if accepted is None or proposed is None or accepted > proposed:
        return None, "no counts"
    rate = f"{line['rate']}%"
    other = bool(proposed) and (rate == "nan%" or not may_be(accepted, proposed, bounds(rate)))
    unlike = f"{accepted} of {proposed} is not {rate}"
    if other and line.re is LINE_084:
        return None, unlike
    event = TallyEvent(
        drafter=DRAFTER,
        window="interval",
        accepted=accepted,
        proposed=proposed,
        definitions="vllm",
        printed={"Draft acceptance rate": rate},
    )
    if line.re is LINE_084:
        return event, ""
    rates = numbers(line["rates"])
    event.max_draft_tokens = len(rates)
    event.printed = {"Draft acceptance rate": rate, "Mean acceptance length": line["length"]}
    if "nan" in line["length"] or any("nan" in text for text in rates):
        return (None, "nan beside counts") if proposed else (event, "")
    if (
        not proposed
    ):  # every draft of the window was taken out before it was judged: how many rounds there were is not said
        return event, ""
    definitions, rounds = _rounds(accepted, proposed, [bounds(text) for text in rates], bounds(line["length"]), either)
    if rounds is None:
        return None, "no number of rounds gives these rates"
    # Where length, rates and full blocks agree on the counts, the percentage is of another definition, not of another line.
    if other and (rounds.estimated or rounds.rounds * len(rates) != proposed):
        return None, unlike
    event.definitions = definitions
    event.rounds, event.reached, event.estimated = rounds.rounds, [*rounds.reached], rounds.estimated
    return event, ""


def _rounds(
    accepted: int, proposed: int, rates: list[Bounds], length: Bounds, either: bool
) -> tuple[str, Rounds | None]:
    """R and the S_i, and the definitions under which the printed length fits them. A length that fits none is compared, not believed, where the
    rates leave one number by themselves, and it is that of full blocks."""
    for definitions, ones in (("vllm", 1), ("vllm-0.8.5", 0)):
        if ones or either:
            rounds = fitted(accepted, proposed, rates, length.less(ones))
            if rounds is not None:
                return definitions, rounds
    rounds = fitted(accepted, proposed, rates)
    sure = rounds is not None and rounds.estimated is None and rounds.rounds * len(rates) == proposed
    possible = length.low <= (len(rates) + 1) * length.scale
    return "vllm", rounds if sure and possible else None


def _definition(line: int, event: TallyEvent, log: _Log) -> Iterator[Output]:
    """Say once which of the two meanings of the mean length a line follows, from the sum of its rates."""
    printed = bounds((event.printed or {})["Mean acceptance length"]) if event.rounds else None
    if printed is None or not may_be(event.accepted or 0, event.rounds or 0, printed.less(event.definitions == "vllm")):
        log.open_at = log.open_at or line
    elif event.definitions not in log.said:
        log.said.add(event.definitions or "")
        what = "1 + A / R: vLLM 0.9 or later" if event.definitions == "vllm" else "A / R: vLLM 0.8.5"
        length = (event.printed or {})["Mean acceptance length"]
        yield Trouble(
            line,
            "definition_told",
            f"mean length {length} of {event.accepted} accepted in {event.rounds} rounds is {what}",
        )


def _v0(seen: Sighting) -> Iterator[Output]:
    """The V0 line: `accepted` are matches anywhere in a block; emitted tokens are the accepted prefix and one more a round, as long as the engine
    gives bonus tokens (its default)."""
    line = whole(LINE_V0, seen.text)
    event = _lifetime(line) if line else None
    if event is None:
        yield Trouble(seen.line, "report_unreadable", seen.text.partition("\n")[0])
        return
    yield from told(seen.line, event)


def _lifetime(line: re.Match[str]) -> TallyEvent | None:
    most, matched, proposed, emitted = (digits(line[name]) for name in ("most", "matched", "proposed", "emitted"))
    if most is None or matched is None or proposed is None or emitted is None or not most or proposed % most:
        return None
    rounds = proposed // most
    if rounds:
        # The last number of the line may have lost its end: then it does not give the efficiency.
        if "nan" in line["rate"] + line["efficiency"] or emitted < rounds or emitted - rounds > matched:
            return None
        if not may_be(matched, proposed, bounds(line["rate"])):
            return None
        if not may_be(emitted, rounds * (most + 1), bounds(line["efficiency"])):
            return None
    elif matched or emitted:
        return None
    return TallyEvent(
        drafter=DRAFTER,
        window="lifetime",
        rounds=rounds,
        proposed=proposed,
        accepted=emitted - rounds,
        matched=matched,
        max_draft_tokens=most,
        definitions="vllm-v0",
        printed={"Draft acceptance rate": line["rate"], "System efficiency": line["efficiency"]},
    )


IMPORTERS = (
    Importer(
        name="vllm/log",
        reads="the log of the server or of an offline run, 0.8.4 to 0.33.0 (`SpecDecoding metrics:`), and of V0 (`Speculative metrics:`)",
        carries="accepted and proposed tokens of each interval; rounds, and rounds by position, as its rates leave them",
        lacks="output tokens; rounds without a draft; requests; from 0.8.4 rounds, too",
        recognise=lambda head: bool(_OURS.search(head) or _OURS_V0.search(head)),
        read=read,
    ),
)
