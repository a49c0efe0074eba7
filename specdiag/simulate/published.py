"""The published figures of the incident, and whether a simulation comes to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specdiag.errors import UsageError
from specdiag.simulate.ablation import Baseline, Row, Say, Spread, baseline, measure
from specdiag.simulate.incident import Alone
from specdiag.simulate.measured import alone_figures, report_on
from specdiag.simulate.parameters import Parameters
from specdiag.simulate.policy import ENFORCED, NAIVE

ALONE = {"code": 0.68, "prose": 0.61, "reasoning": 0.54}
CULPRIT = "reasoning"
ACCEPTANCE, FALLBACK, RATIO = 0.03, 0.05, 0.17  # tolerances; that of the ratio is a tenth


@dataclass(frozen=True, slots=True)
class Line:
    """A published figure and the measured one. It holds if every seed lies between `least` and `most`."""

    name: str
    said: str
    least: float
    most: float
    measured: Spread

    @property
    def holds(self) -> bool:
        """Whether every seed is within the tolerance."""
        low, high = self.measured.low, self.measured.high
        return low is not None and high is not None and self.least <= low and high <= self.most


def _near(name: str, value: float, tolerance: float, measured: Spread) -> Line:
    return Line(name, f"{value:.2f} ± {tolerance:.2f}", value - tolerance, value + tolerance, measured)


def check(
    parameters: Parameters, requests: int, seeds: Sequence[int], jobs: int = 1, say: Say = lambda _: None
) -> tuple[Baseline, list[Line], Row, Row]:
    """Every published figure, measured; the baseline, and the rows of both policies. UsageError for a pool of other domains."""
    who = {drafter.domain: drafter.id for drafter in parameters.drafters}
    if set(who) != set(ALONE):
        raise UsageError(
            f"drafters for {', '.join(who)}", f"The published figures are of drafters for {', '.join(ALONE)}."
        )
    say("each drafter alone, on its own domain")
    own = Alone(own_domain=True, block=parameters.alone_block)
    alone = [alone_figures(report_on(parameters, own, requests, seed, jobs)) for seed in seeds]
    say("each drafter alone, on all requests")
    against = baseline(parameters, requests, seeds, jobs)
    say("naive")
    naive = measure(parameters, NAIVE, against, requests, seeds, jobs)
    say("enforced")
    enforced = measure(parameters, ENFORCED, against, requests, seeds, jobs)
    lines = [
        _near(
            f"acceptance of {who[domain]} on its domain",
            value,
            ACCEPTANCE,
            Spread.of([a.acceptance[who[domain]] for a in alone]),
        )
        for domain, value in ALONE.items()
    ]
    lines += [
        _near("joint acceptance, naive", 0.19, ACCEPTANCE, naive.figures["joint"]),
        _near("joint acceptance, enforced", 0.52, ACCEPTANCE, enforced.figures["joint"]),
        _near("fallback, naive", 0.80, FALLBACK, naive.figures["fallback"]),
        _near("fallback, enforced", 0.14, FALLBACK, enforced.figures["fallback"]),
        _near("throughput ratio, enforced", 1.7, RATIO, enforced.figures["throughput"]),
        Line("truncation depth, enforced", "< 2.5", 0.0, 2.5, enforced.figures["depth"]),
    ]
    return against, lines, naive, enforced


def culprit_found(parameters: Parameters, naive: Row) -> bool:
    """Whether the first row of the blame matrix was the reasoning drafter's for every seed."""
    return naive.culprits == tuple(d.id for d in parameters.drafters if d.domain == CULPRIT)


def table(
    parameters: Parameters, against: Baseline, lines: Sequence[Line], naive: Row, requests: int, seeds: Sequence[int]
) -> str:
    """As text, in 78 columns."""
    out = [f"{'':39}{'published':>12}{'measured':>9}  lowest–highest"]
    for line in lines:
        m = line.measured
        span = "—" if m.low is None or m.high is None else f"{m.low:.3f}–{m.high:.3f}"
        value = "—" if m.value is None else f"{m.value:.3f}"
        out.append(f"{line.name:39}{line.said:>12}{value:>9}  {span:11}  {'ok' if line.holds else 'OUT'}")
    found = culprit_found(parameters, naive)
    out.append(f"{'most blame, naive':39}{CULPRIT:>12}  {', '.join(naive.culprits):20}  {'ok' if found else 'OUT'}")
    out += [
        "",
        f"{requests:,} requests, {len(seeds)} seed{'s' if len(seeds) > 1 else ''}, pooled. ok: every seed is within the tolerance.",
        f"throughput ratio: over {against.drafter} by itself on the same requests at its",
        "best block length.",
    ]
    return "\n".join(out) + "\n"
