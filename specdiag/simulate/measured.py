"""Figures of simulated traces: each is a numerator and a denominator out of the report of `analyze`. Nothing is counted here."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from specdiag.analysis import analyze
from specdiag.files import written
from specdiag.report import Rate, Report
from specdiag.simulate.incident import Scenario, trace
from specdiag.simulate.parameters import Parameters
from specdiag.summary import Options


@dataclass(frozen=True, slots=True)
class Ratio:
    """A figure that pools: ratios add by numerators and denominators."""

    top: float = 0.0
    bottom: float = 0.0

    @classmethod
    def of(cls, *rates: Rate | None) -> Self:
        """The pooled ratio of these rates; what is absent adds nothing."""
        known = [rate for rate in rates if rate is not None and rate.numerator is not None and rate.denominator]
        return cls(sum(r.numerator or 0.0 for r in known), sum(r.denominator or 0.0 for r in known))

    def __add__(self, other: Self) -> Self:
        return type(self)(self.top + other.top, self.bottom + other.bottom)

    @property
    def value(self) -> float | None:
        """The ratio; None without a denominator."""
        return self.top / self.bottom if self.bottom else None


@dataclass(frozen=True, slots=True)
class PoolFigures:
    """Of a pool under a policy. `speed`: output tokens per second of engine time, over all rounds; `culprit`: the first row of the blame matrix."""

    joint: Ratio
    fallback: Ratio
    depth: Ratio
    speed: Ratio
    culprit: str


@dataclass(frozen=True, slots=True)
class AloneFigures:
    """Of each drafter by itself: acceptance, and output tokens per second."""

    acceptance: dict[str, Ratio]
    speed: dict[str, Ratio]

    @property
    def fastest(self) -> str:
        """The drafter with most tokens per second."""
        return max(self.speed, key=lambda name: (self.speed[name].value or 0.0, name))


def report_on(parameters: Parameters, scenario: Scenario, requests: int, seed: int, jobs: int = 1) -> Report:
    """Simulate to a file that is gone afterwards, and analyze it, strictly."""
    with tempfile.TemporaryDirectory(prefix="specdiag-") as folder:
        path = Path(folder) / "trace.jsonl"
        written(path, trace(parameters, scenario, requests, seed))
        return analyze(str(path), Options(strict=True, replicates=0, jobs=jobs))


def pool_figures(report: Report) -> PoolFigures:
    """The figures of a pool. A round is shared, or one drafter's, or one in which the drafter abstained and the verifier decoded alone, which
    the report counts with that drafter's: together these are all rounds."""
    shared = report.shared.rates if report.shared else {}
    time = report.time.rates if report.time else {}
    return PoolFigures(
        joint=Ratio.of(shared.get("joint_acceptance")),
        fallback=Ratio.of(report.consensus.fallback_rate if report.consensus else None),
        depth=Ratio.of(shared.get("truncation_depth")),
        speed=Ratio.of(time.get("tokens_per_second_shared"), time.get("tokens_per_second_independent")),
        culprit=report.blame.drafters[0] if report.blame else "",
    )


def alone_figures(report: Report) -> AloneFigures:
    """The figures of drafters by themselves."""
    time = report.time.rates if report.time else {}
    return AloneFigures(
        {d.id: Ratio.of(d.views["independent"].rates["draft_acceptance"]) for d in report.drafters},
        {d.id: Ratio.of(time.get(f"tokens_per_second_of_{d.id}")) for d in report.drafters},
    )
