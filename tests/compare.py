"""Holding a report against the slow reference."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from specdiag.report import Fates, Rate, Report
from tests.reference import figures

# Notes that count something else than the reference does: positions instead of blocks.
UNCOMPARED = {
    "probability_out_of_range",
    "no_header",
    "undeclared_drafter",
    "repeated_requests",
    "rounds_seen_again",
    "unknown_field",
    "unknown_type",
}
PRECISION = Fraction(1, 10**7)  # of sums kept in fixed point


def write_trace(path: Path, events: list[dict[str, Any]]) -> Path:
    """The events as a trace file."""
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def differences(report: Report, events: list[dict[str, Any]], *, engines: bool = False) -> list[str]:
    """Every figure in which the report and the reference differ; empty where they agree. `engines`: those of `--as`, too."""
    want = figures(events)
    out: list[str] = []

    def same(what: str, got: object, expected: object) -> None:
        if got != expected:
            out.append(f"{what}: got {got}, expected {expected}")

    _totals(report, want, same)
    for drafter in report.drafters:
        if drafter.id in want["drafters"]:
            _drafter(report, drafter.id, want, same)
    _engine(report, want["engine"], same)
    _shared(report, want, same)
    _sums(report, want, same)
    if engines:
        _engines(report, want["engines"], same)
    counted = {item.code: item.count for item in report.integrity if item.code not in UNCOMPARED}
    same("notes", counted, {code: n for code, n in want["notes"].items() if code not in UNCOMPARED and n})
    for identity in report.identities:
        same(f"identity {identity.name}", identity.holds, True)
    return out


Same = Callable[[str, object, object], None]


def _fates(fates: Fates, want: dict[str, Any], what: str, same: Same) -> None:
    names = (
        "proposed",
        "submitted",
        "gated",
        "accepted",
        "rejected",
        "discarded_own",
        "discarded_collateral",
        "unjudged",
        "judged",
        "committed",
    )
    for name in names:
        same(f"{what}.{name}", getattr(fates, name), want[name])


def _totals(report: Report, want: dict[str, Any], same: Same) -> None:
    _fates(report.fates, want["totals"], "totals", same)
    same("rounds", report.rounds, want["totals"]["rounds"])
    same("requests", report.requests.total, want["totals"]["requests"])
    same("drafters", {d.id for d in report.drafters if d.views["all"].blocks or d.abstained}, set(want["drafters"]))
    ratio(
        report.rates["committed_per_round"],
        want["totals"]["committed"] + want["totals"]["verifier_tokens"],
        want["totals"]["rounds"],
        same,
        not want["totals"]["verifier_tokens"],
    )


def ratio(rate: Rate, numerator: int | Fraction, denominator: int | Fraction, same: Same, absent: bool = False) -> None:
    """Check a rate's numerator, denominator and value."""
    if absent or not denominator:
        same(f"{rate.name} absent", (rate.value, bool(rate.absent)), (None, True))
        return
    near = abs(Fraction(rate.numerator or 0) - Fraction(numerator)) <= PRECISION * max(1, denominator)
    same(f"{rate.name} numerator {rate.numerator} against {float(numerator)}", near, True)
    same(f"{rate.name} denominator", rate.denominator, denominator)


def _drafter(report: Report, name: str, want: dict[str, Any], same: Same) -> None:
    (drafter,) = [d for d in report.drafters if d.id == name]
    mine = want["drafters"][name]
    _fates(drafter.views["all"].fates, mine, name, same)
    same(f"{name}.blocks", drafter.views["all"].blocks, mine["blocks"])
    same(f"{name}.abstained", drafter.abstained, mine["abstained"])
    for role in ("solo", "shared", "independent"):
        view = drafter.views[role]
        same(f"{name}.{role}.blocks", view.blocks, mine[role]["blocks"])
        for count in ("submitted", "accepted", "rejected", "judged", "committed"):
            same(f"{name}.{role}.{count}", getattr(view.fates, count), mine[role][count])
    for role, table in mine["positions"].items():
        got = {p.position: (p.accepted, p.at_risk) for p in drafter.views[role].positions}
        same(f"{name}.{role}.positions", got, {i: (a, r) for i, (a, r, _) in table.items()})
        for p in drafter.views[role].positions:
            ratio(p.reach, table[p.position][0], table[p.position][2], same)
    count, total = want["expected"].get(name, (0, Fraction(0)))
    ratio(drafter.views["all"].rates["expected_acceptance"], total, count, same)
    sent, kept = want["bytes"].get(name, (0, 0))
    ratio(drafter.views["all"].rates["draft_acceptance_per_byte"], kept, sent, same)


