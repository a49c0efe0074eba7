"""The eight policies that take or leave each of the three measures, measured on the same requests, as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from specdiag.simulate.incident import Alone, Pool
from specdiag.simulate.measured import AloneFigures, PoolFigures, Ratio, alone_figures, pool_figures, report_on
from specdiag.simulate.parameters import Parameters
from specdiag.simulate.policy import EVERY, Policy

FIGURES = ("joint", "fallback", "depth", "throughput")
MARGIN = 11  # columns of a figure


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over seeds: pooled, and of the seeds the lowest and the highest."""

    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, ratios: Sequence[Ratio], against: Sequence[Ratio] | None = None) -> Spread:
        """Of one ratio for each seed; against others (of the same seeds), as a quotient."""
        pooled = sum(ratios, Ratio()).value
        values = [ratio.value for ratio in ratios]
        if against is not None:
            pooled = _quotient(pooled, sum(against, Ratio()).value)
            values = [_quotient(value, other.value) for value, other in zip(values, against, strict=True)]
        known = [value for value in values if value is not None]
        return cls(pooled, min(known, default=None), max(known, default=None))


def _quotient(top: float | None, bottom: float | None) -> float | None:
    return None if top is None or not bottom else top / bottom


@dataclass(frozen=True, slots=True)
class Baseline:
    """One drafter by itself on all requests, at its best block length: the fastest one over all seeds."""

    drafter: str
    speed: list[Ratio]


@dataclass(frozen=True, slots=True)
class Row:
    """One policy's figures; `throughput` is its tokens per second over the baseline's."""

    policy: Policy
    figures: dict[str, Spread]
    culprits: tuple[str, ...]


Say = Callable[[str], None]


def baseline(parameters: Parameters, requests: int, seeds: Sequence[int], jobs: int = 1) -> Baseline:
    """The fastest drafter by itself."""
    singles = [
        alone_figures(report_on(parameters, Alone(own_domain=False, block=None), requests, seed, jobs))
        for seed in seeds
    ]
    pooled = AloneFigures({}, {name: sum((s.speed[name] for s in singles), Ratio()) for name in parameters.ids})
    return Baseline(pooled.fastest, [single.speed[pooled.fastest] for single in singles])


def measure(
    parameters: Parameters, policy: Policy, against: Baseline, requests: int, seeds: Sequence[int], jobs: int = 1
) -> Row:
    """One row."""
    runs = [pool_figures(report_on(parameters, Pool(policy), requests, seed, jobs)) for seed in seeds]
    return row_of(policy, runs, against)


def row_of(policy: Policy, runs: Sequence[PoolFigures], against: Baseline) -> Row:
    """A row from the figures of each seed."""
    figures = {name: Spread.of([getattr(run, name) for run in runs]) for name in FIGURES[:3]}
    figures["throughput"] = Spread.of([run.speed for run in runs], against.speed)
    return Row(policy, figures, tuple(sorted({run.culprit for run in runs})))


def ablation(
    parameters: Parameters, requests: int, seeds: Sequence[int], jobs: int = 1, say: Say = lambda _: None
) -> tuple[Baseline, list[Row]]:
    """All eight rows. `say` is told which one is next."""
    say("each drafter alone")
    against = baseline(parameters, requests, seeds, jobs)
    rows = []
    for policy in EVERY:
        say(f"measures: {policy.measures}")
        rows.append(measure(parameters, policy, against, requests, seeds, jobs))
    return against, rows


def table(rows: Iterable[Row], against: Baseline, requests: int, seeds: Sequence[int]) -> str:
    """As text, in 78 columns."""
    out = [f"{'partition  attribution  reproposal':34}" + "".join(f"{name:>{MARGIN}}" for name in FIGURES).rstrip()]
    for row in rows:
        marks = (row.policy.partition, row.policy.attribution, row.policy.reproposal)
        left = "{:9}  {:11}  {:10}".format(*("yes" if mark else "no" for mark in marks))
        spreads = [row.figures[name] for name in FIGURES]
        out.append(f"{left:34}" + "".join(f"{_number(s.value):>{MARGIN}}" for s in spreads))
        if len(seeds) > 1:
            out.append(" " * 34 + "".join(f"{_number(s.low, 2)}–{_number(s.high, 2)}".rjust(MARGIN) for s in spreads))
    out += ["", f"{requests:,} requests, {_counted(seeds)}."]
    if len(seeds) > 1:
        out[-1] += " Pooled; below it, the lowest and the highest seed."
    out += [
        "joint: joint_acceptance; fallback: consensus_fallback_rate; depth:",
        "truncation_depth; throughput: tokens per second of all rounds, over those of",
        f"{against.drafter} by itself on the same requests at its best block length.",
    ]
    return "\n".join(out) + "\n"


def _counted(seeds: Sequence[int]) -> str:
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"


def _number(value: float | None, digits: int = 3) -> str:
    return "—" if value is None else f"{value:.{digits}f}"
