"""What the faces for people show of a report, under which heading and in which order.

The JSON has everything. A person gets the figures that answer the next question, the same ones in a terminal and in a
comment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from specdiag.report import Drafter, Integrity, Position, Rate, Report, View

MOST_POSITIONS = 8
MOST_CURVES = 6
MOST_SLICES = 20

# heading -> view of the drafter, name of the rate
COLUMNS = {
    "alone": ("solo", "draft_acceptance"),
    "shared": ("shared", "draft_acceptance"),
    "position 1": ("all", "position_acceptance"),
    "expected": ("all", "expected_acceptance"),
    "length": ("all", "acceptance_length"),
}
WIDE_COLUMNS = {
    "all": ("all", "draft_acceptance"),
    "judged": ("all", "judged_acceptance"),
    "per byte": ("all", "draft_acceptance_per_byte"),
    "waste": ("all", "waste"),
}
_KEYS = {
    "alone": "draft_acceptance, no block of another drafter before it in its chain",
    "shared": "draft_acceptance, in a chain with another drafter's block",
    "position 1": "position_acceptance[1]",
    "length": "acceptance_length, 1 + the ratio",
}
SHARED_RATES = (
    "joint_acceptance",
    "joint_acceptance_request_mean",
    "inherited_acceptance",
    "composition_acceptance",
    "interaction",
    "independent_acceptance",
    "committed_per_round_shared",
    "truncation_rate",
    "truncation_depth",
    "truncation_depth_when_truncated",
)
OUTPUT_RATES = (
    "draft_acceptance",
    "draft_acceptance_request_mean",
    "judged_acceptance",
    "expected_acceptance",
    "draft_acceptance_per_byte",
    "acceptance_length",
    "committed_per_round",
    "draft_coverage",
    "waste",
    "verdicts_recomputed",
)
SLICE_RATES = (
    "draft_acceptance",
    "position_acceptance",
    "joint_acceptance",
    "position_reach",
    "judged_acceptance",
    "acceptance_length",
    "committed_per_round",
)
FATES = ("gated", "accepted", "rejected", "discarded_own", "discarded_collateral", "unjudged")
PRINTED_KEY = "as printed by the engine, not recomputed: there are no counts to recompute it from"
BLAME_KEY = "row: whose token was refused; column: whose tokens were dropped"
MARGINAL_KEY = (
    "joint: joint_without; change: joint_change; per round: committed_per_round_without; decided: decided_share, "
    "what the log decides, the rest is estimated; Shapley: shapley_share of the expected loss."
)


def pick(rates: Mapping[str, Rate], names: Sequence[str]) -> dict[str, Rate]:
    """The rates of these names, in this order; a name that the report lacks is passed over."""
    return {name: rates[name] for name in names if name in rates}


def _rate_of(drafter: Drafter, view: str, name: str) -> Rate | None:
    if view not in drafter.views:
        return None
    if name == "position_acceptance":
        return next((each.acceptance for each in drafter.views[view].positions if each.position == 1), None)
    return drafter.views[view].rates.get(name)


def known_scope(report: Report) -> bool:
    """Whether the scope is said by the headline already: of counts alone, of one drafter."""
    return not report.has_rounds and report.headline.verdict == report.scope.status == "out_of_scope"


def bounded(rates: Iterable[Rate]) -> bool:
    """Whether any of these has an interval or bounds."""
    return any(rate.low is not None or rate.high is not None for rate in rates)


def engine_figures(drafter: Drafter) -> tuple[dict[str, Rate], dict[str, list[Rate]]]:
    """The rates of an engine's counts: those that are one figure each, and those by position."""
    plain = {name: rate for name, rate in drafter.engine_counts.items() if name == rate.name}
    by_position: dict[str, list[Rate]] = {}
    for name, rate in drafter.engine_counts.items():
        if name != rate.name and rate.value is not None:
            by_position.setdefault(rate.name, []).append(rate)
    return plain, by_position


def drafter_columns(report: Report, *, wide: bool = False) -> dict[str, list[Rate | None]]:
    """The columns of the drafter table, by heading. One in which no drafter has a figure is left out."""
    named = COLUMNS | (WIDE_COLUMNS if wide else {})
    columns = {head: [_rate_of(drafter, *key) for drafter in report.drafters] for head, key in named.items()}
    return _with_values(columns)


def _with_values(columns: Mapping[str, list[Rate | None]]) -> dict[str, list[Rate | None]]:
    return {head: rates for head, rates in columns.items() if any(rate and rate.value is not None for rate in rates)}


def column_key(heads: Iterable[str]) -> str:
    """Which definition each heading of the drafter table stands for."""
    named = COLUMNS | WIDE_COLUMNS
    terms = [f"{head}: {_KEYS.get(head, named[head][1])}" for head in heads]
    return f"{'; '.join(terms)}. All blocks unless said otherwise."


def marginal_columns(report: Report) -> dict[str, list[Rate]]:
    """The columns of the table of marginal values, by heading."""
    rows = report.marginal
    return {
        "joint": [row.joint_without for row in rows],
        "change": [row.joint_change for row in rows],
        "per round": [row.committed_per_round_without for row in rows],
        "decided": [row.decided_share for row in rows],
        "Shapley": [row.shapley_share for row in rows],
    }


def slice_columns(report: Report) -> dict[str, list[Rate | None]]:
    """The columns of the rows of `--by`: the rates that any row has."""
    rows = report.slices[:MOST_SLICES]
    return _with_values({name: [row.rates.get(name) for row in rows] for name in SLICE_RATES})


def problems_first(report: Report) -> list[Integrity]:
    """The notes on the input, those that end strict mode first."""
    return sorted(report.integrity, key=lambda note: note.severity != "problem")


def drawn(positions: Sequence[Position]) -> bool:
    """Whether there is a curve to draw: some position has a figure."""
    return any(position.acceptance.value is not None for position in positions)


def curves(report: Report) -> list[tuple[Drafter, list[tuple[str, View]]]]:
    """The curves of each drafter, most submitted tokens first: alone and shared, else over all its blocks."""
    every = [(drafter, _curves_of(drafter)) for drafter in sorted(report.drafters, key=_submitted, reverse=True)]
    return [(drafter, views) for drafter, views in every if views]


def _submitted(drafter: Drafter) -> int:
    return drafter.views["all"].fates.submitted if "all" in drafter.views else 0


def _curves_of(drafter: Drafter) -> list[tuple[str, View]]:
    titles = {"solo": "alone", "shared": "shared", "all": "all blocks"}
    views = {key: drafter.views[key] for key in titles if key in drafter.views and drawn(drafter.views[key].positions)}
    if len(views) > 1:
        views.pop("all", None)
    return [(titles[key], view) for key, view in views.items()]
