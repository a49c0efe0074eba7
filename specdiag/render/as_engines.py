"""What engines would print for the same rounds, in the order in which it is read: by family, and then why the values differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from specdiag.render.bars import UNICODE, Glyphs
from specdiag.render.figures import INTERVALS, count, figure, interval
from specdiag.report import EngineFigure, EngineView, Report

FAMILIES = {"length": "acceptance length", "rate": "acceptance rate", "positions": "by position"}
WHY = {
    "the verifier's own token": "the token that the verifier adds to every round counts as one of the round's",
    "the token of prefill": "the first token of a request, which no round gave, counts",
    "prefill as a round": "the pass that reads the prompt counts as a round",
    "passes without a draft": "a pass counts, whether there was a draft to verify or not",
    "a round less for each request": "a last index is taken for a number of rounds",
    "proposed drafts": "drafts count whether they were accepted or not",
    "drafts that match behind a refusal": "a draft counts as accepted wherever the verifier would have drawn it",
    "every block as a full one": "the denominator takes every block to have the full length",
    "drafts and the verifier's own tokens as denominator": "every position that a pass verifies counts, the verifier's own too",
    "output tokens as denominator": "it is the share of the output that was drafted, not of the drafts that were accepted",
    "replayed rounds once more": "a round that was cut is verified again, and counts again",
    "each request alike": "a mean over requests, so a short request weighs as much as a long one",
    "accepted drafts alone": "nothing but accepted drafts counts, against rounds or drafts",
    "of all rounds": "rounds that came so far, of all rounds: what stands before a position counts against it",
    "of the rounds with a draft there": "rounds that came so far, of those whose block is that long",
    "of the rounds that came to the position": "of the rounds that came to the position, those that accepted it",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of an engine: one value, or one for each position."""

    engine: str
    name: str
    figures: list[EngineFigure]

    @property
    def formula(self) -> str:
        """Its formula."""
        return self.figures[0].formula


def bodies(report: Report) -> Iterator[tuple[str, list[EngineView]]]:
    """The views, apart by what they are of."""
    for of, views in groupby(
        sorted(report.engines, key=lambda view: view.of != "all rounds"), key=lambda view: view.of
    ):
        yield of, [*views]


def rows(views: list[EngineView], family: str) -> list[Row]:
    """The figures of one of the FAMILIES, of every engine."""
    wanted = ("reach", "hazard") if family == "positions" else (family,)
    return [
        Row(view.engine, name, [*figures])
        for view in views
        for name, figures in groupby((f for f in view.figures if f.family in wanted), key=lambda f: f.name)
    ]


def written(item: EngineFigure, glyphs: Glyphs = UNICODE) -> str:
    """The value as the engine writes it, percent or not."""
    if item.unit == "%" and item.rate.value is not None:
        return f"{100 * item.rate.value:.1f}%"
    return figure(item.rate, glyphs)


def spread(item: EngineFigure, glyphs: Glyphs = UNICODE) -> str:
    """The interval, in the same unit."""
    rate = item.rate
    if item.unit == "%" and rate.low is not None and rate.high is not None and rate.value is not None:
        if rate.interval == "exact_one_sided":
            most = rate.high > rate.value
            return f"{glyphs.at_most}{100 * rate.high:.1f}%" if most else f"{glyphs.at_least}{100 * rate.low:.1f}%"
        mark = INTERVALS.get(rate.interval or "", ("",))[0]
        return f"{100 * rate.low:.1f}{glyphs.span}{100 * rate.high:.1f}%{mark}"
    return interval(item.rate, glyphs)


def reasons(found: list[Row]) -> list[tuple[str, str, list[str]]]:
    """(what is counted in, what that means, which figures) of what some figures of a family count in and others do not; nothing where all values
    are the same."""
    known = [row for row in found if any(item.rate.value is not None for item in row.figures)]
    values = {tuple(item.rate.value for item in row.figures) for row in known}
    if len(values) < 2:
        return []
    traits = dict.fromkeys(trait for row in known for trait in row.figures[0].counts_in)
    named = {
        trait: [f"{row.engine} {row.name}" for row in known if trait in row.figures[0].counts_in] for trait in traits
    }
    return [(trait, WHY[trait], who) for trait, who in named.items() if len(who) < len(known)]


def absent(found: list[Row]) -> Iterator[tuple[str, str]]:
    """(figure, why it is not there)."""
    for row in found:
        reason = row.figures[0].rate.absent
        if reason:
            yield f"{row.engine} {row.name}", reason


def countings(views: list[EngineView]) -> list[tuple[str, list[str]]]:
    """(how rounds are counted, which engines count so) of rounds that engines count differently."""
    said: dict[str, list[str]] = {}
    for view in views:
        for sentence in view.counting:
            said.setdefault(sentence, []).append(view.engine)
    return [*said.items()]


def sums(view: EngineView) -> str:
    """What the engine counts of these rounds, by the symbols of the formulas."""
    return ", ".join(f"{symbol} {count(number)}" for symbol, number in view.counts.items())


def assumptions(views: list[EngineView]) -> list[str]:
    """What the views take where the log does not say, each once, with the engines for which it is taken."""
    taken: dict[str, dict[str, None]] = {}
    for view in views:
        for text in view.assumes:
            who = f"{view.engine}: "
            taken.setdefault(text.removeprefix(who), {}).update({view.engine: None} if text.startswith(who) else {})
    return [f"{', '.join(who)}: {text}" if who else text for text, who in taken.items()]
