"""The rounds of a trace under the definitions of engines: what each would print, and what it counts in.

The counts of an engine are sums over shapes of rounds (shapes.py), counted as that engine counts (`Counting`), for the trace and for each replicate;
or, where a log has only an engine's counts, these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specdiag.engines.catalogue import ENGINES
from specdiag.engines.definitions import SYMBOLS, Counting, Engine, Figure, Ratio, evaluate
from specdiag.measure.engine_counts import Window
from specdiag.measure.intervals import Rates
from specdiag.measure.requests import RequestMeans
from specdiag.measure.shapes import REQUEST_SUMS
from specdiag.measure.tables import MAX_POSITIONS, Row, Tables
from specdiag.measure.tally import Requests, ShapeKind, Tally
from specdiag.measure.weights import poisson_weights
from specdiag.report import EngineFigure, EngineView, Rate
from specdiag.trace.blocks import STOP_CODES

OWN_ASSUMED = "no token of the verifier's own is logged: one is taken for every round whose accepted tokens all reached the output"
K_ASSUMED = "a full block is taken to be the longest one seen"
ROUNDS = "all rounds"
REQUESTS_AT_ONCE = 512

Known = dict[str, Any]
"""Symbols of the definitions: a row (trace, replicates) each, or a number; `S` a row for each position."""


def engine_views(
    names: tuple[str, ...], tables: Tables, means: RequestMeans, tally: Tally, declared: int | None
) -> list[EngineView]:
    """One view for each engine and each body of evidence: the rounds, and the counts of each drafter that an engine kept. `declared`: drafts of a
    full block, by the header."""
    chosen = [ENGINES[name] for name in names]
    views = [_of_rounds(engine, tables, means, tally, declared) for engine in chosen] if tables.shapes else []
    for drafter in tables.drafters:
        for window in tables.engine(drafter):
            views += [_of_counts(engine, drafter, window) for engine in chosen]
    return views


def _of_rounds(engine: Engine, tables: Tables, means: RequestMeans, tally: Tally, declared: int | None) -> EngineView:
    shapes = tables.shapes
    longest = max(max(shape.drafts for shape in shapes), declared or 0)
    logged = any(shape.own for shape in shapes)
    requests = _requests(tally, means)
    known = _symbols(engine, shapes, longest, logged) | {"n": requests, "K": longest}
    if engine.prefill_token:
        known["G"] = known["G"] + requests
    assumes = [] if logged else [OWN_ASSUMED]
    assumes += [] if declared else [K_ASSUMED]
    figures = [made for figure in engine.figures for made in _figures(engine, figure, known, means, tally, logged)]
    return EngineView(engine.id, engine.title, ROUNDS, figures, assumes)


def _symbols(engine: Engine, shapes: dict[ShapeKind, Row], longest: int, logged: bool) -> Known:
    """The engine's counts of these rounds."""
    counting, zero = engine.counting, np.zeros(len(next(iter(shapes.values()))), np.int64)
    known: Known = dict.fromkeys("ARDGMF", zero) | {"S": [zero] * min(longest, MAX_POSITIONS)}
    for shape, number in shapes.items():
        own = shape.own if logged else int(shape.kept == shape.accepted and shape.stop == 0)
        known["G"] = known["G"] + number * (shape.kept + own)
        padding = shape.stop == STOP_CODES["padding"]
        if (padding and not counting.padding) or (not shape.drafts and not counting.draftless):
            continue
        accepted, drafts = _counted(counting, shape, own)
        matched = accepted if shape.matched < 0 and not shape.drafts - shape.accepted else shape.matched
        known["R"] = known["R"] + number
        known["A"] = known["A"] + number * accepted
        known["D"] = known["D"] + number * drafts
        known["F"] = known["F"] + number * (accepted == drafts)
        known["M"] = None if known["M"] is None or matched < 0 else known["M"] + number * matched
        known["S"] = [row + number * (accepted > i) for i, row in enumerate(known["S"])]
    return known


def _counted(counting: Counting, shape: ShapeKind, own: int) -> tuple[int, int]:
    """(accepted, drafts) of a round, as the engine counts them."""
    cut = shape.kept < shape.accepted
    if counting.stop == "kept":
        return shape.kept, shape.drafts
    if counting.stop == "exllama" and shape.stop == STOP_CODES["eos"] and (cut or not own):
        # The draft that ends the output is neither accepted nor refused, and what stands behind it is not counted.
        return max(shape.kept - 1, 0), max(shape.kept - 1, 0)
    if counting.stop == "less_one" and shape.drafts:
        return max(min(shape.accepted, shape.kept + own - 1), 0), shape.drafts
    return shape.accepted, shape.drafts


