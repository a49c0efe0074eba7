"""Figures from counts that an engine kept, where it logged no rounds: sums over its reports, and rates of these sums.

A rate is made of the reports that have all counts which it needs: one without rounds says nothing of a length, and must not add to one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from specdiag.engines.definitions import Counts
from specdiag.measure.tally import EngineKind
from specdiag.report import EngineWindow, Rate

ROUND_TOKENS = "round_tokens"  # output without the tokens of prefill
COUNTERS = ("rounds", "proposed", "accepted", "matched", "completion_tokens", ROUND_TOKENS, "requests")
_SYMBOLS = {"R": "rounds", "D": "proposed", "A": "accepted", "M": "matched", "G": ROUND_TOKENS, "n": "requests"}
_NEEDED = _SYMBOLS | {"S": "reached"}
ABSENT = "the engine did not log these counts"
NOTHING = "the engine counted none to divide by"
RATIOS = "the engine printed ratios without counts"


class Window:
    """The counts of one drafter over one kind of window."""

    def __init__(self, window: str, kinds: dict[EngineKind, int], most: int) -> None:
        self.window = window
        self._by_known: dict[frozenset[str], dict[tuple[str, int], int]] = {}
        for kind, number in kinds.items():
            if kind.name != "reached" or kind.position <= most:
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

    def counts(self, symbols: set[str], prefill_token: bool) -> Counts:
        """The counts by the symbols of the definitions, over the reports that have all of these. `prefill_token`: whether G is to hold the tokens
        of prefill."""
        symbols = symbols | ({"n"} if "G" in symbols and prefill_token else set())
        sums = self.sums(*(_NEEDED[symbol] for symbol in symbols if symbol in _NEEDED))
        found: dict[str, Any] = {symbol: sums.get((name, 0)) for symbol, name in _SYMBOLS.items()}
        reached = tuple(sums.get(("reached", i), 0) for i in range(1, self.positions + 1))
        # A counter that only some of these reports have is no sum over them.
        found = {s: n if s in symbols else None for s, n in found.items()}
        if prefill_token and found["G"] is not None and found["n"] is not None:
            found["G"] += found["n"]
        return Counts(**found, K=_full(sums), S=reached if "S" in symbols and reached else None)

    def widths(self, symbols: set[str]) -> dict[str, int]:
        """By how much the estimated ones of these counts may be off."""
        sums = self.sums(*(_NEEDED[symbol] for symbol in symbols if symbol in _NEEDED))
        logged = _NEEDED | {"G": "completion_tokens"}
        found = {symbol: sums.get((f"{logged[symbol]}±", 0), 0) for symbol in sorted(symbols & logged.keys())}
        return {symbol: width for symbol, width in found.items() if width}

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
        counts = {name: sums[name, 0] for name in COUNTERS if (name, 0) in sums and name != ROUND_TOKENS}
        by_source = [number for (name, _), number in sums.items() if name == "source"]
        reports = sums.get(("events", 0), 0)
        sources = len(by_source) + (reports > sum(by_source))
        return EngineWindow(self.window, reports, {n: _whole(c) for n, c in counts.items()}, sources, _full(sums))

    def rates(self) -> Iterator[Rate]:
        """Acceptance, length, output a round where it is counted, and what came to each position."""
        yield self._rate("engine_draft_acceptance", "accepted", "proposed")
        yield self._rate("engine_acceptance_length", "accepted", "rounds", offset=1)
        if self.sums("completion_tokens", "rounds").get(("rounds", 0)):
            yield self._rate("engine_output_per_round", "completion_tokens", "rounds")
        for position in range(1, self.positions + 1):
            yield self._rate("engine_position_reach", "reached", "rounds", position)
            if position == 1:
                yield self._rate("engine_position_acceptance", "reached", "rounds", position)
            else:
                yield self._rate("engine_position_acceptance", "reached", "reached", position)

    def _rate(self, name: str, top: str, bottom: str, position: int = 0, offset: int = 0) -> Rate:
        sums = self.sums(top, bottom)
        below = position - 1 if top == bottom else 0
        upper, lower = sums.get((top, position)), sums.get((bottom, below))
        if upper is None or not lower:
            return Rate(name, None, absent=ABSENT if upper is None or lower is None else NOTHING)
        widths = sums.get((f"{top}±", 0), 0), sums.get((f"{bottom}±", 0), 0)
        value = _digits(upper / lower + offset)
        if not any(widths):
            return Rate(name, value, _whole(upper), _whole(lower))
        low = _digits(max(upper - widths[0], 0) / (lower + widths[1]) + offset)
        high = _digits((upper + widths[0]) / max(lower - widths[1], 1) + offset)
        high = high if bottom == "rounds" and top != "reached" else min(high, 1.0)
        return Rate(name, value, _whole(upper), _whole(lower), low, high, "rounding", "estimated")


def engine_rates(windows: list[Window], printed: bool = False) -> tuple[dict[str, Rate], EngineWindow | None]:
    """The rates of the window that covers most, by name (and position), and which window it is: windows overlap, so they are not added.
    `printed`: whether there are figures that the engine printed without counts."""
    if not windows:
        return {}, None
    chosen = max(windows, key=lambda window: window.covers)
    rates: dict[str, Rate] = {}
    summary = chosen.summary
    for rate in chosen.rates():
        if printed and not summary.counts:
            rate = Rate(rate.name, None, absent=RATIOS)
        positional = rate.name.startswith("engine_position")
        number = sum(name.startswith(f"{rate.name}_") for name in rates) + 1
        rates[f"{rate.name}_{number}" if positional else rate.name] = rate
    return rates, summary


def _full(sums: dict[tuple[str, int], int]) -> int | None:
    """The length of a full block, where every report gives the same one."""
    found = [(position, number) for (name, position), number in sums.items() if name == "full_block"]
    return found[0][0] if len(found) == 1 and found[0][1] == sums.get(("events", 0)) else None


def _whole(number: int) -> int | float:
    """A count, which may be larger than a number in an array or in a report."""
    return number if number < 1 << 63 else float(number)


def _digits(value: float) -> float:
    return float(f"{value:.12g}")
