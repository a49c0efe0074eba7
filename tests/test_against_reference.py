"""The analysis against the slow reference, on random traces, however the input is cut."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specdiag.analysis import collect
from specdiag.summary import Options, summarize
from specdiag.trace import sources
from tests.compare import differences, write_trace
from tests.strategies import odd_traces, traces

RELAXED = settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def analyzed(events: list[dict[str, Any]], segment: int) -> list[str]:
    """Differences between the report, read in segments of so many bytes, and the reference."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "SEGMENT", segment)
        path = write_trace(Path(folder) / "t.jsonl", events)
        options = Options(replicates=0)
        return differences(summarize(collect([str(path)], options), options), events)


@RELAXED
@given(traces())
def test_clean_traces_give_the_figures_of_the_reference(events: list[dict[str, Any]]) -> None:
    """Every figure of a clean trace is that of the plain computation over its JSON."""
    assert analyzed(events, 1 << 20) == []


@RELAXED
@given(odd_traces())
def test_odd_traces_give_the_figures_of_the_reference(events: list[dict[str, Any]]) -> None:
    """So is every figure, and every note, of a trace with missing, doubled, early and impossible events."""
    assert analyzed(events, 1 << 20) == []


@RELAXED
@given(traces(), st.sampled_from([200, 500, 1000, 3000]))
def test_the_cut_into_segments_does_not_matter(events: list[dict[str, Any]], segment: int) -> None:
    """A clean trace read in segments of a few lines gives the same figures."""
    assert analyzed(events, segment) == []
