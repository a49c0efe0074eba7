"""SGLang: what the server's log says of speculation: the line of a decode batch, and, with `--log-requests`, the line of a finished request.

Source: managers/scheduler_metrics_mixin.py of 0.4.6.post5 to 0.5.5, observability/scheduler_metrics_mixin.py of 0.5.10 and 0.5.12, and
managers/scheduler_components/metrics_reporter.py of 0.5.23 (decode batch: one line of each interval, after which its counts begin again);
managers/tokenizer_manager.py and utils/request_logger.py (`Finish: … out={… 'meta_info': {…}}`).

The line of a decode batch has two ratios, with two decimals, and no count: neither rounds nor tokens of the interval are printed (`#running-req` is
the batch of its last forward, and throughput is over a time that is not printed). So its tallies hold figures, and no counts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from specdiag.importers.fields import record
from specdiag.importers.interface import DRAFTER, Found, Importer, Output, Trouble
from specdiag.importers.layout import whole
from specdiag.importers.nested import Enclosed
from specdiag.importers.ratios import Ratios
from specdiag.importers.sglang_requests import request
from specdiag.importers.sglang_rule import FORMULAS, LONGEST, NEWER, Blocks, known
from specdiag.importers.source import Sighting, Source
from specdiag.trace.events import TallyEvent

DECODE, ARGUMENTS, FINISHED = ", accept len: ", "speculative_num_draft_tokens=", "'meta_info': {"
OLDEST = "sglang-v1"
HELD = 1024  # lines that wait for one that tells which rule they follow
MOST_SOURCES = 4096

# What stands between the figures and the throughput differs by release, and with disaggregation; none of it begins another line.
_LINE = re.compile(
    r"\s*(?P<length>\d+\.\d\d)\s*,\s*(?:accept\s*rate\s*:\s*(?P<rate>\d+\.\d\d)\s*,)?"
    r"(?:\s*(?:block\s*accept|cap)\s*len\s*:\s*\d+\.\d\d\s*,)*"
    r"(?:(?!Decode\s*batch|Prefill\s*batch|\[\d{4}-\d\d|accept\s*(?:len|rate)).)*?gen\s*throughput\s*\(token/s\)\s*:\s*\d+\.\d\d\s*,.*#queue-req\s*:\s*\d+.*"
)
_UNRATED = re.compile(r"Decode\s*batch\s*\.")  # up to 0.5.3; with a comma, there is a rate
_PREFIX = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?((?: [A-Z_]+\d+)+)\]")
_RANK = re.compile(r"([A-Z_]+)(\d+)")
_BATCH = re.compile(rb"Decode\s*batch\b")
_LENGTH = re.compile(rb",\s*accept\s*len\s*:\s*\d")
_REQUEST = re.compile(rb"'meta_info': \{[^\n]{0,4096}?'spec_verify_ct': ")


@dataclass(slots=True)
class _Log:
    """What the lines so far leave: the length of a block, by rule and from the server's arguments; lines that wait to be told; and the rank that
    speaks for each source."""

    blocks: Blocks = field(default_factory=Blocks)
    given: int | None = None
    held: list[Found] = field(default_factory=list)
    told: bool = False
    rated: bool = False  # whether this server prints a rate: a line without one is torn then
    open_at: int = 0
    alone: Ratios = field(default_factory=Ratios)
    ranks: dict[str, str] = field(default_factory=dict)
    agreed: set[str] = field(default_factory=set)


def read(source: Source) -> Iterator[Output]:
    """One tally an interval, and one a finished request."""
    log = _Log()
    for seen in source.sightings(DECODE, ARGUMENTS, FINISHED):
        if seen.marker == DECODE:
            yield from _interval(seen, log)
        elif seen.marker == FINISHED:
            yield from _finished(seen)
        else:
            yield from _arguments(seen, log)
    yield from _released(log)
    yield from log.alone.said()


def _arguments(seen: Sighting, log: _Log) -> Iterator[Output]:
    """A server starts: its figures are told apart for themselves."""
    found = re.match(r"\s*(\d{1,4})\b", seen.text)
    yield from _released(log)
    log.told = log.rated = False
    log.given = int(found[1]) - 1 if found and 1 < int(found[1]) <= LONGEST + 1 else None
    log.blocks = known(log.given) if log.given else Blocks()


def _interval(seen: Sighting, log: _Log) -> Iterator[Output]:
    if "Finish: obj=" in seen.before or "Receive: obj=" in seen.before:
        return  # a prompt that quotes a log
    found = whole(_LINE, seen.text)
    if found is None or not (found["rate"] or (_UNRATED.search(seen.before) and not log.rated)):
        yield Trouble(seen.line, "report_unreadable", seen.text.partition("\n")[0])
        return
    name, rank = _process(seen.before)
    if rank and len(log.ranks) < MOST_SOURCES and log.ranks.setdefault(name, rank) != rank:
        if name not in log.agreed:
            log.agreed.add(name)
            yield Trouble(seen.line, "ranks_agree", f"{log.ranks[name]} and {rank} {name}".rstrip())
        return
    length, rate = found["length"], found["rate"]
    event = TallyEvent(
        drafter=DRAFTER,
        window="interval",
        source=name or None,
        max_draft_tokens=log.given,
        printed={"accept len": length} | ({"accept rate": rate} if rate else {}),
    )
    log.alone.add(seen.line, event.printed or {})
    if rate is None:  # up to 0.5.3; the length means the same in all releases
        event.definitions = OLDEST
        yield Found(seen.line, event)
        return
    log.rated = True
    yield from _told(seen.line, event, length, rate, log)


def _told(line: int, event: TallyEvent, length: str, rate: str, log: _Log) -> Iterator[Output]:
    """The event, as soon as the figures say which rule they follow."""
    blocks = log.blocks.with_(length, rate)
    if not (blocks.newer or blocks.older):  # another server, with other blocks
        yield from _released(log)
        log.told, log.given = False, None
        blocks = Blocks().with_(length, rate)
        event.max_draft_tokens = None
    log.blocks = blocks
    log.held.append(Found(line, event))
    if blocks.rule:
        yield from _released(log)
        if not log.told:
            log.told = True
            yield Trouble(
                line, "definition_told", f"accept len {length}, accept rate {rate}: only by {_rule(blocks, length)}"
            )
    elif len(log.held) >= HELD:
        yield from _released(log)


def _rule(blocks: Blocks, length: str) -> str:
    """The rule that was told; of the older one, whose rate is above 0 where nothing was accepted, what the newer one gives of the same."""
    told, full = FORMULAS[blocks.rule or NEWER], blocks.length
    if not full:
        return told
    share = f"; {FORMULAS[NEWER]} is ({length} - 1) / {full} = {float(Fraction(length) - 1) / full:.2f}"
    return f"{told}, K = {full}{share if blocks.rule != NEWER else ''}"


def _released(log: _Log) -> Iterator[Output]:
    """The lines that waited, with what is known by now. Where both rules can be, they go without definitions."""
    rule = log.blocks.rule
    for found in log.held:
        event = found.event
        assert isinstance(event, TallyEvent)
        event.definitions = rule
        event.max_draft_tokens = event.max_draft_tokens or log.blocks.length
        yield found
    if log.held and rule is None:
        both = " and ".join(f"{formula} ({name})" for name, formula in FORMULAS.items())
        yield Trouble(log.held[0].line, "definition_open", f"accept rate fits {both}; accept len is the same in both")
    log.held.clear()


def _process(before: str) -> tuple[str, str]:
    """The replica that wrote a line (data parallel ranks have requests of their own), and its rank in it."""
    found = [*_PREFIX.finditer(before)]
    ranks = dict(_RANK.findall(found[-1][1])) if found else {}
    replica = ranks.pop("DP", None)
    return (f"DP{replica}" if replica else ""), " ".join(f"{name}{number}" for name, number in ranks.items())


def _finished(seen: Sighting) -> Iterator[Output]:
    """The counts of a request, as Python wrote them out."""
    text = seen.text.partition("\n")[0]
    if "spec_verify_ct" not in text:
        return
    try:
        meta = record(ast.literal_eval("{" + text[: _end(text)]))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        meta = {}
    if "spec_verify_ct" in meta:
        yield from request(seen.line, Enclosed(meta, "meta_info", ()))
    else:
        yield Trouble(seen.line, "report_unreadable", text[:200])


def _end(text: str) -> int:
    """Behind the brace that closes what was opened before the text; 0 where none does."""
    depth = 1
    for found in re.finditer(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[{}]""", text):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if not depth:
            return found.end()
    return 0


def _recognise(head: bytes) -> bool:
    return bool((_BATCH.search(head) and _LENGTH.search(head)) or _REQUEST.search(head))


IMPORTERS = (
    Importer(
        name="sglang/log",
        reads="the log of the server (0.4.6 to 0.5.23): `Decode batch … accept len: …`; with `--log-requests`, `Finish: … 'spec_verify_ct': …`",
        carries="of each interval mean accepted length and accept rate as printed, which of two rules they follow, and the length of a block where "
        "one is left; of each finished request what its `meta_info` holds",
        lacks="rounds and tokens of an interval: its line has two ratios and no count, so no figure is computed from it (responses have counts, and "
        "so has the log with `--log-requests`)",
        recognise=_recognise,
        read=read,
    ),
)
