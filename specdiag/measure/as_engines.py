"""The rounds of a trace under the definitions of engines: what each would print, and what it counts in.

The counts of an engine are sums over shapes of rounds (shapes.py), counted as that engine counts them (engines/counting.py), for the trace and for
each replicate; or, where a log has only an engine's counts, these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from specdiag.engines.catalogue import ENGINES
from specdiag.engines.counting import UNKNOWN, Shapes, counted, key_of
from specdiag.engines.definitions import PLAIN, SYMBOLS, Counting, Engine, Figure, evaluate
from specdiag.measure.engine_counts import Found, Window, digits, whole
from specdiag.measure.engine_symbols import MEAN_UNIT, bounds
from specdiag.measure.intervals import Rates
from specdiag.measure.requests import RequestMeans
from specdiag.measure.tables import MAX_POSITIONS, Tables
from specdiag.report import EngineFigure, EngineView, Rate

OWN_ASSUMED = "in {} of the rounds no token of the verifier's own is logged, and one is taken to have been there"
K_ASSUMED = "a full block is taken to be the longest one seen"
ROUNDS = "all rounds"
UNLOGGED = "{} more output tokens than the logged rounds gave: rounds without a draft, which were not logged"
PER_REQUEST = ("A", "R", "D", "G")
NO_MATCHES = "p, q and u of every draft would tell"

Known = dict[str, Any]
"""Symbols of the definitions: a row (trace, replicates) each, or a number."""


def countings(names: Iterable[str]) -> tuple[Counting, ...]:
    """The ways to count under which each request's counts are needed: of means over requests, and one to know the requests by."""
    means = (ENGINES[name] for name in names if any(figure.per == "request" for figure in ENGINES[name].figures))
    return (*dict.fromkeys([PLAIN, *(engine.counting for engine in means)]),)


def engine_views(
    names: tuple[str, ...], tables: Tables, means: RequestMeans, declared: int | None = None
) -> list[EngineView]:
    """One view for each engine and each body of evidence: the rounds, and the counts of each drafter that an engine kept. `declared`: drafts of a
    full block, by the header."""
    chosen = [ENGINES[name] for name in names]
    rounds = _Rounds.of(tables, means, declared or _of_reports(tables)) if chosen else None
    views = [rounds.view(engine) for engine in chosen] if rounds else []
    for drafter in tables.drafters if chosen else []:
        for window in tables.engine(drafter):
            views += [_of_counts(engine, drafter, window) for engine in chosen]
    return views


def _of_reports(tables: Tables) -> int | None:
    """The length of a full block by the counts of an engine beside the rounds, where all of them give the same one."""
    found = {window.full for drafter in tables.drafters for window in tables.engine(drafter)}
    return found.pop() if len(found) == 1 else None


def _unlogged(tables: Tables) -> int:
    """Output tokens of requests beyond what their rounds gave, by the reports beside the rounds."""
    windows = [w for drafter in tables.drafters for w in tables.engine(drafter) if w.window == "request"]
    found = (window.sums("all_rounds", "rounds") for window in windows)
    return sum(max(sums.get(("all_rounds", 0), 0) - sums.get(("rounds", 0), 0), 0) for sums in found)


