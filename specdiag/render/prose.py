"""The sentences that the faces for people share, so that a terminal and a comment say the same thing.

Only counts and words of this package go into them; names from a trace are added by each face, in its own way of making
them inert.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import UnsetType

from specdiag.render.bars import UNICODE, Glyphs
from specdiag.render.choice import FATES
from specdiag.render.figures import INTERVALS, SOURCES, count, counted, figure, percent, ratio
from specdiag.render.walk import rates
from specdiag.report import (
    NATIVE,
    Consensus,
    EngineFigure,
    EngineView,
    Evidence,
    Fates,
    Input,
    Rate,
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


def source(item: Input) -> str:
    """The name of an input, with its format where that is not ours."""
    return item.name if item.format in ("", NATIVE) else f"{item.name} ({item.format})"


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


COUNTS = {
    "A": "accepted drafts",
    "R": "rounds",
    "D": "proposed drafts",
    "K": "drafts of a full block",
    "G": "output tokens",
    "n": "requests",
    "M": "drafts that match, behind a refusal too",
    "S_i": "rounds that accepted at least i drafts",
    "N_i": "rounds with at least i drafts",
}


def engine_value(figure_of: EngineFigure, rate: Rate, glyphs: Glyphs = UNICODE) -> str:
    """The value in the unit in which the engine prints it, with a mark where its definition is not confirmed."""
    percents = figure_of.unit == "%" and rate.value is not None
    value = f"{(rate.value or 0.0) * 100:.1f}%" if percents else figure(rate, glyphs)
    return value if rate.value is None or not figure_of.unverified else f"{value}?"


def engine_ratio(figure_of: EngineFigure, rate: Rate) -> str:
    """What the value is of: numerator and denominator, or the number of requests of a mean."""
    if figure_of.per == "request" and rate.denominator is not None:
        return f"mean of {count(rate.denominator)}"
    return ratio(rate, 15)


def engine_facts(view: EngineView) -> str:
    """The counts of an engine, and what it counts otherwise than others."""
    parts = [", ".join(f"{name} {count(view.counts[name])}" for name in COUNTS if name in view.counts)]
    parts += view.counting
    open_ = dict.fromkeys(figure.unverified for figure in view.figures if figure.unverified)
    parts += [f"not confirmed: {what}" for what in open_]
    return "; ".join(filter(None, parts))


def engine_legend(report: Report, level: str) -> str:
    """What the letters in the formulas mean, as far as these formulas have them, and what was assumed."""
    if isinstance(report.engines, UnsetType):
        return ""
    views = report.engines.views
    formulas = " ".join(figure.formula for view in views for figure in view.figures)
    known = {name for view in views for name in view.counts}
    used = [f"{name} {text}" for name, text in COUNTS.items() if name in known or re.search(rf"\b{name}\b", formulas)]
    said = f"{', '.join(used)}. Value, {level} interval, ratio, formula."
    if any(figure.unverified for view in views for figure in view.figures):
        said += " ?: the definition is not confirmed."
    if any(view.basis == "counts" for view in views):
        said += " From counts that the engine kept: no round can be counted otherwise than it did."
    assumed = max((view.assumed for view in views), default=0)
    if assumed:
        said += f" {counted(assumed, 'round')} without `next` in the log: one token of the verifier's own is assumed in each."
    return said


def reading(report: Report) -> str:
    """How to read a figure of this report: the marks that occur in it, and how its intervals were found."""
    present = [found.rate for found in rates(report) if found.rate.value is not None]
    marks = [text for source, text in SOURCES.items() if any(rate.source == source for rate in present)]
    methods = [
        f"{mark}: {text}" if mark else text
        for method, (mark, text) in INTERVALS.items()
        if any(rate.interval == method for rate in present)
    ]
    settings, asked = report.settings, report.requests
    return (
        "A figure is its value, its interval, its numerator/denominator. "
        f"Marks: {'; '.join([*marks, 'no mark: counted from the record'])}. "
        f"Intervals ({percent(settings.level)}): {'; '.join(methods) or 'none'}. "
        f"{count(asked.distinct)} distinct of {count(asked.total)} requests, "
        f"{count(settings.replicates)} replicates, seed {settings.seed}."
    )