def _requests(tally: Tally, means: RequestMeans) -> Row:
    """The number of requests, for the trace and for each replicate."""
    keys = means.keys
    total = np.zeros(1 + tally.replicates, np.int64)
    total[0] = len(keys)
    for begin in range(0, len(keys) if tally.replicates else 0, REQUESTS_AT_ONCE):
        weights = poisson_weights(keys[begin : begin + REQUESTS_AT_ONCE], tally.replicates, means.seed)
        total[1:] += weights.sum(axis=0).astype(np.int64)
    return total


def _figures(
    engine: Engine, figure: Figure, known: Known, means: RequestMeans, tally: Tally, logged: bool
) -> Iterator[EngineFigure]:
    if figure.family in ("reach", "hazard"):
        before = known["R"]
        for position, row in enumerate(known["S"], 1):
            bottom = before if figure.family == "hazard" else known["R"]
            yield _made(engine, figure, _rate(means.rates, figure, row, bottom), position)
            before = row
        return
    if figure.per == "request":
        yield _made(engine, figure, _mean(engine, figure, known, means, tally, logged))
        return
    try:
        top, bottom = evaluate(figure.top, known), evaluate(figure.bottom, known)
    except LookupError as missing:
        yield _made(engine, figure, Rate(figure.name, None, absent=_missing(missing)))
        return
    yield _made(engine, figure, _rate(means.rates, figure, top, bottom))


def _missing(missing: LookupError) -> str:
    name = missing.args[0]
    return f"{SYMBOLS[name]} not known" + (": p, q and u of every draft would tell" if name == "M" else "")


def _rate(rates: Rates, figure: Figure, top: NDArray[Any], bottom: NDArray[Any]) -> Rate:
    proportion = figure.family != "length"
    return rates.rate(figure.name, top, bottom, proportion=proportion, absent="its denominator is 0")


def _mean(engine: Engine, figure: Figure, known: Known, means: RequestMeans, tally: Tally, logged: bool) -> Rate:
    """The mean over requests of a ratio, from the sums of each request."""
    keys, columns = tally.requests.table()
    sums: Known = {}
    for name in REQUEST_SUMS:
        at, values = columns.get((name, "as", ""), (keys[:0], np.empty(0, np.int64)))
        sums[name] = np.zeros(len(keys), np.int64)
        sums[name][np.searchsorted(keys, at)] = values
    if not logged:
        sums["G"] = sums["A"] + sums["R"]
    if engine.counting.padding:
        sums["R"], sums["D"] = sums["R"] + sums["padding R"], sums["D"] + sums["padding D"]
    ones = np.ones(len(keys), np.int64)
    sums |= {"n": ones, "K": known["K"]}
    sums["G"] = sums["G"] + ones if engine.prefill_token else sums["G"]
    try:
        top, bottom = (evaluate(side, sums) * ones for side in (figure.top, figure.bottom))
    except LookupError as missing:
        return Rate(figure.name, None, absent=_missing(missing))
    derived = Tally(tally.replicates, requests=Requests())
    derived.requests.add(keys, {("submitted", "as", ""): (keys, bottom), ("accepted", "as", ""): (keys, top)})
    return RequestMeans(derived, means.seed, means.level).of(figure.name, ("as", ""))


def _of_counts(engine: Engine, drafter: str, window: Window) -> EngineView:
    """An engine's figures from the counts that another one, or itself, kept."""
    figures = []
    for figure in engine.figures:
        counts = window.counts(figure.symbols, engine.prefill_token)
        for position in range(1, window.positions + 1) if figure.family in ("reach", "hazard") else (0,):
            ratio = (
                "the counts of single requests not known" if figure.per == "request" else figure.of(counts, position)
            )
            figures.append(_made(engine, figure, _plain(figure, ratio), position))
    return EngineView(engine.id, engine.title, f"{drafter}, counts of an engine: {window.window}", figures, [])


def _plain(figure: Figure, ratio: Ratio | str) -> Rate:
    if isinstance(ratio, str):
        return Rate(figure.name, None, absent=ratio)
    top, bottom = (n if abs(n) < 1 << 63 else float(n) for n in (ratio.numerator, ratio.denominator))
    return Rate(figure.name, float(f"{ratio.numerator / ratio.denominator:.12g}"), top, bottom)


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
