"""AIPerf itself, executed: what its adapter makes of a payload of vLLM, and its writer of that, is read back to the rounds that it was given.

Opt-in: skipped where AIPerf is not installed (`pip install aiperf==0.13.0`, beside what the tests need).
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from specdiag.trace.events import Proposal, TallyEvent, Verdict
from tests.importers.common import imported, noted, tallies

models = pytest.importorskip("aiperf.common.models", reason="AIPerf is not installed", exc_type=ImportError)
exports = pytest.importorskip("aiperf.common.models.export_models", exc_type=ImportError)
adapter = pytest.importorskip("aiperf.spec_decode.vllm_adapter", exc_type=ImportError)
metrics = pytest.importorskip("aiperf.metrics.types.spec_decode_metrics", exc_type=ImportError)

Rounds = list[tuple[int, int]]  # (accepted, drafted)


def payload(rounds: Rounds, most: int, detailed: bool) -> dict[str, Any]:
    """What vLLM sends of these rounds."""
    accepted, drafted = sum(a for a, _ in rounds), sum(d for _, d in rounds)
    histogram = [sum(a == length for a, _ in rounds) for length in range(most + 1)]
    steps = {"per_step_accepted": [a for a, _ in rounds], "per_step_drafted": [d for _, d in rounds]}
    return {
        "mean_acceptance_length": 1 + accepted / len(rounds),
        "draft_acceptance_rate": accepted / drafted,
        "acceptance_histogram": histogram,
        "num_spec_steps": len(rounds),
        "num_accepted_draft_tokens": accepted,
        "num_draft_tokens": drafted,
        "num_spec_tokens": most,
        **(steps if detailed else {}),
    }


def adapted(rounds: Rounds, most: int, detailed: bool = True) -> Any:
    """The record that AIPerf makes of it."""
    output = 1 + sum(a + 1 for a, _ in rounds)
    response = models.ParsedResponse(
        perf_ns=1, usage={"completion_tokens": output}, spec_decode_stats=payload(rounds, most, detailed)
    )
    assert adapter.VLLMSpecDecodeAdapter.can_adapt([response])
    return adapter.VLLMSpecDecodeAdapter.adapt([response])


def written(record: Any, name: str) -> str:
    """The line of profile_export.jsonl."""
    metadata = models.MetricRecordMetadata(
        session_num=0,
        x_request_id=name,
        request_start_ns=1,
        request_end_ns=2,
        worker_id="w",
        record_processor_id="p",
        benchmark_phase="profiling",
    )
    holder = models.ParsedResponseRecord.__new__(models.ParsedResponseRecord)
    holder.spec_decode_acceptance = record
    shown = {}
    for metric in (
        metrics.SpecDecodeAcceptanceLengthMetric,
        metrics.SpecDecodeDraftAcceptanceRateMetric,
        metrics.SpecDecodeAcceptedPerVerifiedMetric,
    ):
        shown[metric.tag] = {"value": metric()._parse_record(holder, {}), "unit": str(metric.unit)}
    info = models.MetricRecordInfo(metadata=metadata, metrics=shown, spec_decode_acceptance=record)
    return json.dumps(info.model_dump(mode="json", exclude_none=True)) + "\n"


def drawn(seed: int) -> list[tuple[Rounds, int]]:
    """Requests: rounds, and the length of a full block."""
    chance = random.Random(seed)
    found = []
    for _ in range(20):
        most = chance.choice([1, 3, 7])
        blocks = [most if chance.random() < 0.8 else chance.randint(1, most) for _ in range(chance.randint(1, 60))]
        found.append(([(chance.randint(0, size), size) for size in blocks], most))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_what_it_writes_is_read_back(seed: int) -> None:
    """Counts and rounds come back as they were, and no printed figure differs from them."""
    requests = drawn(seed)
    text = "".join(written(adapted(rounds, most), f"r{i}") for i, (rounds, most) in enumerate(requests))
    events, notes = imported(text, "aiperf/profile")
    found = [event for event in events if isinstance(event, TallyEvent)]
    assert len(found) == len(requests)
    for event, (rounds, most) in zip(found, requests, strict=True):
        assert (event.rounds, event.max_draft_tokens) == (len(rounds), most)
        assert (event.accepted, event.proposed) == (sum(a for a, _ in rounds), sum(d for _, d in rounds))
        assert event.reached == [sum(a >= i for a, _ in rounds) for i in range(1, most + 1)]
        assert len(event.printed or {}) == 5
    every = [pair for rounds, _ in requests for pair in rounds]
    assert [event.accepted for event in events if isinstance(event, Verdict)] == [a for a, _ in every]
    assert [len(event.tokens) for event in events if isinstance(event, Proposal)] == [d for _, d in every]
    assert set(notes.counts) <= {"blocks_cut_short", "padded_rounds"}


def test_what_it_refuses_is_left_out() -> None:
    """A payload whose counts contradict each other has no record there, and the record no tally here."""
    rounds = [(0, 3), (1, 3), (3, 3), (2, 3)]
    good = adapted(rounds, 3)
    line = json.loads(written(good, "r"))
    for name, wrong in (
        ("num_spec_steps", 5),
        ("num_accepted_draft_tokens", 5),
        ("num_draft_tokens", 5),
        ("per_step_accepted", [3, 3, 0]),
        ("per_step_drafted", [4, 3, 2, 3]),
    ):
        spoiled = {**line["spec_decode_acceptance"], name: wrong}
        with pytest.raises(ValueError, match=r"."):
            models.SpecDecodeAcceptanceRecord(**spoiled)
        assert not tallies(json.dumps({**line, "spec_decode_acceptance": spoiled}) + "\n", "aiperf/profile")


def test_its_aggregate() -> None:
    """The pooled histogram of its own export model, with the figures of its own definitions."""
    requests = [[(0, 3), (1, 3), (3, 3), (2, 3)], [(0, 3)]]
    records = [adapted(rounds, 3, detailed=False) for rounds in requests]
    pool: dict[int, int] = {}
    for record in records:
        for length, number in record.acceptance_histogram.items():
            pool[length] = pool.get(length, 0) + number
    totals = {
        metrics.TotalSpecDecodeStepsMetric.tag: sum(record.num_spec_steps for record in records),
        metrics.TotalAcceptedDraftTokensMetric.tag: sum(record.num_accepted_draft_tokens for record in records),
        metrics.TotalDraftTokensMetric.tag: sum(record.num_draft_tokens for record in records),
    }

    class Results(dict[str, Any]):
        def get_or_raise(self, metric: Any) -> Any:
            return self[metric.tag]

    length, rate = (
        metric()._derive_value(Results(totals))
        for metric in (
            metrics.SpecDecodeTokenWeightedAcceptanceLengthMetric,
            metrics.SpecDecodeOverallDraftAcceptanceRateMetric,
        )
    )
    means = [record.mean_acceptance_length for record in records]
    data = exports.JsonExportData(pooled_spec_decode_acceptance_histogram=pool)
    for tag, value, number in (
        *((tag, value, None) for tag, value in totals.items()),
        (metrics.SpecDecodeTokenWeightedAcceptanceLengthMetric.tag, length, None),
        (metrics.SpecDecodeOverallDraftAcceptanceRateMetric.tag, rate, None),
        (metrics.SpecDecodeAcceptanceLengthMetric.tag, sum(means) / len(means), len(means)),
        (metrics.SpecDecodeStepsMetric.tag, 2.5, len(means)),
    ):
        setattr(data, tag, exports.JsonMetricResult(unit="", avg=value, count=number))
    text = json.dumps(data.model_dump(mode="json", exclude_unset=True, exclude_none=True), indent=2)
    events, notes = imported(text, "aiperf/summary")
    [event] = (event for event in events if isinstance(event, TallyEvent))
    assert (event.rounds, event.accepted, event.proposed, event.requests) == (5, 6, 15, 2)
    [said] = noted(notes, "printed_differs")
    assert "1.75 printed, a mean of means" in said
