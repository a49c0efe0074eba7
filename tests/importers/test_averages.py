"""One set of rounds has four lengths by aggregation alone: each comes out of the definition that gives it."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from specdiag.engines.catalogue import ENGINES
from specdiag.engines.definitions import Counts, Figure, Ratio
from specdiag.engines.printed import differing
from specdiag.trace.consistency import counts_of
from specdiag.trace.events import TallyEvent
from tests.importers.common import tallies
from tests.importers.test_aiperf import PROFILE


def test_aggregation_alone() -> None:
    """Rounds of 0, 1, 3, 2 and of 0 drafts (vllm#42508): 2.20 pooled, 1.75 the mean, 2.375 the mean of SGLang's lengths, 2.60 its pooled one."""
    requests = tallies(PROFILE, "aiperf/profile")
    assert _by("aiperf", "spec_decode_token_weighted_acceptance_length", requests) == Fraction("2.20")
    assert _by("aiperf", "spec_decode_acceptance_length", requests) == Fraction("1.75")
    assert _by("specforge-sglang", "average_acceptance_length", requests) == Fraction("2.375")
    assert _by("specforge", "accept_length", requests) == Fraction("2.60")


def test_a_mean_of_means_is_not_checked_against_sums() -> None:
    """What pooled counts cannot decide is passed over; of one request they can."""
    printed = {"spec_decode_acceptance_length": "1.75"}
    assert not [*differing("aiperf", printed, Counts(A=6, R=5, n=2))]
    assert len([*differing("aiperf", printed, Counts(A=6, R=4, n=1))]) == 1


def _by(engine: str, name: str, requests: Iterable[TallyEvent]) -> Fraction:
    figure = ENGINES[engine].figure(name)
    assert figure is not None
    counts = [counts_of(event) for event in requests]
    if figure.per == "request":
        values = [_value(figure, one) for one in counts]
        return sum(values, Fraction()) / len(values)
    accepted, rounds, output = (sum(getattr(one, symbol) or 0 for one in counts) for symbol in "ARG")
    return _value(figure, Counts(A=accepted, R=rounds, G=output))


def _value(figure: Figure, counts: Counts) -> Fraction:
    ratio = figure.of(counts)
    assert isinstance(ratio, Ratio)
    return ratio.value
