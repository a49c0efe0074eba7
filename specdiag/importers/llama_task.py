"""llama.cpp: one task of llama-server, a request: what the log says of it, and the tally that this gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Output, Trouble
from specdiag.importers.llama_fit import Fit, rounds_of
from specdiag.importers.llama_rounds import Rounds
from specdiag.trace.events import TallyEvent


@dataclass(slots=True)
class Slot:
    """What is known of the task that a slot works on."""

    task: int = -1
    run: int = 1
    request: str = ""
    output: int | None = None
    rounds: Rounds = field(default_factory=Rounds)

    def next(self, name: str, task: int) -> Slot:
        """The slot with another task, whose number falls where the server was started again. A report of the one before stays as it is."""
        run = self.run + (task <= self.task)
        return Slot(task, run, f"{name}/{task}" + (f"#{run}" if run > 1 else ""))


@dataclass(slots=True)
class Report:
    """The line of a task, until its positions are there or something else comes."""

    line: int
    slot: Slot
    source: str | None
    counts: tuple[int, int]
    rate: str
    length: str | None
    rates: list[str]
    listed: bool = False


def tally(report: Report, named: dict[str, int | None]) -> Iterator[Output]:
    """The request of a report. `named`: the implementations that the log has named, with the drafts of a full block."""
    accepted, proposed = report.counts
    rounds, slot = report.slot.rounds, report.slot
    printed = {"draft acceptance": report.rate}
    complete = rounds.number > 0 and rounds.proposed == proposed
    if complete and accepted in (rounds.accepted, rounds.accepted + rounds.replays):
        fit = Fit(rounds.number, [*rounds.reached])
        accepted = rounds.accepted
        printed |= {"mean len": report.length} if report.length else {}
        printed |= {f"acc per pos[{i}]": rate for i, rate in enumerate(report.rates[: rounds.longest], 1)}
    elif report.listed and not report.rates:
        fit = Fit(0)  # drafted, and ended before any of it was verified
    else:
        limits = set(named.values()) if len(named) == 1 else {None}
        found = rounds_of(accepted, proposed, report.length, report.rates, slot.output, limits.pop())
        if isinstance(found, str):
            yield Trouble(report.line, "report_unreadable", found)
        fit = found if isinstance(found, Fit) else Fit()
    longest = _longest(report, named, rounds.longest if complete else 0)
    event = TallyEvent(
        # Of several, a request has the sum: it is nobody's own, and must not look like one more drafter's.
        drafter=" + ".join(sorted(named)) if len(named) > 1 else DRAFTER,
        window="request",
        request=slot.request,
        source=report.source,
        requests=1,
        accepted=accepted,
        proposed=proposed,
        rounds=fit.rounds,
        reached=fit.reached if longest else _shortened(fit.reached),
        completion_tokens=slot.output,
        max_draft_tokens=longest,
        definitions="llama-cpp",
        printed=printed,
        estimated=fit.estimated,
    )
    yield from told(report.line, event)


def _longest(report: Report, named: dict[str, int | None], longest: int) -> int | None:
    """Drafts of a full block: as many as there are positions. With several implementations they are those of the longest, and say nothing."""
    full = bool(report.rates) and (len(named) < 2 or report.rates[-1] != "0.000")
    return len(report.rates) if full else longest if len(named) < 2 and longest else None


def _shortened(reached: list[int] | None) -> list[int] | None:
    """Without the positions at the end that no round came to: there are as many as the longest implementation has, which may have drafted nothing."""
    while reached and len(reached) > 1 and not reached[-1]:
        reached = reached[:-1]
    return reached
