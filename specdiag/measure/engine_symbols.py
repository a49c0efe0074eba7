"""The counts of one report of an engine, by name: as it logged them, and as others would count the same.

Derived counts rest on one identity: each round gives its accepted drafts and one token of the verifier, prefill one a request, and a round without
a draft one. So output tokens tell rounds without a draft, where there are more of them, and drafts behind a stop, where there are fewer; of one
report only the difference of the two is known, and the other one is taken to be none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from specdiag.engines.catalogue import ENGINES
from specdiag.engines.definitions import PLAIN, Counting, Counts, Engine, Figure, Ratio
from specdiag.trace.events import TallyEvent

COUNTERS = ("rounds", "proposed", "accepted", "matched", "completion_tokens", "requests")
MEAN_UNIT = 1 << 60
"""Means over requests are sums of ratios in this fixed point, since sums of floats depend on their order."""

DIVISORS = frozenset("RDGP")
"""Counts that figures are divided by: of one that is estimated and not 0 there is one at least."""

Sums = Mapping[str, int]


class Names(NamedTuple):
    """Which counter is a symbol of the definitions: the one that counts as the engine does, and the one that may stand for it."""

    exact: str
    instead: str


def names_of(engine: Engine) -> dict[str, Names]:
    """The counters that this engine's symbols are."""
    how = engine.counting
    stop = {"before": "accepted_before", "kept": "accepted_kept"}.get(how.stop, "accepted_less_one")
    return {
        "A": Names(stop, "accepted"),
        "R": Names("all_rounds" if how.draftless else "drafted_rounds", "rounds"),
        "D": Names("proposed_to_stop" if how.stop == "exllama" else "proposed", "proposed"),
        "G": Names(*["full_tokens" if engine.prefill_token else "round_tokens"] * 2),
        "P": Names("passes", "passes"),
        "M": Names("matched", "matched"),
        "n": Names("requests", "requests"),
    }


def counters_of(event: TallyEvent) -> dict[str, int]:
    """The counters of a report, as far as they are known.

    `round_tokens`, `full_tokens`: output without and with the tokens of prefill; `drafted_rounds`, `all_rounds`: rounds with a draft, and with those
    without; `passes`: these and prefill; `cut`: accepted drafts behind a stop, `ended`: outputs that a draft ended, of an engine that counts none
    behind it; `accepted_before`, `accepted_kept`, `accepted_less_one`, `proposed_to_stop`: as engines count that look for a stop later or first. A
    name with `±`: by how much it may be off.
    """
    engine = ENGINES.get(event.definitions or "")
    how = engine.counting if engine else PLAIN
    logged = {name: getattr(event, name) for name in COUNTERS}
    found = {name: number for name, number in logged.items() if number is not None}
    for name, width in (event.estimated or {}).items():
        found[f"{name}±"] = width
    _output(found, prefill=engine is None or engine.prefill_token)
    if "rounds" in found and not how.draftless:
        found["drafted_rounds"] = found["rounds"]
        _spread(found, "drafted_rounds", "rounds")
    if {"accepted", "rounds"} <= found.keys():
        _passes(found, draftless=how.draftless)
    if "accepted" in found:
        _to_stop(found, how.stop, one=event.requests == 1)
    return found


def _output(found: dict[str, int], *, prefill: bool) -> None:
    output, requests = found.get("completion_tokens"), found.get("requests")
    if output is None:
        return
    if requests is not None:
        found["round_tokens"], found["full_tokens"] = (
            (max(output - requests, 0), output) if prefill else (output, output + requests)
        )
    found["full_tokens" if prefill else "round_tokens"] = output
    for name in {"full_tokens", "round_tokens"} & found.keys():
        _spread(found, name, "completion_tokens", "requests")


def _passes(found: dict[str, int], *, draftless: bool) -> None:
    """Passes of the verifier. Where rounds are estimated, and the output is not, it is the better source."""
    accepted, rounds = found["accepted"], found["rounds"]
    loose = found.get("accepted±", 0) + found.get("rounds±", 0)
    of_output = found["round_tokens"] - accepted if "round_tokens" in found else None
    if of_output is not None and of_output < rounds - loose:
        found["cut"] = rounds - of_output
    elif of_output is not None:
        found["cut"] = 0
    if of_output is not None and not draftless and of_output >= rounds - found.get("rounds±", 0):
        found["all_rounds"] = of_output if found.get("rounds±") else max(of_output, rounds)
        _spread(found, "all_rounds", "accepted", "round_tokens")
    elif of_output is not None or draftless:
        found["all_rounds"] = rounds
        _spread(found, "all_rounds", "rounds")
    if "all_rounds" in found and "requests" in found:
        found["passes"] = found["all_rounds"] + found["requests"]
        _spread(found, "passes", "all_rounds", "requests")
    elif "full_tokens" in found and "requests" not in found and not draftless:
        found["passes"] = max(found["full_tokens"] - accepted, rounds)
        _spread(found, "passes", "accepted", "full_tokens")


