"""Headway: output per round, thrash, consensus, and tokens per second."""

from __future__ import annotations

import numpy as np

from specdiag.measure.intervals import Rates
from specdiag.measure.shared import Reals
from specdiag.measure.tables import Tables
from specdiag.measure.tally import INDEPENDENT, SHARED
from specdiag.report import Consensus, Rate, Thrash, Time


def output_rates(tables: Tables, rates: Rates) -> dict[str, Rate]:
    """Tokens that reached the output, per round and by who made them. `rounds` are those with a verdict that was not aborted or padding."""
    rounds = tables.rounds(lambda key: key.judged)
    drafted = tables.blocks.total("committed")
    added = tables.rounds(lambda key: key.verifier_token)
    unknown = "" if added[0] else "the log has no correction or bonus tokens (verdict.next)"
    known = rounds if added[0] else rounds * 0
    drawn, misses = tables.sums("drawn_positions"), tables.sums("drawn_misses")
    return {
        "committed_per_round": rates.rate(
            "committed_per_round", drafted + added, known, proportion=False, absent=unknown
        ),
        "committed_drafted_per_round": rates.rate("committed_drafted_per_round", drafted, rounds, proportion=False),
        "draft_coverage": rates.rate(
            "draft_coverage", drafted, (drafted + added) * (known > 0), rounds=int(rounds[0]), absent=unknown
        ),
        "verdicts_recomputed": rates.rate(
            "verdicts_recomputed",
            drawn - misses,
            drawn,
            rounds=int(drawn[0]),
            source="recomputed",
            absent="no judged position with p, q and u",
        ),
    }


def thrash(tables: Tables, rates: Rates) -> Thrash | None:
    """Rounds without headway; None where no round was judged."""
    rounds = tables.rounds(lambda key: key.judged)
    if not rounds[0]:
        return None
    again, nothing = tables.rounds(lambda key: key.reproposal), tables.rounds(lambda key: key.no_progress)
    either = tables.rounds(lambda key: key.reproposal or key.no_progress)
    tokens, drafting = tables.sums("reproposed_tokens"), tables.sums("draft_ns")
    every = tables.rounds(lambda _: True)
    return Thrash(
        int(every[0]),
        int(again[0]),
        int(nothing[0]),
        int(tokens[0]),
        {
            "thrash_rate": rates.rate("thrash_rate", either, every, rounds=int(every[0])),
            "reproposed_per_committed": rates.rate(
                "reproposed_per_committed",
                tokens,
                tables.blocks.total("committed"),
                proportion=False,
                absent="nothing was committed",
            ),
            "truncated_work_ms_share": rates.rate(
                "truncated_work_ms_share",
                tables.sums("draft_ns_cut") / 1e9,
                drafting / 1e9,
                proportion=False,
                absent="no drafting times (proposal.ms)",
            ),
        },
    )


def consensus(tables: Tables, rates: Rates) -> Consensus | None:
    """Outcomes of the votes and fates of the effects; None where neither was logged."""
    outcomes, effects = tables.events("consensus"), tables.events("effect")
    if not outcomes and not effects:
        return None
    none = tables.rounds(lambda _: False)
    fallback, agreed = outcomes.get("fallback", none), outcomes.get("agreed", none)
    steps = fallback + agreed
    return Consensus(
        int(steps[0]),
        int(agreed[0]),
        int(fallback[0]),
        rates.rate(
            "consensus_fallback_rate", fallback, steps, rounds=int(steps[0]), absent="no step asked for consensus"
        ),
        {action: int(effects[action][0]) if action in effects else 0 for action in ("stage", "commit", "discard")},
    )


def time(tables: Tables, rates: Rates, drafters: list[str]) -> Time | None:
    """Tokens per second of logged time on shared rounds, and on the rounds of each drafter alone; None where no round is fully timed."""
    if not tables.sums("timed_rounds")[0]:
        return None
    figures = {"tokens_per_second_shared": _speed("tokens_per_second_shared", tables, rates, None)}
    figures["tokens_per_second_independent"] = _speed("tokens_per_second_independent", tables, rates, {*drafters})
    alone: dict[str, Rate] = {}
    for drafter in drafters:
        rate = _speed(f"tokens_per_second_of_{drafter}", tables, rates, {drafter})
        if rate.value is not None:
            alone[drafter] = figures[rate.name] = rate
    best = max(alone, key=lambda name: (alone[name].value or 0, name), default=None)
    figures["throughput_ratio"] = _ratio("throughput_ratio", tables, rates, {best or ""}, "one drafter alone")
    figures["shared_against_independent"] = _ratio(
        "shared_against_independent", tables, rates, {*drafters}, "independent branches"
    )
    return Time("logged times of drafting and verifying, added up: engine time, not wall clock", figures, best)


def _speed(name: str, tables: Tables, rates: Rates, whose: set[str] | None) -> Rate:
    tokens, nanoseconds = _tokens_and_ns(tables, whose)
    return rates.rate(name, tokens, nanoseconds / 1e9, proportion=False, absent="no fully timed round of this kind")


def _tokens_and_ns(tables: Tables, whose: set[str] | None) -> tuple[Reals, Reals]:
    """Of the rounds of these drafters alone; of the shared rounds where none are given."""

    role = SHARED if whose is None else INDEPENDENT
    tokens, spent = (tables.sums(name, lambda flags: flags == role, whose) for name in ("timed_tokens", "timed_ns"))
    return tokens.astype(float), spent.astype(float)


def _ratio(name: str, tables: Tables, rates: Rates, whose: set[str] | None, against: str) -> Rate:
    """Tokens per second on shared rounds over those on the rounds of these drafters alone."""
    (tokens, spent), (alone_tokens, alone_spent) = _tokens_and_ns(tables, None), _tokens_and_ns(tables, whose)
    if not spent[0] or not alone_tokens[0]:
        return Rate(name, None, absent=f"needs fully timed shared rounds and fully timed rounds of {against}")
    with np.errstate(divide="ignore", invalid="ignore"):
        return rates.value(name, tokens / spent / (alone_tokens / alone_spent), "recorded")
