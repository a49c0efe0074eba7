"""Figures from counts that an engine kept, where it logged no rounds: sums over its reports, and rates of these sums.

A rate is made of the reports that have all counts which it needs: one without rounds says nothing of a length, and must not add to one.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from specdiag.engines.definitions import SYMBOLS, Counts, Engine, Figure
from specdiag.measure.engine_symbols import COUNTERS, Names, mean_of, names_of, wrong_of
from specdiag.measure.tally import EngineKind
from specdiag.report import EngineWindow, Rate

ABSENT = "the engine did not log these counts"
NOTHING = "the engine counted none to divide by"
RATIOS = "the engine printed ratios without counts"
_NO_STOP = "no output is taken to have ended inside accepted drafts, which these counts do not tell"
TAKEN = {
    "R": "rounds without a draft, which these counts do not tell, are taken to be none",
    "A": _NO_STOP,
    "D": _NO_STOP,
}
_ONE_OF_TWO = {
    "more": "output tokens above the counts are taken to be rounds without a draft, and no draft to stand behind a stop",
    "less": "output tokens below the counts are taken to be drafts behind a stop, and no round to be without a draft",
}
_DERIVED = {"all_rounds", "passes", "accepted_kept", "accepted_less_one", "proposed_to_stop"}
_BEHIND = {
    "accepted_before": "accepted drafts behind a stop are not among these, and how many is not known",
    "accepted_kept": "accepted drafts behind a stop are among these, and in how many requests is not known",
    "proposed_to_stop": "proposed drafts behind a stop are among these, and how many is not known",
}


class Found(NamedTuple):
    """The counts for a figure, by how much they may be off, what is assumed of them; or why they are not there."""

    counts: Counts
    loose: dict[str, int]
    assumes: list[str]
    absent: str = ""
    reports: int | None = None


class Window:
    """The counts of one drafter over one kind of window."""

    def __init__(self, window: str, kinds: dict[EngineKind, int], most: int) -> None:
        self.window = window
        self._by_known: dict[frozenset[str], dict[tuple[str, int], int]] = {}
        for kind, number in kinds.items():
            if kind.name not in ("reached", "came", "behind", "drafted") or kind.position <= most:
                known = frozenset(kind.known.split(","))
                self._by_known.setdefault(known, {})[kind.name, kind.position] = number
        self._sums: dict[tuple[str, ...], dict[tuple[str, int], int]] = {}

    def sums(self, *needed: str) -> dict[tuple[str, int], int]:
        """Sums by counter and position, over the reports that have all the counters asked for."""
        if needed not in self._sums:
            out = self._sums[needed] = {}
            for known, counters in self._by_known.items():
                if known.issuperset(needed):
                    for counter, number in counters.items():
                        out[counter] = out.get(counter, 0) + number
        return self._sums[needed]

    def counts(self, figure: Figure, engine: Engine) -> Found:
        """The counts of a figure by its symbols, as its engine counts, over the reports that have all of them."""
        candidates = {symbol: names for symbol, names in names_of(engine).items() if symbol in figure.symbols}
        names = {symbol: self._chosen(pair) for symbol, pair in candidates.items()}
        behind = next((_BEHIND[name] for name in names.values() if name in _BEHIND and self._partly(name)), None)
        if behind:  # of the others alone it would be that of requests without a cut
            return Found(Counts(), {}, [], behind)
        assumes = [TAKEN[symbol] for symbol, pair in candidates.items() if names[symbol] != pair.exact]
        by_position = {"S": "reached", "N": "drafted"}
        needed = names | {s: name for s, name in by_position.items() if s in figure.symbols}
        sums = self.sums(*needed.values())
        if not sums:
            return Found(Counts(), {}, [], self._why_not(needed))
        found: dict[str, Any] = {symbol: sums.get((name, 0)) for symbol, name in names.items()}
        for symbol, name in by_position.items():
            if symbol in needed:
                # Of reports whose blocks were cut short only the first position's rounds with a draft are known.
                last = 1 if name == "drafted" and sums.get(("undrafted", 0)) else self.positions
                found[symbol] = tuple(sums.get((name, i), 0) for i in range(1, last + 1))
        assumes += [*self._told(sums, set(names.values()))]
        loose = {symbol: sums.get((f"{name}±", 0), 0) for symbol, name in sorted(needed.items())}
        width = {s: width for s, width in loose.items() if width}
        return Found(Counts(**found, K=_full(sums)), width, assumes, reports=self._fewer(sums))

    def _fewer(self, sums: dict[tuple[str, int], int]) -> int | None:
        """How many reports these sums are of, where they are not of all."""
        some, every = (of.get(("events", 0), 0) for of in (sums, self.sums()))
        return some if some < every else None

    def _partly(self, name: str) -> bool:
        """Whether some reports have this counter, and others have it not, though they have the one that is cut."""
        some, every = (self.sums(of).get(("events", 0), 0) for of in (name, "accepted"))
        return 0 < some < every

    @staticmethod
    def _told(sums: dict[tuple[str, int], int], names: set[str]) -> Iterator[str]:
        """What is taken to be so where a derived counter tells rounds without a draft, or drafts behind a stop: output has but their difference."""
        rounds, requests = (sums.get((name, 0), 0) for name in ("rounds", "requests"))
        # Where n is not known, passes alone tell.
        more = sums.get(("all_rounds", 0), 0) > rounds or sums.get(("passes", 0), 0) > rounds + requests
        if names & _DERIVED and more:
            yield _ONE_OF_TWO["more"]
        if names & _DERIVED and wrong_of(sums, _at_0):
            yield _ONE_OF_TWO["less"]

    def mean(self, figure: Figure, engine: Engine) -> tuple[int, int, int, int]:
        """Of a mean over requests: the sum of their ratios, their number, and the bounds of the sum, in MEAN_UNIT."""
        name, sums = mean_of(engine.id, figure.name).name, self.sums()
        total, requests, below, above = (sums.get((f"{of}{name}", 0), 0) for of in ("", "of ", "below ", "above "))
        return total, requests, total - below, total + above

    def _chosen(self, names: Names) -> str:
        """The counter to take: the exact one, where as many reports have it as have the other, or where the other one is known to be wrong."""
        if names.exact == names.instead:
            return names.exact
        sums = self.sums()
        wrong = names.instead in ("accepted", "proposed") and wrong_of(sums, _at_0)
        exact, instead = (self.sums(name).get(("events", 0), 0) for name in names)
        return names.exact if wrong or exact == instead else names.instead

    def _why_not(self, needed: dict[str, str]) -> str:
        """Which counts no report has, in the words of the definitions."""
        if not self.summary.counts:
            return RATIOS
        missing = [symbol for symbol, name in needed.items() if not self.sums(name)]
        behind = next((_BEHIND[needed[symbol]] for symbol in missing if needed[symbol] in _BEHIND), None)
        if behind and wrong_of(self.sums(), _at_0):
            return behind
        if self.sums("completion_tokens"):  # of them, those of prefill cannot be told
            missing = ["n" if symbol == "G" else symbol for symbol in missing]
        words = " and ".join(SYMBOLS[symbol] for symbol in dict.fromkeys(missing or needed))
        return f"{words} not known" + ("" if missing else " of the same report")

    @property
    def reports(self) -> int:
        """How many reports there are."""
        return self.sums().get(("events", 0), 0)

    @property
    def full(self) -> int | None:
        """The length of a full block, where every report gives the same one."""
        return _full(self.sums())

    @property
    def positions(self) -> int:
        """Positions that are listed."""
        return max((position for name, position in self.sums() if name == "reached"), default=0)

    @property
    def covers(self) -> tuple[int, int, int]:
        """Rounds, drafts and reports: to find the window that covers most."""
        sums = self.sums()
        return sums.get(("rounds", 0), 0), sums.get(("proposed", 0), 0), sums.get(("events", 0), 0)

    @property
    def summary(self) -> EngineWindow:
        """Which window, how many reports, and their sums as far as they are there."""
        sums = self.sums()
        counts = {name: sums[name, 0] for name in COUNTERS if (name, 0) in sums}
        by_source = [number for (name, _), number in sums.items() if name == "source"]
        reports = sums.get(("events", 0), 0)
        sources = len(by_source) + (reports > sum(by_source))
        estimated = [name for name in COUNTERS if sums.get((f"{name}±", 0))]
        numbers = {name: whole(number) for name, number in counts.items()}
        return EngineWindow(self.window, reports, numbers, sources, _full(sums), estimated)

    def rates(self) -> Iterator[Rate]:
        """Acceptance, length, output a round where it is counted, and what came to each position."""
        yield self._rate("engine_draft_acceptance", "accepted", "proposed")
        yield self._rate("engine_acceptance_length", "accepted", "rounds", offset=1)
        if self.sums("completion_tokens", "rounds").get(("rounds", 0)):
            yield self._rate("engine_output_per_round", "completion_tokens", "rounds")
        for position in range(1, self.positions + 1):
            yield self._rate("engine_position_reach", "reached", "rounds", position)
            yield self._rate("engine_position_acceptance", "came", "behind", position)

    def _rate(self, name: str, top: str, bottom: str, position: int = 0, offset: int = 0) -> Rate:
        sums = self.sums(top, bottom)
        upper, lower = sums.get((top, position)), sums.get((bottom, position if bottom == "behind" else 0))
        if upper is None or not lower:
            return Rate(name, None, absent=ABSENT if upper is None or lower is None else NOTHING)
        below = ("rounds" if position == 1 else "reached") if bottom == "behind" else bottom
        above = "reached" if top == "came" else top
        widths = sums.get((f"{above}±", 0), 0), sums.get((f"{below}±", 0), 0)
        value = digits(upper / lower + offset)
        fewer = self._fewer(sums)
        if not any(widths):
            return Rate(name, value, whole(upper), whole(lower), reports=fewer)
        low = digits(max(upper - widths[0], 0) / (lower + widths[1]) + offset)
        high = digits((upper + widths[0]) / max(lower - widths[1], 1) + offset)
        high = min(high, 1.0) if above == "reached" or bottom == "proposed" else high
        return Rate(name, value, whole(upper), whole(lower), low, high, "rounding", "estimated", reports=fewer)


class EngineRates(NamedTuple):
    """The rates of one window, by name (and position); which it is; and the others."""

    rates: dict[str, Rate]
    window: EngineWindow | None
    others: list[EngineWindow]


def engine_rates(windows: list[Window], printed: bool = False) -> EngineRates:
    """The rates of the window that covers most: windows overlap, so they are not added. `printed`: whether there are figures that the engine
    printed without counts."""
    if not windows:
        return EngineRates({}, None, [])
    chosen = max(windows, key=lambda window: window.covers)
    rates: dict[str, Rate] = {}
    summary = chosen.summary
    for rate in chosen.rates():
        if printed and not summary.counts:
            rate = Rate(rate.name, None, absent=RATIOS)
        positional = rate.name.startswith("engine_position")
        number = sum(name.startswith(f"{rate.name}_") for name in rates) + 1
        rates[f"{rate.name}_{number}" if positional else rate.name] = rate
    return EngineRates(rates, summary, [window.summary for window in windows if window is not chosen])


def _at_0(name: str) -> tuple[str, int]:
    return name, 0


def _full(sums: dict[tuple[str, int], int]) -> int | None:
    """The length of a full block, where every report gives the same one."""
    found = [(position, number) for (name, position), number in sums.items() if name == "full_block"]
    return found[0][0] if len(found) == 1 and found[0][1] == sums.get(("events", 0)) else None


def whole(number: int) -> int | float:
    """A count, which may be larger than a number in an array or in a report."""
    return number if abs(number) < 1 << 63 else float(number)


def digits(value: float | Fraction) -> float:
    """A value without the noise of its last bits."""
    return float(f"{float(value):.12g}")
