"""`--as`: rounds as engines see them, against a plain count, and in every way in which a trace may be read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from specdiag.analysis import analyze
from specdiag.report import EngineFigure, Report
from specdiag.summary import Options
from specdiag.trace import sources
from tests import build, reference
from tests.conftest import TRACES
from tests.strategies import odd_traces, traces

RELAXED = settings(  # without shrinking: a trace of a few rounds is small enough to look at, and to make one smaller takes minutes
    deadline=None,
    max_examples=60,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
CHAIN = str(TRACES / "smollm2_chain.jsonl.gz")


def figures(report: Report, engine: str) -> dict[str, EngineFigure]:
    """The figures of one engine, of all rounds, by name and position."""
    [view] = [view for view in report.engines if view.engine == engine and view.of == "all rounds"]
    return {f"{figure.name}[{figure.position}]": figure for figure in view.figures}


def plainly(events: list[dict[str, Any]]) -> tuple[int, int, int, list[int]]:
    """R, A, D and the S_i of vLLM ≥ 0.9, one round after the other."""
    blocks, _ = reference.read(events)
    rounds = accepted = proposed = 0
    lengths = []
    for members in reference.by_round(blocks).values():
        shape = reference.shape_of(members)
        if shape is None or not shape["drafts"]:
            continue
        rounds, accepted, proposed = rounds + 1, accepted + shape["accepted"], proposed + shape["drafts"]
        lengths.append(shape["accepted"])
    return rounds, accepted, proposed, [sum(n >= i for n in lengths) for i in range(1, 65)]


@RELAXED
@given(st.one_of(traces(), odd_traces()), st.sampled_from([300, 1 << 20]))
def test_rounds_are_counted_as_a_plain_loop_counts_them(events: list[dict[str, Any]], segment: int) -> None:
    """A, R, D and rounds by accepted drafts, of chains, trees, and whatever stands in an odd trace, however it is cut."""
    rounds, accepted, proposed, reached = plainly(events)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "SEGMENT", segment)
        path = Path(folder) / "t.jsonl"
        path.write_text(build.lines(events))
        report = analyze(str(path), Options(replicates=0, engines=("vllm",)))
    if not rounds:
        assert not [v for v in report.engines if v.of == "all rounds" and any(f.rate.value for f in v.figures)]
        return
    found = figures(report, "vllm")
    rate, length = found["Draft acceptance rate[0]"].rate, found["Mean acceptance length[0]"].rate
    assert (rate.numerator, rate.denominator) == (accepted, proposed)
    assert (length.numerator, length.denominator) == (accepted + rounds, rounds)
    positions = [f.rate.numerator for name, f in found.items() if name.startswith("Per-position")]
    assert positions == reached[: len(positions)]
    assert not any(reached[len(positions) :])


def test_the_same_for_any_number_of_processes_and_with_slices() -> None:
    """`--as` is the same to the bit for any `--jobs`, and does not hang on `--by`."""
    one, two, sliced = (
        analyze(CHAIN, Options(engines=("vllm", "aiperf"), jobs=jobs, by=by, replicates=40)).engines
        for jobs, by in ((1, ()), (2, ()), (1, ("drafter", "branch", "label")))
    )
    assert one == two == sliced


def test_figures_have_intervals_over_requests() -> None:
    """The pooled figures and the means over requests have bootstrap intervals that hold their values."""
    report = analyze(CHAIN, Options(engines=("vllm", "aiperf")))
    for engine, name in (("vllm", "Mean acceptance length[0]"), ("aiperf", "spec_decode_acceptance_length[0]")):
        rate = figures(report, engine)[name].rate
        assert rate.interval == "poisson_bootstrap"
        assert rate.low is not None
        assert rate.high is not None
        assert rate.value is not None
        assert rate.low < rate.value < rate.high


def test_nothing_is_counted_where_it_is_not_asked_for() -> None:
    """Without `--as` the report has no such part."""
    assert analyze(CHAIN, Options(replicates=0)).engines == []


def test_counts_of_an_engine_are_shown_under_another_one(tmp_path: Path) -> None:
    """Of counts alone as many figures follow as they carry, and the rest is absent with its reason."""
    tally = {"type": "tally", "drafter": "draft", "window": "request", "requests": 1, "definitions": "vllm"}
    counts = {"rounds": 4, "proposed": 12, "accepted": 6, "completion_tokens": 11, "reached": [3, 2, 1]}
    path = tmp_path / "t.jsonl"
    path.write_text(build.lines([build.header(), tally | counts, tally | {"accepted": 3, "proposed": 3}]))
    report = analyze(
        str(path), Options(engines=("vllm", "vllm-0.8.5", "sglang", "trtllm", "transformers", "vllm-v0", "aiperf"))
    )
    found = {(v.engine, f.name, f.position): f.rate for v in report.engines for f in v.figures}
    assert found["vllm", "Draft acceptance rate", 0].denominator == 15, "of both reports"
    assert found["vllm", "Mean acceptance length", 0].value == 2.5, "of the one with rounds"
    assert found["vllm-0.8.5", "Mean acceptance length", 0].value == 1.5
    assert found["vllm", "Per-position acceptance rate", 3].value == 0.25
    assert found["sglang", "spec_accept_length", 0].value == 2.75
    assert found["sglang", "accept rate", 0].absent == "the length of a full block not known"
    assert found["trtllm", "avg_decoded_tokens_per_iter", 0].value == 2.2
    assert found["transformers", "num_matches + 1", 0].value == 2.5
    assert found["vllm-v0", "Draft acceptance rate", 0].absent == "matches behind a refusal not known"
    assert found["aiperf", "spec_decode_acceptance_length", 0].absent == "the counts of single requests not known"