def _to_stop(found: dict[str, int], stop: str, *, one: bool) -> None:
    """Accepted and proposed drafts as engines count them that look for a stop before, while or after they count."""
    accepted = found["accepted"]
    cut = found.pop("cut", None) if stop != "before" else found.get("cut")
    known: dict[str, int] = {}
    if stop == "before":
        known["accepted_before"] = accepted
        if cut is not None:
            known["accepted_less_one"] = max(accepted - cut, 0)
        if cut == 0 or (cut and one):
            known["accepted_kept"] = max(accepted - cut + bool(cut), 0)
    elif stop == "kept":
        known["accepted_kept"] = accepted
        if cut is not None:  # each such output is a token short of 1 + A_r in its last round
            found["ended"] = cut
            known["accepted_less_one"] = max(accepted - cut, 0)
            known |= {} if cut else {"accepted_before": accepted}
    else:
        known["accepted_less_one"] = accepted
    for name, number in known.items():
        found[name] = number
        _spread(found, name, "accepted")
    if "proposed" in found and (stop == "exllama" or cut == 0):
        found["proposed_to_stop"] = found["proposed"]
        _spread(found, "proposed_to_stop", "proposed")


def _spread(found: dict[str, int], name: str, *of: str) -> None:
    width = sum(found.get(f"{part}±", 0) for part in of)
    if width:
        found[f"{name}±"] = width


class Mean(NamedTuple):
    """A figure that is a mean over requests, and the counters that its symbols are. `name`: the counter of its sum; `of NAME` is that of its
    requests, `below NAME` and `above NAME` hold by how much estimated ones may be off."""

    name: str
    figure: Figure
    names: dict[str, Names]


@cache
def mean_of(engine: str, figure: str) -> Mean:
    """The mean that this figure of an engine is."""
    found = ENGINES[engine].figure(figure)
    assert found is not None
    counters = names_of(ENGINES[engine])
    names = {symbol: counters[symbol] for symbol in sorted(found.symbols & counters.keys())}
    return Mean(f"{found.formula}: {', '.join(pair.exact for pair in names.values())}", found, names)


@cache
def _means() -> tuple[Mean, ...]:
    """Every mean over requests that some engine prints, each kind once."""
    every = (mean_of(engine.id, f.name) for engine in ENGINES.values() for f in engine.figures if f.per == "request")
    return tuple({mean.name: mean for mean in every}.values())


def means_of(event: TallyEvent, counters: Sums) -> dict[str, int]:
    """What the report of one request adds to the sums of means over requests."""
    if event.window != "request" or event.requests != 1:
        return {}
    out: dict[str, int] = {}
    for name, figure, pairs in _means():
        names = {symbol: _there(counters, pair) for symbol, pair in pairs.items()}
        known: dict[str, Any] = {symbol: counters.get(counter) for symbol, counter in names.items()}
        counts = Counts(**known, K=event.max_draft_tokens)
        ratio = figure.of(counts)
        if not isinstance(ratio, Ratio):
            continue
        value = _fixed(ratio)
        out |= {name: value, f"of {name}": 1}
        loose = {s: width for s, counter in names.items() if (width := counters.get(f"{counter}±"))}
        if loose:
            corners = [value, *map(_fixed, bounds(figure, counts, loose))]
            out |= {f"below {name}": value - min(corners), f"above {name}": max(corners) - value}
    return out


def _fixed(ratio: Ratio) -> int:
    return ratio.numerator * MEAN_UNIT // ratio.denominator


def _there(counters: Sums, names: Names) -> str:
    """The counter that there is; what is known to hold more than it should stands for nothing."""
    cut = names.exact != names.instead and names.instead in ("accepted", "proposed") and wrong_of(counters)
    return names.exact if names.exact in counters or cut else names.instead


def wrong_of(counters: Mapping[Any, int], key: Callable[[str], Any] = str) -> int:
    """Drafts behind a stop that are counted, or outputs that a draft ended where none is: then accepted drafts are not those of another engine."""
    return counters.get(key("cut"), 0) or counters.get(key("ended"), 0)


def drafted_of(event: TallyEvent) -> list[int] | None:
    """Rounds with at least so many drafts, from one on: as logged; where all blocks are full, all rounds; else of the first position alone, which
    every round has."""
    if event.drafted is not None:
        return event.drafted
    rounds = event.rounds
    if rounds is None or _counting(event).draftless:
        return None
    return [rounds] * (max(len(event.reached or []), 1) if _full_blocks(event) else 1)


def drafted_whole(event: TallyEvent) -> bool:
    """Whether its rounds by drafts are known at all positions, and not at the first alone."""
    return event.drafted is not None or _full_blocks(event)


def _full_blocks(event: TallyEvent) -> bool:
    rounds, full = event.rounds, event.max_draft_tokens
    exact = not {"rounds", "proposed"} & (event.estimated or {}).keys()
    return bool(rounds is not None and full and event.proposed == rounds * full and exact)


def _counting(event: TallyEvent) -> Counting:
    engine = ENGINES.get(event.definitions or "")
    return engine.counting if engine else PLAIN


def bounds(figure: Figure, counts: Counts, loose: Mapping[str, int], position: int = 0) -> list[Ratio]:
    """The figure at the ends of what counts may be that are off by so much: a ratio of sums of products is monotone in each count."""
    corners = (figure.of(_moved(counts, loose, signs), position) for signs in product((-1, 1), repeat=len(loose)))
    return [corner for corner in corners if isinstance(corner, Ratio)]


def _moved(counts: Counts, loose: Mapping[str, int], signs: tuple[int, ...]) -> Counts:
    changed: dict[str, Any] = {}
    for (symbol, width), sign in zip(loose.items(), signs, strict=True):
        if symbol == "S":
            changed["S"] = tuple(max(number + sign * width, 0) for number in counts.S or ())
        else:
            now = getattr(counts, symbol)
            changed[symbol] = max(now + sign * width, int(symbol in DIVISORS and now > 0))
    return replace(counts, **changed)
