"""`--as` in every way in which a trace may be read; what it counts is held against tests/reference.py in tests/test_against_reference.py."""

from __future__ import annotations

from pathlib import Path

from specdiag.analysis import analyze
from specdiag.report import EngineFigure, Report
from specdiag.summary import Options
from tests import build
from tests.conftest import TRACES

CHAIN = str(TRACES / "smollm2_chain.jsonl.gz")


def figures(report: Report, engine: str) -> dict[str, EngineFigure]:
    """The figures of one engine, of all rounds, by name and position."""
    [view] = [view for view in report.engines if view.engine == engine and view.of == "all rounds"]
    return {f"{figure.name}[{figure.position}]": figure for figure in view.figures}


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
    assert found["aiperf", "spec_decode_acceptance_length", 0].denominator == 1, "of the one request with rounds"
    assert found["aiperf", "spec_decode_draft_acceptance_rate", 0].value == 0.75, "of both"
