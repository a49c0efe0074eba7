"""Why the figures of several engines differ for the same rounds: in words, with the counts that make the difference here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from specdiag.engines.counting import Shapes
from specdiag.engines.definitions import Engine, symbols_of
from specdiag.report import EngineFigure, EngineView

NAMED = 6  # figures that a sentence names


def differences(views: Sequence[EngineView], engines: Sequence[Engine], shapes: Shapes | None) -> list[str]:
    """What makes figures of one family differ between these views, or within one; nothing that makes no difference here. `shapes`: the kinds of
    rounds that there were; None where only counts are known."""
    return [
        *_bonus(views),
        *_prefill(views),
        *_denominators(views),
        *_anywhere(views, engines),
        *_averages(views),
        *_rounds(engines, shapes),
    ]


def _of(views: Sequence[EngineView], family: str) -> Iterator[tuple[str, EngineFigure]]:
    for view in views:
        yield from ((view.id, figure) for figure in view.figures if figure.family == family)


def _names(found: Sequence[tuple[str, EngineFigure]]) -> str:
    return few([f"{name} `{figure.name}`" for name, figure in found])


def few(names: Iterable[str]) -> str:
    """The first names, each once, and how many more there are."""
    named = list(dict.fromkeys(names))
    more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
    return ", ".join(named[:NAMED]) + more


def _bonus(views: Sequence[EngineView]) -> Iterator[str]:
    for family in ("length", "rate"):
        found = [each for each in _of(views, family) if each[1].formula[:2] != "D "]
        inside = [each for each in found if each[1].bonus]
        outside = [each for each in found if not each[1].bonus]
        if inside and outside:
            yield f"{family}s: the verifier's own token of each round is in {_names(inside)}; it is not in {_names(outside)}"


def _prefill(views: Sequence[EngineView]) -> Iterator[str]:
    found = [each for family in ("length", "rate", "hazard", "reach") for each in _of(views, family)]
    inside = [each for each in found if each[1].prefill]
    if inside and len(inside) < len(found):
        n = next((view.counts["n"] for view in views if "n" in view.counts), None)
        one = "" if n is None else f", {n:,} in all"
        yield f"the token that prefill samples, one for each request{one}, is in {_names(inside)}, and in no other figure"


def _denominators(views: Sequence[EngineView]) -> Iterator[str]:
    below: dict[str, list[tuple[str, EngineFigure]]] = {}
    for each in _of(views, "rate"):
        below.setdefault(_bare(each[1].formula.rpartition(" / ")[2]), []).append(each)
    if len(below) > 1:
        parts = []
        for formula, found in below.items():
            figure = found[0][1]
            rate = figure.rates[0]
            value = "" if figure.per == "request" or rate.denominator is None else f" = {rate.denominator:,.0f}"
            parts.append(f"{formula}{value} in {_names(found)}")
        yield f"rates are taken of {'; of '.join(parts)}"


def _bare(formula: str) -> str:
    """A side of a formula without the brackets around all of it."""
    return formula[1:-1] if formula.startswith("(") else formula


def _anywhere(views: Sequence[EngineView], engines: Sequence[Engine]) -> Iterator[str]:
    for view, engine in zip(views, engines, strict=True):
        if any("M" in symbols_of(figure) for figure in engine.figures) and "M" in view.counts:
            yield (
                f"{view.id} counts drafts that match behind a refusal, too: {view.counts['M']:,} where "
                f"{view.counts.get('A', 0):,} were accepted"
            )


def _averages(views: Sequence[EngineView]) -> Iterator[str]:
    found = [each for family in ("length", "rate") for each in _of(views, family)]
    means = [each for each in found if each[1].per == "request"]
    more = max((view.counts.get("n", 0) for view in views), default=0) > 1
    if more and means and len(means) < len(found):
        yield f"means over requests: {_names(means)}; all others pool the counts of all rounds"


def _rounds(engines: Sequence[Engine], shapes: Shapes | None) -> Iterator[str]:
    """Rounds that some engines count and others do not, or not so."""
    if shapes is None:
        return
    ways = {engine.id: engine.counting for engine in engines}
    if (shapes.ended > 0).any():
        names = {
            "before": "count in full",
            "kept": "do not count",
            "recomputed": "are taken back, with one more",
            "abandoned": "are left out of both sides, with the one that ended it",
        }
        said = [
            f"{few(ids)}: they {names[stop]}" for stop, ids in _grouped({i: w.stop for i, w in ways.items()}).items()
        ]
        yield f"where the output ended inside the accepted drafts, what stands behind its end: {'; '.join(said)}"
    if (shapes.padding > 0).any():
        yield from _either(
            "rounds of placeholders count as rounds that accepted nothing", {i: w.padded for i, w in ways.items()}
        )
    if ((shapes.proposed == 0) & (shapes.padding == 0)).any():
        yield from _either("rounds without a draft count as rounds", {i: w.draftless for i, w in ways.items()})
    if (shapes.accepted < shapes.length).any():
        yield from _either(
            "rounds that are not accepted whole count again", {i: w.replay for i, w in ways.items()}, alone=False
        )


def _either(what: str, ways: dict[str, bool], *, alone: bool = True) -> Iterator[str]:
    yes, no = ([name for name, way in ways.items() if way is wanted] for wanted in (True, False))
    if (yes and no) or (yes and not alone):
        yield f"{what} in {few(yes)}" + (f"; not in {few(no)}" if no else "")
    elif alone and no:
        yield f"{what} in none of these"


def _grouped(values: dict[str, str]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for name, value in values.items():
        out.setdefault(value, []).append(name)
    return out