def _engine(report: Report, want: dict[str, Any], same: Same) -> None:
    same("drafters that an engine counted", {d.id for d in report.drafters if d.engine_window}, set(want))
    for drafter in report.drafters:
        window = drafter.engine_window
        if window is None or drafter.id not in want:
            continue
        mine = want[drafter.id]
        for name in ("window", "reports", "sources", "max_draft_tokens", "counts"):
            same(f"{drafter.id}: {name} of the engine's counts", getattr(window, name), mine[name])
        same(f"{drafter.id}: figures of an engine", set(drafter.engine_counts), set(mine["ratios"]))
        for name, expected in mine["ratios"].items():
            _estimate(drafter.engine_counts[name], f"{drafter.id}: {name}", expected, same)


def _estimate(rate: Rate, what: str, expected: Any, same: Same) -> None:
    """Check a ratio of an engine's counts, and the bounds that rounding leaves it."""
    if expected is None:
        same(f"{what} absent", (rate.value, bool(rate.absent)), (None, True))
        return
    above, below, offset, least, greatest = expected
    same(what, (rate.numerator, rate.denominator), (above, below))
    loose = least != greatest
    same(f"{what}, bounds", rate.interval, "rounding" if loose else None)
    value = Fraction(above, below) + offset
    for got, exact in ((rate.value, value), *(((rate.low, least), (rate.high, greatest)) if loose else ())):
        near = got is not None and abs(Fraction(got) - exact) <= PRECISION * max(exact, 1)
        same(f"{what}: {got} against {float(exact)}", near, True)


def _shared(report: Report, want: dict[str, Any], same: Same) -> None:
    mine = want["shared"]
    same("shared present", report.shared is not None, mine["rounds"] > 0)
    if report.shared is None:
        return
    same("shared.rounds", report.shared.rounds, mine["rounds"])
    same("shared.truncating", report.shared.truncating_rounds, mine["truncating_rounds"])
    same("shared.depth", report.shared.depth_tokens, mine["depth"])
    for count in ("submitted", "accepted", "rejected", "unjudged"):
        same(f"shared.{count}", getattr(report.shared.fates, count), mine[count])
    composed = want["composition"]
    rate = report.shared.rates["composition_acceptance"]
    same("composition absent", rate.value is None, composed is None)
    if composed is not None and rate.value is not None:
        same(f"composition {rate.value} against {float(composed)}", abs(rate.value - float(composed)) < 1e-9, True)
    inherited, rate = want["inherited"], report.shared.rates["inherited_acceptance"]
    same("inherited absent", rate.value is None, inherited is None)
    if inherited is not None and rate.value is not None:
        same(f"inherited {rate.value} against {float(inherited)}", abs(rate.value - float(inherited)) < 1e-9, True)
    for item in report.marginal:
        _marginal(item, want, same)


def _marginal(item: Any, want: dict[str, Any], same: Same) -> None:
    decided_accepted, decided, estimated_accepted, estimated = want["marginal"][item.drafter]
    absent = estimated_accepted is None
    ratio(item.joint_without, 0 if absent else decided_accepted + estimated_accepted, decided + estimated, same, absent)
    if decided + estimated:
        ratio(item.decided_share, decided, decided + estimated, same)
    shares = want["shapley"]
    if shares is None:
        same(f"shapley of {item.drafter}", item.shapley_share.value, None)
    elif sum(shares.values()):
        ratio_ = float(shares[item.drafter] / sum(shares.values()))
        same(
            f"shapley of {item.drafter}: {item.shapley_share.value} against {ratio_}",
            abs((item.shapley_share.value or 0) - ratio_) < 1e-9,
            True,
        )


def _engines(report: Report, want: dict[str, dict[str, int | None]], same: Same) -> None:
    views = {view.engine: view.counts for view in report.engines if view.of == "all rounds"}
    same("engines", set(views), set(want))
    for engine, counts in views.items():
        found = {name: counts.get(name) for name in want[engine]}
        same(f"counts of {engine}", found, want[engine])


def _sums(report: Report, want: dict[str, Any], same: Same) -> None:
    blame = report.blame
    got = {}
    if blame:
        got = {
            (i, j): n
            for i, row in zip(blame.drafters, blame.tokens, strict=True)
            for j, n in zip(blame.drafters, row, strict=True)
            if n
        }
        same("blame remainder", blame.remainder, 0)
    same("blame", got, {cell: n for cell, n in want["blame"].items() if n})
    positions, misses = want["recomputed"]
    ratio(report.rates["verdicts_recomputed"], positions - misses, positions, same)
    if report.thrash:
        same("reproposals", report.thrash.reproposal_rounds, want["thrash"]["reproposal_rounds"])
        same("no progress", report.thrash.no_progress_rounds, want["thrash"]["no_progress_rounds"])
        same("reproposed tokens", report.thrash.reproposed_tokens, want["thrash"]["reproposed_tokens"])
    fallback, asked = want["consensus"]
    same(
        "consensus",
        (report.consensus.fallback, report.consensus.steps) if report.consensus else (0, 0),
        (fallback, asked),
    )
