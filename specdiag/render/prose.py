"""The sentences that the faces for people share, so that a terminal and a comment say the same thing.

Only counts and words of this package go into them; names from a trace are added by each face, in its own way of making
them inert.
"""

from __future__ import annotations

from collections.abc import Sequence

from specdiag.render.choice import FATES
from specdiag.render.figures import INTERVALS, SOURCES, count, counted, percent
from specdiag.render.walk import rates
from specdiag.report import (
    NATIVE,
    Consensus,
    Drafter,
    EnginePrinted,
    EngineWindow,
    Evidence,
    Fates,
    Report,
    Shared,
    Thrash,
)

_NAMED = 2


def shared_rounds(part: Shared) -> str:
    """How many rounds verified a shared prefix, and how many of them refused a token."""
    return f"{counted(part.rounds, 'round')}, {count(part.truncating_rounds)} of them truncated"


def headway(part: Thrash) -> str:
    """The two kinds of rounds that made no headway."""
    return (
        f"{count(part.reproposal_rounds)} of {count(part.rounds)} rounds proposed again at the same place "
        f"({count(part.reproposed_tokens)} tokens); {count(part.no_progress_rounds)} were truncated to nothing "
        "twice in a row."
    )


def votes(part: Consensus) -> str:
    """How the steps that asked for consensus ended."""
    return f"{count(part.steps)} steps: {count(part.agreed)} agreed, {count(part.fallback)} fell back"


def formats(report: Report) -> list[str]:
    """What the inputs were read as, where one is no trace."""
    read_as = dict.fromkeys(item.format for item in report.inputs)
    return [f"read as {few([name or NATIVE for name in read_as])}"] if set(read_as) - {"", NATIVE} else []


def window_of(drafter: Drafter) -> str:
    """Of which reports of an engine its counts are, and from how many sources."""
    window = drafter.engine_window
    return _reports(window) if window else "totals that the engine logged, without rounds"


def _reports(window: EngineWindow) -> str:
    reports = counted(window.reports, f"{window.window} report")
    if window.window == "lifetime":
        run = "its run" if window.reports == 1 else f"each of {count(window.reports)} runs"
        reports = f"the last {window.window} report of {run}"
    return reports + (f", from {count(window.sources)} sources" if window.sources > 1 else "")


def sums_of(drafter: Drafter) -> str:
    """What the reports of an engine add up to; empty where they have no counts."""
    window = drafter.engine_window
    return f"Counts: {_sums(window)}." if window and window.counts else ""


def partly_of(drafter: Drafter) -> str:
    """Which rates are of some of the reports only, since the others do not have their counts; empty where all are of all."""
    fewer: dict[int, list[str]] = {}
    for rate in drafter.engine_counts.values():
        if rate.reports is not None and rate.name not in fewer.setdefault(rate.reports, []):
            fewer[rate.reports].append(rate.name)
    every = drafter.engine_window.reports if drafter.engine_window else 0
    listed = [f"{', '.join(names)}: {count(some)} of {count(every)}" for some, names in fewer.items()]
    return f"Of the reports that have their counts only: {'; '.join(listed)}." if listed else ""


def others_of(drafter: Drafter) -> str:
    """Windows that are not added to the one whose rates are shown, with their sums; empty where there are none."""
    listed = [f"{_reports(window)} ({_sums(window) or 'no counts'})" for window in drafter.engine_others]
    return f"Not added, since windows may overlap: {'; '.join(listed)}." if listed else ""


def _sums(window: EngineWindow) -> str:
    sums = [
        f"{name.replace('_', ' ')} {'~' if name in window.estimated else ''}{count(number)}"
        for name, number in window.counts.items()
    ]
    sums += [f"full block {count(window.max_draft_tokens)}"] if window.max_draft_tokens is not None else []
    return ", ".join(sums)


def between(figure: EnginePrinted) -> str:
    """The least and the greatest value that was printed, where they differ, from the trace."""
    return figure.least if figure.least == figure.most else f"{figure.least} to {figure.most}"


def ledger(fates: Fates) -> str:
    """The fate of every proposed token; the parts add up to the proposed ones."""
    parts = ", ".join(f"{count(getattr(fates, name))} {name.replace('_', ' ')}" for name in FATES)
    return f"{count(fates.proposed)} proposed: {parts}; {count(fates.committed)} committed."


def amount(kind: Evidence) -> str:
    """How much there is of one kind of evidence, and of how much, where that is known."""
    return f"{count(kind.have)}/{count(kind.of)}" if kind.of else count(kind.have)


def few(names: Sequence[str]) -> str:
    """The first names, each once, and how many more there are; the names are inert already."""
    named = list(dict.fromkeys(names))
    more = f" and {count(len(named) - _NAMED)} more" if len(named) > _NAMED else ""
    return (", ".join(named[:_NAMED]) or "none") + more


def requests(report: Report) -> str:
    """How many requests, and how many of them repeat an earlier one."""
    repeats = f" ({count(report.requests.repeats)} repeats)" if report.requests.repeats else ""
    return f"{counted(report.requests.total, 'request')}{repeats}"


def read(report: Report) -> list[str]:
    """How much was read."""
    if not report.has_rounds:
        reports = sum(item.events.get("tally", 0) for item in report.inputs)
        return [f"{counted(reports, 'report')} of an engine, no rounds"]
    whose = " with its rounds" if report.requests.total == 1 else " with their rounds"
    kept = whose if any(drafter.engine_window for drafter in report.drafters) else ""
    return [requests(report) + kept, counted(report.rounds, "round"), f"{count(report.fates.proposed)} tokens proposed"]


def reading(report: Report) -> str:
    """How to read a figure of this report: the marks that occur in it, and how its intervals were found."""
    settings, asked = report.settings, report.requests
    present = [found.rate for found in rates(report) if found.rate.value is not None]
    marks = [text for source, text in SOURCES.items() if any(rate.source == source for rate in present)]
    methods = [
        f"{mark}: {text}" if mark else text
        for method, (mark, text) in INTERVALS.items()
        if method != "rounding" and any(rate.interval == method for rate in present)
    ]
    bounds = f"Bounds: {INTERVALS['rounding'][1]}. " if any(rate.interval == "rounding" for rate in present) else ""
    opening = (
        "A figure is its value, its interval, its numerator/denominator. "
        f"Marks: {'; '.join([*marks, 'no mark: counted from the record'])}. {bounds}"
    )
    if not report.has_rounds and not asked.total:
        return opening.rstrip()
    return (
        f"{opening}"
        f"Intervals ({percent(settings.level)}): {'; '.join(methods) or 'none'}. "
        f"{count(asked.distinct)} distinct of {count(asked.total)} requests, "
        f"{count(settings.replicates)} replicates, seed {settings.seed}."
    )