@dataclass(frozen=True, slots=True)
class _Rounds:
    """Kinds of rounds, how often each was seen in the trace and in its replicates, and the requests that they belong to. `unlogged`: rounds without
    a draft that stand in the output tokens of the requests, and not among the rounds."""

    shapes: Shapes
    seen: NDArray[np.int64]
    full: int
    requests: NDArray[np.int64]
    assumes: list[str]
    means: RequestMeans
    rates: Rates
    unlogged: int = 0

    @staticmethod
    def of(tables: Tables, means: RequestMeans, declared: int | None) -> _Rounds | None:
        """Of what was counted; None where no round was."""
        kinds = [kind for kind, seen in tables.shapes.items() if seen[0]]
        if not kinds:
            return None
        columns = np.array([kind[1:] for kind in kinds], np.int64).T
        shapes = Shapes(*columns[:-1])
        seen = np.array([tables.shapes[kind] for kind in kinds], np.int64).T
        output = means.of_each(("R", "G"), ("counting", key_of(PLAIN)))
        there = (output["R"] > 0) | (output["G"] > 0)
        longest = int(shapes.drafts.max())
        silent = int(seen[0] @ columns[-1])
        assumes = [OWN_ASSUMED.format(f"{silent:,}")] if silent else []
        assumes += [] if declared else [K_ASSUMED]
        requests = np.rint(means.weighed(there.astype(np.float64))).astype(np.int64)
        full, missing = max(longest, declared or 0), _unlogged(tables)
        return _Rounds(shapes, seen, full, requests, assumes, means, means.rates, missing)

    def view(self, engine: Engine) -> EngineView:
        """What this engine would print."""
        known = self._pooled(engine)
        return EngineView(
            engine.id,
            engine.title,
            ROUNDS,
            [made for figure in engine.figures for made in self._figures(engine, figure, known)],
            [*self.assumes, *_unconfirmed(engine)],
            {name: int(np.atleast_1d(known[name])[0]) for name in _shown(engine) if known[name] is not None},
            [*self._counting(engine)],
        )

    def _figures(self, engine: Engine, figure: Figure, known: Known) -> Iterator[EngineFigure]:
        if self.unlogged and (engine.counting.draftless or figure.symbols & {"G", "P"}):
            yield _made(engine, figure, Rate(figure.name, None, absent=UNLOGGED.format(f"{self.unlogged:,}")))
            return
        if figure.family in ("reach", "hazard"):
            yield from self._by_position(engine, figure, known)
            return
        each = self._each(engine) if figure.per == "request" else known
        try:
            top, bottom = evaluate(figure.top, each), evaluate(figure.bottom, each)
        except LookupError as missing:
            yield _made(engine, figure, Rate(figure.name, None, absent=_missing(missing)))
            return
        if figure.per == "request":
            some = bottom > 0
            ratio = np.divide(top, bottom, out=np.zeros(len(bottom)), where=some)
            top, bottom = (self.means.weighed(values) for values in (ratio, some.astype(np.float64)))
        yield _made(engine, figure, self._rate(figure, top, bottom, int(known["R"][0])))

    def _by_position(self, engine: Engine, figure: Figure, known: Known) -> Iterator[EngineFigure]:
        found = counted(self.shapes, engine.counting)
        bottom = known["R"] if figure.bottom in ("", "N") else evaluate(figure.bottom, known)
        seen = self.seen * found.R
        for position in range(1, min(MAX_POSITIONS, int(self.shapes.length.max())) + 1):
            survivors = seen @ (position <= found.A).astype(np.int64)
            if figure.bottom == "N":
                bottom = seen @ (position <= self.shapes.length).astype(np.int64)
            yield _made(engine, figure, self._rate(figure, survivors, bottom, int(bottom[0])), position)
            bottom = survivors if figure.family == "hazard" else bottom

    def _rate(self, figure: Figure, top: NDArray[Any], bottom: NDArray[Any], rounds: int) -> Rate:
        # The shares that Wilson's interval is for: of drafts or rounds that were accepted.
        share = figure.family in ("reach", "hazard") or (figure.top in ("A", "M") and figure.per == "all")
        proportion = share and figure.family != "length"
        return self.rates.rate(
            figure.name, top, bottom, rounds=rounds, proportion=proportion, absent="its denominator is 0"
        )

    def _pooled(self, engine: Engine) -> Known:
        """Counts by symbol, for the trace and its replicates; None where they are not known."""
        found = counted(self.shapes, engine.counting)
        known: Known = {name: self.seen @ getattr(found, name) for name in "ARDGFP"}
        known["G"] = known["G"] + (self.requests if engine.prefill_token else 0)
        known["P"] = known["P"] + self.requests
        matched = None if (found.M == UNKNOWN).any() else self.seen @ found.M
        return known | {"M": matched, "K": self.full, "n": self.requests}

    def _each(self, engine: Engine) -> Known:
        """Counts of every request, by symbol."""
        known: Known = dict(self.means.of_each(PER_REQUEST, ("counting", key_of(engine.counting))))
        there = (known["R"] > 0).astype(np.int64)
        known["G"] = known["G"] + (1 if engine.prefill_token else 0)
        return {name: values * there for name, values in known.items()} | {"K": self.full, "n": there}

    def _counting(self, engine: Engine) -> Iterator[str]:
        """How this engine counts those of these rounds that others count otherwise."""
        how, shapes = engine.counting, self.shapes
        if (shapes.ended > 0).any():
            yield _STOPS[how.stop]
        if (shapes.padding > 0).any():
            yield f"rounds of placeholders {'count as rounds that accepted nothing' if how.padding else 'do not count'}"
        if ((shapes.drafts == 0) & (shapes.padding == 0)).any():
            counted_in = "are in no counter but output tokens" if _prints_output(engine) else "are in no counter"
            yield f"rounds without a draft {'count' if how.draftless else counted_in}"


