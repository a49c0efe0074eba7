"""What engines would print for the rounds of a trace, or for counts that another engine kept: `--as`.

Definitions: specdiag/engines. Each engine's figures come from its own way to count a round; from bare counts no round can be counted again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specdiag.engines.catalogue import ENGINES
from specdiag.engines.counting import PLAIN, UNKNOWN, Counting, Shapes, counted
from specdiag.engines.definitions import SYMBOLS, Counts, Engine, Figure, Ratio, evaluate_arrays, symbols_of
from specdiag.measure.counters import Counters
from specdiag.measure.differences import differences
from specdiag.measure.intervals import Rates
from specdiag.measure.requests import RequestMeans
from specdiag.measure.tables import MAX_POSITIONS, Tables
from specdiag.report import EngineFigure, Engines, EngineView, Rate

Reals = NDArray[np.float64]
PER_REQUEST = ("A", "R", "D", "G")
NO_MATCHES = "matches behind a refusal are not known: the trace has neither p, q and u nor gap of every position"


def countings(asked: Iterable[str]) -> tuple[Counting, ...]:
    """The ways to count of which each request's counts are needed: of means over requests, and one to know the requests by."""
    ways = {PLAIN.key: PLAIN}
    for name in asked:
        for figure in ENGINES[name].figures:
            if figure.per == "request":
                how = figure.counting or ENGINES[name].counting
                ways[how.key] = how
    return tuple(ways.values())


def engines(
    asked: tuple[str, ...], tables: Tables, means: RequestMeans, kept: Counters | None, declared: int | None
) -> Engines:
    """The engines asked for, side by side. `kept`: counts of an engine, which stand in where there are no rounds; `declared`: the most drafts
    of a block that the header gives, where one drafter proposed."""
    rounds = _Rounds.of(tables, means, declared)
    views = []
    for name in dict.fromkeys(asked):
        engine = ENGINES[name]
        views.append(rounds.view(engine) if rounds else _of_counts(engine, kept or Counters(Counts())))
    return Engines(views, differences(views, [ENGINES[view.id] for view in views], rounds.shapes if rounds else None))


@dataclass(frozen=True, slots=True)
class _Rounds:
    """Kinds of rounds, how often each was seen in the trace and in its replicates, and the requests that they belong to."""

    shapes: Shapes
    seen: NDArray[np.int64]
    assumed: int
    full: int
    requests: Reals
    means: RequestMeans
    rates: Rates

    @staticmethod
    def of(tables: Tables, means: RequestMeans, declared: int | None) -> _Rounds | None:
        kinds = [kind for kind, seen in tables.shapes.items() if seen[0]]
        if not kinds:
            return None
        columns = np.array([kind[1:] for kind in kinds], np.int64).T
        shapes = Shapes(*columns[:-1])
        seen = np.array([tables.shapes[kind] for kind in kinds], np.int64).T
        output = means.of_each(("R", "G"), ("counting", PLAIN.key))
        there = (output["R"] > 0) | (output["G"] > 0)
        longest = int(shapes.proposed.max())
        return _Rounds(
            shapes=shapes,
            seen=seen,
            assumed=int(seen[0] @ columns[-1]),
            full=max(longest, declared or 0),
            requests=means.weighed(there.astype(np.float64)),
            means=means,
            rates=means.rates,
        )

    def view(self, engine: Engine) -> EngineView:
        """What this engine would print."""
        known = self._pooled(engine, engine.counting)
        counts = {name: int(known[name][0]) for name in ("A", "R", "D", "G", "n", "M") if known[name] is not None}
        return EngineView(
            id=engine.id,
            title=engine.title,
            basis="rounds",
            counts=counts | {"K": self.full},
            figures=[self._figure(engine, figure) for figure in engine.figures],
            counting=_said(engine),
            assumed=self.assumed,
        )

    def _figure(self, engine: Engine, figure: Figure) -> EngineFigure:
        how = figure.counting or engine.counting
        if figure.family in ("reach", "hazard"):
            return _described(engine, figure, self._positions(engine, figure, how))
        name = f"{engine.id}: {figure.name}"
        known = self._each(engine, how) if figure.per == "request" else self._pooled(engine, how)
        try:
            top, bottom = (evaluate_arrays(side, known) for side in (figure.top, figure.bottom))
        except LookupError as missing:
            reason = NO_MATCHES if missing.args[0] == "M" else f"{SYMBOLS[missing.args[0]]} not known"
            return _described(engine, figure, [Rate(name, None, absent=reason)])
        if figure.per == "request":
            some = bottom > 0
            ratio = np.divide(top, bottom, out=np.zeros(len(bottom)), where=some)
            top, bottom = (self.means.weighed(values) for values in (ratio, some.astype(np.float64)))
        proportion = figure.family == "rate" and figure.top in ("A", "M") and figure.per == "all"
        rounds = int(self._pooled(engine, how)["R"][0])
        rate = self.rates.rate(
            name, top, bottom, rounds=rounds, proportion=proportion, absent="no round that it counts", source="recorded"
        )
        return _described(engine, figure, [rate])

    def _positions(self, engine: Engine, figure: Figure, how: Counting) -> list[Rate]:
        found = counted(self.shapes, how, self.full)
        rounds = self._pooled(engine, how)["R"]
        longest = min(MAX_POSITIONS, int(self.shapes.length.max()))
        seen, out, before = self.seen * found.R, [], rounds
        for position in range(1, longest + 1):
            survivors = seen @ (position <= found.A).astype(np.int64)
            there = seen @ (position <= self.shapes.length).astype(np.int64)
            below = before if figure.family == "hazard" else there if figure.bottom == "N" else rounds
            out.append(
                self.rates.rate(
                    f"{engine.id}: {figure.name}[{position}]",
                    survivors,
                    below,
                    rounds=int(below[0]),
                    absent="no round came that far",
                )
            )
            before = survivors
        return out

    def _pooled(self, engine: Engine, how: Counting) -> dict[str, Any]:
        """Counts by symbol, for the trace and its replicates; None where they are not known."""
        found = counted(self.shapes, how, self.full)
        known: dict[str, Any] = {name: self.seen @ getattr(found, name) for name in PER_REQUEST}
        unknown = bool((found.M == UNKNOWN).any())
        n = np.rint(self.requests).astype(np.int64)
        known["R"] = known["R"] + (n if how.prefill_round else 0)
        known["G"] = known["G"] + (n if engine.prefill_token else 0)
        return known | {"M": None if unknown else self.seen @ found.M, "K": self.full, "n": n}

    def _each(self, engine: Engine, how: Counting) -> dict[str, Any]:
        """Counts of every request, by symbol."""
        known: dict[str, Any] = self.means.of_each(PER_REQUEST, ("counting", how.key))
        there = (known["R"] > 0).astype(np.int64)
        known["R"] = known["R"] + (there if how.prefill_round else 0)
        known["G"] = np.where(there, known["G"] + (1 if engine.prefill_token else 0), 0)
        return known | {"K": self.full, "n": there}


