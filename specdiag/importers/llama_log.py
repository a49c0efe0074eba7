"""llama.cpp: the log of llama-server, in the layouts of all its releases.

Source: tools/server/server-context.cpp and common/speculative.cpp of llama-cpp-python 0.3.20 (`draft acceptance rate`, behind the timings of a task
and without a prefix), 0.3.26, 0.3.31 (llama.cpp#24536: mean length and positions on the line) and 0.3.36 (`mean len`, and `acc per pos` on a line of
its own at verbosity 4). A task is a request. `statistics` lines are lifetime, one for each implementation. With LLAMA_TRACE=1, or at debug level,
the rounds are in the log one by one.

Targets that cannot be rolled back (recurrent, sliding window) verify what they accepted of a cut round once more, as a draft of a + 1 tokens. That
replay is no round here: a round has the drafts and the accepted tokens from before the checkpoint was restored. Up to 0.3.33 the counters of a task
say a + 1 for it; `statistics` still do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from specdiag.importers.fields import digits
from specdiag.importers.interface import Importer, Output, Trouble
from specdiag.importers.layout import layout, numbers, whole
from specdiag.importers.llama_statistics import STATISTICS, statistics
from specdiag.importers.llama_task import Report, Slot, tally
from specdiag.importers.source import Sighting, Source

TIMING, OUTPUT, TASK, POSITIONS, ROUND = (
    "print_timing: id",
    "eval time =",
    "draft acceptance",
    "acc per pos",
    "draft tokens",
)
ADDING, BLOCK, SYNTHETIC = (
    "adding speculative implementation",
    "- n_max=",
    "synthetic speculative acceptance is enabled",
)
MARKERS = (TIMING, OUTPUT, TASK, POSITIONS, ROUND, STATISTICS, ADDING, BLOCK, SYNTHETIC)

LINE = layout(
    "{?rate?} = <rate:f5> (<accepted:int> accepted / <proposed:int> generated){?, mean acceptance length = <long:f2>, "
    "acceptance rate per position = ({?<rates:f3s>?})?}{?, mean len = <short:f2>?}"
)
LINE_POSITIONS = layout(" = ({?<rates:f3s>?})")
_OUTPUT = re.compile(r"\s*[\d.]+\s*ms\s*/\s*(\d+)\s*(?:tokens|runs)\s*\(")
_ROUND = re.compile(r"accepted\s*(\d+)\s*/\s*(\d+)\s*$")
_NAME = re.compile(r"\s*'([\w-]+)'")
_MOST = re.compile(r"\s*(\d+)\s*,")
_STAMP = r"\d+\.\d\d\.\d{3}\.\d{3}\s*[A-Z]\s+"
_SLOT = re.compile(
    rf"(?:\[(\d{{2,5}})\]\s*)?({_STAMP})?slot\s*[\w()~]*\s*:\s*id\s*(\d+)\s*\|\s*task\s*(-?\d+)\s*\|\s*$"
)
_TASK = re.compile(r"\s*(\d+)\s*\|\s*task\s*(-?\d+)\s*\|")
_STAMPED = re.compile(_STAMP + r"(?:spec\s*\w+\s*:\s*)?$")
_PORT = re.compile(r"\[(\d{2,5})\]\s*(?:" + _STAMP + r")?(?:spec\s*\w+\s*:\s*)?$")
_BARE = re.compile(r"(?:.*[|\]:>`]|.*\s[A-Z]|[\s\d.:TZ+-]*)?\s*")
BELOW = 6  # lines of a task's timings, where only the first one has a prefix
MOST_SLOTS = 4096  # that are followed at once


@dataclass(slots=True)
class Log:
    """A log, read marker by marker."""

    slots: dict[tuple[str | None, int], Slot] = field(default_factory=dict)
    named: dict[str, int | None] = field(default_factory=dict)  # implementations, with the drafts of a full block
    naming: str = ""
    stamped: bool = False
    prefixed: bool = False
    head: tuple[int, Slot, str | None] | None = None  # of timings without a prefix
    report: Report | None = None

    def take(self, seen: Sighting) -> Iterator[Output]:
        """What a marker gives."""
        if self.head and seen.marker != TIMING and seen.line == self.head[0]:
            self.head = None  # a line that has its prefix
        if seen.marker == POSITIONS:
            yield from self._positions(seen)
            return
        if self.report and seen.marker != TIMING:
            yield from self.end()
        match seen.marker:
            case "print_timing: id":
                self._timing(seen)
            case "draft acceptance":
                yield from self._task(seen)
            case "draft tokens":
                yield from self._round(seen)
            case "statistics ":
                if not self.stamped or _STAMPED.search(seen.before):
                    port = _PORT.search(seen.before)
                    yield from statistics(seen, port[1] if port else None)
            case "synthetic speculative acceptance is enabled":
                yield Trouble(
                    seen.line, "simulated_acceptance", "the log says so: acceptance is drawn (--spec-synth-…)"
                )
            case _:
                self._settings(seen)

    def end(self) -> Iterator[Output]:
        """The report that is held."""
        report, self.report = self.report, None
        if report:
            yield from tally(report, self.named)

    def _slot(self, seen: Sighting) -> tuple[Slot, str | None] | None:
        """The slot that a line names, and its server. Generated text stands in the log, too: a line must have the prefix of the others."""
        found = _SLOT.search(seen.before)
        if not found or (self.stamped and not found[2]) or len(found[3]) > 9 or len(found[4]) > 16:
            return None
        self.prefixed, self.stamped = True, self.stamped or bool(found[2])
        return self._known(found[1], int(found[3]), int(found[4])), found[1]

    def _known(self, port: str | None, number: int, task: int) -> Slot:
        if len(self.slots) >= MOST_SLOTS and (port, number) not in self.slots:
            self.slots.pop(next(iter(self.slots)))
        slot = self.slots.setdefault((port, number), Slot())
        if task >= 0 and task != slot.task:
            slot = self.slots[port, number] = slot.next(f"{port}:{number}" if port else str(number), task)
        return slot

    def _timing(self, seen: Sighting) -> None:
        """A line of the timings of a task; the first of several without a prefix, where nothing stands behind it."""
        found = _TASK.match(seen.text)
        behind = seen.text[found.end() :].split("\n", 1) if found else []
        if not found or len(found[1]) > 9 or len(found[2]) > 16 or not behind or behind[0].strip():
            return
        stamp = re.search(rf"(?:\[(\d{{2,5}})\]\s*)?({_STAMP})?slot\s*$", seen.before)
        if stamp and (stamp[2] or not self.stamped):
            self.prefixed, self.stamped = True, self.stamped or bool(stamp[2])
            self.head = seen.line, self._known(stamp[1], int(found[1]), int(found[2])), stamp[1]

    def _below(self, seen: Sighting) -> tuple[Slot, str | None] | None:
        """The slot of a line without a prefix, just below the line that names it."""
        near = self.head is not None and self.head[0] < seen.line <= self.head[0] + BELOW
        return self.head[1:] if near and self.head else None

    def _settings(self, seen: Sighting) -> None:
        if seen.marker == ADDING:
            name = _NAME.match(seen.text)
            if name and len(self.named) < 64:
                self.naming = name[1]
                self.named[self.naming] = None
        elif seen.marker == BLOCK and self.naming:
            most = _MOST.match(seen.text)
            self.named[self.naming] = digits(most[1]) if most else None
            self.naming = ""
        elif seen.marker == OUTPUT and not seen.before.rstrip().endswith("prompt"):
            found, where = _OUTPUT.match(seen.text), self._slot(seen) or self._below(seen)
            if found and where:
                where[0].output = digits(found[1])

    def _task(self, seen: Sighting) -> Iterator[Output]:
        if not re.match(r"\s*(?:rate)?\s*=", seen.text):
            return
        where = self._slot(seen)
        if where is None:
            below = self._below(seen)
            where = below if below and below[0].output is not None else None
            self.head = None
        if where is None and self.prefixed:
            return  # text that was generated: this log has its lines behind a prefix
        if where is None and not _BARE.fullmatch(seen.before):
            return
        found = whole(LINE, seen.text)
        counts = found and (digits(found["accepted"]), digits(found["proposed"]))
        if not found or not counts or counts[0] is None or counts[1] is None:
            yield Trouble(seen.line, "report_unreadable", seen.text.partition("\n")[0])
            return
        slot, port = where or (Slot(request=f"line-{seen.line}"), None)
        self.report = Report(
            seen.line,
            slot,
            port,
            (counts[0], counts[1]),
            found["rate"],
            found["long"] or found["short"],
            numbers(found["rates"] or ""),
            found["long"] is not None,
        )

    def _positions(self, seen: Sighting) -> Iterator[Output]:
        report, where = self.report, self._slot(seen)
        if report is None or (where is None and self.prefixed) or (where and where[0] is not report.slot):
            return
        found = whole(LINE_POSITIONS, seen.text)
        if found:
            report.rates, report.listed = numbers(found["rates"] or ""), True
        else:
            yield Trouble(seen.line, "report_unreadable", (seen.marker + seen.text).partition("\n")[0])
        yield from self.end()

    def _round(self, seen: Sighting) -> Iterator[Output]:
        found = _ROUND.search(seen.before)
        if not found:
            return
        where = self._slot(seen._replace(before=seen.before[: found.start()]))
        if where is None and (self.prefixed or not _BARE.fullmatch(seen.before[: found.start()])):
            return
        slot = where[0] if where else self._known(None, 0, 0)
        accepted, proposed = digits(found[1]), digits(found[2])
        if accepted is None or proposed is None or not 0 < proposed <= 1 << 16 or accepted > proposed:
            yield Trouble(seen.line, "not_counts", f"{found[1][:20]} accepted of {found[2][:20]} drafts")
            return
        debug = re.match(r"\s*,\s*new\s*n_", seen.text) is not None
        replayed = re.match(r"\s*\(\s*restore\s*checkpoint\s*\)", seen.text) is not None
        yield from slot.rounds.add(seen.line, slot.request, accepted, proposed, debug=debug, replayed=replayed)


def read(source: Source) -> Iterator[Output]:
    """A request for each task, the lifetime counts of each implementation, and the rounds where they are logged."""
    log = Log()
    for seen in source.sightings(*MARKERS):
        yield from log.take(seen)
    yield from log.end()


OURS = re.compile(
    rb"draft\s*acceptance\s*(?:rate)?\s*=\s*\d\.\d{5}\s*\(|statistics\s+[\w-]+\s*:\s*#calls|accepted\s*\d+\s*/\s*\d+\s*draft\s*tokens"
)
SLOG = re.compile(rb"\blevel=[A-Z]+ source=|speculative decode stats")


def recognise(head: bytes) -> bool:
    """A line of llama-server, in a log that is not Ollama's."""
    return OURS.search(head) is not None and SLOG.search(head) is None


IMPORTERS = (
    Importer(
        name="llama-cpp/log",
        reads="the log of llama-server (`draft acceptance`, `statistics`, rounds with LLAMA_TRACE=1), also behind a router's `[port]`",
        carries="accepted, proposed and output tokens of each request; rounds where `mean len` is; lifetime counts of each implementation",
        lacks="rounds before `mean len`, unless D needs as many as the output has; which implementation a request's drafts came from; rounds without "
        "a draft; replayed rounds where LLAMA_TRACE is not set",
        recognise=recognise,
        read=read,
    ),
)