def _prints_output(engine: Engine) -> bool:
    return any("G" in figure.symbols for figure in engine.figures)


def _shown(engine: Engine) -> str:
    """The counts of a view; passes where one of its figures is made of them."""
    return "ARDKGnPM" if any("P" in figure.symbols for figure in engine.figures) else "ARDKGnM"


_STOPS = {
    "before": "where the output ends inside the accepted drafts, all of them count",
    "kept": "where the output ends inside the accepted drafts, those that reached it count",
    "less_one": "where the output ends inside the accepted drafts, the tokens that reached it less one count",
    "exllama": "where the output ends inside the accepted drafts, the one that ended it and all behind it count as neither accepted nor proposed",
}


def _unconfirmed(engine: Engine) -> list[str]:
    return [f"{engine.id}: {engine.unverified} (not confirmed)"] if engine.unverified else []


def _missing(missing: LookupError) -> str:
    name = missing.args[0]
    return f"{SYMBOLS[name]} not known" + (f": {NO_MATCHES}" if name == "M" else "")


def _of_counts(engine: Engine, drafter: str, window: Window) -> EngineView:
    """An engine's figures from the counts that another one, or itself, kept, as far as they tell what it would have counted."""
    figures: list[EngineFigure] = []
    assumes: list[str] = []
    for figure in engine.figures:
        found = window.counts(figure, engine)
        assumes += found.assumes
        for position in range(1, window.positions + 1) if figure.family in ("reach", "hazard") else (0,):
            rate = _mean(engine, figure, window) if figure.per == "request" else _from_counts(figure, found, position)
            if rate.reports is not None:
                assumes.append(
                    f"{figure.name} is of the {rate.reports:,} of {window.reports:,} reports that have its counts"
                )
            figures.append(_made(engine, figure, rate, position))
    of = f"{drafter}, counts of an engine: {window.window}"
    said = [f"{engine.id}: {text}" for text in dict.fromkeys(assumes)]
    return EngineView(engine.id, engine.title, of, figures, [*said, *_unconfirmed(engine)])


def _from_counts(figure: Figure, found: Found, position: int) -> Rate:
    """The figure, and the bounds that it has where counts follow from rounded figures: each count may be off by its half width."""
    if found.absent:
        return Rate(figure.name, None, absent=found.absent)
    ratio = figure.of(found.counts, position)
    if isinstance(ratio, str):
        return Rate(figure.name, None, absent=ratio)
    top, bottom = whole(ratio.numerator), whole(ratio.denominator)
    rate = Rate(figure.name, digits(ratio.value), top, bottom, reports=found.reports)
    if not found.loose:
        return rate
    values = [ratio.value, *(corner.value for corner in bounds(figure, found.counts, found.loose, position))]
    return _bounded(rate, min(values), max(values))


def _mean(engine: Engine, figure: Figure, window: Window) -> Rate:
    """The mean over those requests whose counts tell it."""
    total, requests, low, high = window.mean(figure, engine)
    if not requests:
        return Rate(figure.name, None, absent="no report is of one request and has these counts")
    value, least, most = (Fraction(sum_, requests * MEAN_UNIT) for sum_ in (total, low, high))
    rate = Rate(figure.name, digits(value), digits(value * requests), requests)
    return rate if least == most else _bounded(rate, least, most)


def _bounded(rate: Rate, low: Fraction, high: Fraction) -> Rate:
    return msgspec.structs.replace(rate, low=digits(low), high=digits(high), interval="rounding", source="estimated")


def _made(engine: Engine, figure: Figure, rate: Rate, position: int = 0) -> EngineFigure:
    return EngineFigure(
        figure.name,
        figure.family,
        position,
        figure.unit,
        figure.formula,
        figure.counts_in(engine.prefill_token),
        figure.where,
        rate,
    )