def _of_counts(engine: Engine, kept: Counters) -> EngineView:
    """The figures of an engine from counts that another one kept."""
    adapted = replace(kept, counts=_adapted(engine, kept))
    counts = {
        name: int(value)
        for name in ("A", "R", "D", "G", "K", "n", "M")
        if (value := getattr(adapted.counts, name)) is not None
    }
    figures = [_described(engine, figure, [*_from_counts(engine, figure, adapted)]) for figure in engine.figures]
    return EngineView(engine.id, engine.title, "counts", _carried(counts), figures, _said(engine))


def _carried(counts: dict[str, int]) -> dict[str, int]:
    """Counts as a report can carry them."""
    return {name: value for name, value in counts.items() if value < 1 << 63}


def _adapted(engine: Engine, kept: Counters) -> Counts:
    """The counts, with the token and the round of prefill as this engine has them."""
    counts = kept.counts
    output, rounds = counts.G, counts.R
    if output is not None and kept.prefill is not engine.prefill_token:
        changed = kept.prefill is not None and counts.n is not None
        output = output + (counts.n or 0) * (1 if engine.prefill_token else -1) if changed else None
    if engine.counting.prefill_round:
        rounds = None if rounds is None or counts.n is None else rounds + counts.n
    return replace(counts, G=output, R=rounds)


def _from_counts(engine: Engine, figure: Figure, kept: Counters) -> Iterable[Rate]:
    if figure.per == "request" and (kept.counts.n or 0) != 1:
        yield Rate(f"{engine.id}: {figure.name}", None, absent="it is a mean over requests, and the counts are sums")
        return
    by_position = figure.family in ("reach", "hazard")
    for position in (
        range(1, 1 + min(MAX_POSITIONS, len(kept.counts.S or ()))) if by_position and kept.counts.S else [0]
    ):

        def ratio(counts: Counts, position: int = position) -> tuple[Fraction, Fraction] | str:
            found = figure.of(counts, position)
            return (found.numerator, found.denominator) if isinstance(found, Ratio) else found

        name = f"{engine.id}: {figure.name}" + (f"[{position}]" if position else "")
        yield kept.rate(name, ratio, symbols_of(figure))


def _described(engine: Engine, figure: Figure, rates: list[Rate]) -> EngineFigure:
    top = figure.top
    positions = figure.family in ("reach", "hazard")
    how = figure.counting or engine.counting
    return EngineFigure(
        name=figure.name,
        family=figure.family,
        unit=figure.unit,
        formula=figure.formula,
        per=figure.per,
        where=figure.where,
        bonus="A + R" in top or ("G" in top and "- R" not in top),
        prefill=("G" in top and "- n" not in top and engine.prefill_token) or how.prefill_round,
        positions=positions,
        rates=rates,
        unverified=figure.unverified,
    )


_STOPS = {
    "before": "",
    "kept": "accepted drafts that did not reach the output do not count",
    "recomputed": "where the output ends inside the accepted drafts, the tokens that reached it less one count as accepted",
    "abandoned": "where the output ends inside the accepted drafts, the one that ended it and all behind it count as neither accepted nor proposed",
}


def _said(engine: Engine) -> list[str]:
    """How this engine counts what others count otherwise."""
    how = engine.counting
    said = [
        _STOPS[how.stop],
        "rounds of placeholders count" if how.padded else "",
        "rounds without a draft count" if how.draftless else "",
        "D is K for each round, whatever was proposed" if how.full_blocks else "",
        "a round that is not accepted whole is judged again and counts one more accepted" if how.replay else "",
        "prefill is a round of one token" if how.prefill_round else "",
    ]
    return [sentence for sentence in said if sentence]
