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
from tests import build
from tests.compare import differences, write_trace
from tests.reference import ENGINE_WAYS
from tests.strategies import odd_traces, traces

RELAXED = settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def analyzed(events: list[dict[str, Any]], segment: int) -> list[str]:
    """Differences between the report, read in segments of so many bytes, and the reference."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "SEGMENT", segment)
        path = write_trace(Path(folder) / "t.jsonl", events)
        options = Options(replicates=0, engines=tuple(ENGINE_WAYS))
        return differences(summarize(collect([str(path)], options), options), events, engines=True)


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


@pytest.mark.parametrize(("blocks", "refused"), [(66, 65), (70, 20), (70, 67)])
def test_a_chain_of_more_blocks_than_are_followed(blocks: int, refused: int) -> None:
    """Behind more than 64 blocks every token has its fate and its culprit, and what needs the whole chain is absent with a reason."""
    events = [build.header()]
    for r in range(3):
        where = {"request": f"r{r}"}
        for i in range(blocks - r):  # the last request's may be short enough
            parent = f"{r}.{i - 1}" if i else None
            events.append(build.block(f"{r}.{i}", ("code", "think")[i % 2], 2, start=2 * i, parent=parent, **where))
            accepted = 2 if i < refused else int(i == refused)
            events.append(build.verdict(f"{r}.{i}", accepted, **where))
    assert analyzed(events, 1 << 20) == []


def test_blocks_of_more_positions_than_are_listed() -> None:
    """Behind the 64th position one hazard counts for all, in composition, without a drafter and in the Shapley share."""
    events = [build.header()]
    for r, (first, second) in enumerate([(100, 3), (70, 80), (90, 65), (64, 90), (30, 2)]):
        for round, chained in enumerate((True, False)):
            where: dict[str, Any] = {"request": f"r{r}", "round": round}
            ids = [f"{r}.{round}.{i}" for i in range(2)]
            events.append(build.block(ids[0], size=100, start=200 * round, **where))
            parent = {"parent": ids[0], "start": 200 * round + 100} if chained else {"start": 200 * round}
            events.append(build.block(ids[1], "think", 90, **parent, **where))
            events.append(build.verdict(ids[0], first, **where))
            events.append(build.verdict(ids[1], 0 if chained and first < 100 else second, **where))
    assert analyzed(events, 1 << 20) == []


@RELAXED
@given(traces(), st.sampled_from([200, 500, 1000, 3000]))
def test_the_cut_into_segments_does_not_matter(events: list[dict[str, Any]], segment: int) -> None:
    """A clean trace read in segments of a few lines gives the same figures."""
    assert analyzed(events, segment) == []
