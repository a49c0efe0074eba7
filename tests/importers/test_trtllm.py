"""TensorRT-LLM: statistics of iterations, responses, and the Prometheus endpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from specdiag.analysis import analyze
from specdiag.engines.catalogue import ENGINES
from specdiag.engines.definitions import Counts
from specdiag.trace.events import TallyEvent
from tests.importers.common import imported, noted, register, tallies

STATS, RESPONSE, METRICS = "trtllm/stats", "trtllm/response", "trtllm/metrics"


def iteration(accepted: int, proposed: Any = 3, requests: Any = 1, **more: Any) -> dict[str, Any]:
    """An iteration, as the executor reports it."""
    length = (accepted + requests) / requests if requests else 0.0
    return {
        "timestamp": "11-02-2025 14:03:11.000001",
        "iter": 7,
        "iterLatencyMS": 12.5,
        "numActiveRequests": 1,
        "inflightBatchingStats": {"numGenRequests": 1, "avgNumDecodedTokensPerIter": 0.0},
        "specDecodingStats": {
            "numDraftTokens": proposed,
            "numAcceptedTokens": accepted,
            "numRequestsWithDraftTokens": requests,
            "acceptanceLength": length,
            "iterLatencyMS": 1.5,
            "draftOverhead": 0.12,
        }
        | more,
    }


# gamma 3, a = 0, 1, 3, 2, one request; before it, and behind it, iterations without drafts
EXAMPLE = [iteration(0, 0, 0), *(iteration(a) for a in (0, 1, 3, 2)), iteration(0, 0, 0, acceptanceLength=1.0)]
CHOICE = {
    "index": 0,
    "message": {"role": "assistant", "content": "x"},
    "finish_reason": "stop",
    "avg_decoded_tokens_per_iter": 2.5,
    "speculative_decoding": {
        "acceptance_rate": 0.5,
        "total_accepted_draft_tokens": 30,
        "total_draft_tokens": 60,
        "num_spec_steps": 20,
        "acceptance_histogram": [8, 0, 6, 6],
        "num_spec_tokens": 3,
    },
}
THREAD_37 = {"id": "chatcmpl-1", "object": "chat.completion", "choices": [CHOICE]}
RECORD = {
    "request_id": 12,
    "perf_metrics": {
        "first_iter": 1,
        "last_iter": 5,
        "kv_cache_metrics": {"num_total_allocated_blocks": 1},
        "speculative_decoding": {
            "acceptance_rate": 0.5,
            "total_accepted_draft_tokens": 6,
            "total_draft_tokens": 12,
        },
    },
}
LABELS = 'engine_type="pytorch",model_name="m"'
TOTALS = f"""\
# TYPE trtllm_spec_decode_num_draft_tokens_total counter
trtllm_spec_decode_num_draft_tokens_total{{{LABELS}}} 12.0
trtllm_spec_decode_num_accepted_tokens_total{{{LABELS}}} 6.0
trtllm_spec_decode_num_accepted_tokens_created{{{LABELS}}} 1.7e+09
trtllm_spec_decode_acceptance_length{{{LABELS}}} 3.0
trtllm_spec_decode_draft_overhead{{{LABELS}}} 0.1
"""
POSITIONS = TOTALS + "".join(
    f'trtllm_spec_decode_{kind}_tokens_total{{{LABELS},token_position="{i}"}} {number}\n'
    for kind, numbers in (("drafted", (4.0, 4.0, 4.0)), ("accepted", (3.0, 2.0, 1.0)))
    for i, number in enumerate(numbers)
)
register(STATS, json.dumps(EXAMPLE), "".join(json.dumps(one) + "\n" for one in EXAMPLE))
register(RESPONSE, json.dumps(THREAD_37, indent=1), json.dumps([RECORD, RECORD | {"request_id": 13}]))
register(METRICS, TOTALS, POSITIONS)


def shown(event: TallyEvent) -> tuple[Any, ...]:
    """The counts of a tally."""
    return event.rounds, event.accepted, event.proposed, event.completion_tokens, event.max_draft_tokens, event.reached


def test_definitions_of_the_worked_example() -> None:
    """The step of prefill is an iteration of a request, not one with drafts."""
    counts = Counts(A=6, R=4, D=12, G=11, K=3, n=1, P=5)
    values = [round(float(f.of(counts).value), 3) for f in ENGINES["trtllm"].figures]  # type: ignore[union-attr]
    assert values == [2.5, 0.5, 2.2]


@pytest.mark.parametrize("how", ["list", "lines", "texts"])
def test_iterations_are_pooled(how: str) -> None:
    """Each iteration with drafts gives its counts; those without are passed over, whatever length they print."""
    lines = [json.dumps(one) for one in EXAMPLE]
    text = {"list": json.dumps(EXAMPLE), "lines": "\n".join(lines), "texts": json.dumps(lines)}[how]
    events, notes = imported(text, STATS)
    found = [event for event in events if isinstance(event, TallyEvent)]
    assert [shown(event) for event in found] == [(1, a, 3, None, None, None) for a in (0, 1, 3, 2)]
    assert [event.printed for event in found] == [{"acceptanceLength": text} for text in ("1.0", "2.0", "4.0", "3.0")]
    assert not notes.counts


def test_iterations_that_cannot_be_are_left_out() -> None:
    """More accepted than drafted, drafts of no request, or no counts at all."""
    wrong = [
        iteration(4),
        iteration(1, requests=0),
        iteration(1, 0),
        iteration(1, numDraftTokens=True),
        iteration(1, numRequestsWithDraftTokens="1"),
        iteration(1),
    ]
    events, notes = imported(json.dumps(wrong), STATS)
    assert len(events) == 2
    assert (notes.counts["not_counts"], notes.counts["report_unreadable"]) == (3, 2)


def test_thread_37() -> None:
    """20 rounds: 8 accepted nothing, 6 two and 6 three of 60 drafts."""
    events, notes = imported(json.dumps(THREAD_37), RESPONSE)
    assert isinstance(event := events[-1], TallyEvent)
    assert shown(event) == (20, 30, 60, None, 3, [12, 12, 6])
    assert event.request == "chatcmpl-1"
    assert event.printed == {"acceptance_rate": "0.5", "avg_decoded_tokens_per_iter": "2.5"}
    assert not notes.counts


def test_output_is_of_a_choice_that_is_alone() -> None:
    """Usage of a response with one choice is its output; of several it is nobody's."""
    [event] = tallies(json.dumps(THREAD_37 | {"usage": {"completion_tokens": 51}}), RESPONSE)
    assert event.completion_tokens == 51
    two = tallies(json.dumps(THREAD_37 | {"choices": [CHOICE] * 2, "usage": {"completion_tokens": 51}}), RESPONSE)
    assert [(event.request, event.completion_tokens) for event in two] == [
        ("chatcmpl-1/0", None),
        ("chatcmpl-1/1", None),
    ]


def test_records_of_requests() -> None:
    """`request_perf_metrics` have two counts, and no rounds; 0 of 0 is not filled in, and no acceptance of zero."""
    [event] = tallies(json.dumps(RECORD), RESPONSE)
    assert shown(event) == (None, 6, 12, None, None, None)
    assert (event.request, event.printed) == ("12", {"acceptance_rate": "0.5"})
    zero = {"total_accepted_draft_tokens": 0, "total_draft_tokens": 0, "acceptance_rate": 0.0}
    empty = {"request_id": 1, "perf_metrics": {"speculative_decoding": zero}}
    events, notes = imported(json.dumps([empty, empty, RECORD]), RESPONSE)
    assert len(events) == 2
    assert len(noted(notes, "not_counts")) == 1


def test_a_histogram_that_contradicts_is_left_out() -> None:
    """Its rounds are all rounds, its tokens all accepted ones."""
    for histogram in ([8, 0, 6, 5], [8, 6, 0, 6]):
        own = CHOICE["speculative_decoding"] | {"acceptance_histogram": histogram}  # type: ignore[operator]
        text = json.dumps(THREAD_37 | {"choices": [CHOICE | {"speculative_decoding": own}]})
        _, notes = imported(text + "\n" + json.dumps(THREAD_37), RESPONSE)
        assert len(noted(notes, "not_counts")) == 1


def test_totals_and_counters_by_position() -> None:
    """Totals have no rounds; by position the first one has as many drafts as there were rounds."""
    assert [shown(event) for event in tallies(TOTALS, METRICS)] == [(None, 6, 12, None, None, None)]
    assert [shown(event) for event in tallies(POSITIONS, METRICS)] == [(4, 6, 12, None, 3, [3, 2, 1])]
    running = POSITIONS.replace("} 12.0", "} 24.0").replace("} 6.0", "} 9.0")  # totals are of unfinished requests, too
    assert [shown(event) for event in tallies(running, METRICS)] == [(4, 6, 12, None, 3, [3, 2, 1])]


def test_a_position_without_a_sample_accepted_nothing_if_the_total_says_so() -> None:
    """Else it may have been cut off."""
    cut = "".join(
        line for line in POSITIONS.splitlines(True) if "accepted_tokens_total{" not in line or '"2"' not in line
    )
    assert [shown(event) for event in tallies(cut, METRICS)] == [(4, None, 12, None, 3, None)]
    whole = cut.replace("} 6.0", "} 5.0")
    assert [shown(event) for event in tallies(whole, METRICS)] == [(4, 5, 12, None, 3, [3, 2, 0])]


def test_scrapes_of_a_server_that_was_started_again(tmp_path: Path) -> None:
    """Each scrape is of a lifetime; the analysis notes a counter that fell, once, at its line of the input, and adds both lives."""
    text = TOTALS + TOTALS.replace(" 12.0", " 3.0").replace(" 6.0", " 1.0")
    assert [event.window for event in tallies(text, METRICS)] == ["lifetime", "lifetime"]
    file = tmp_path / "metrics.txt"
    file.write_text(text)
    report = analyze(str(file))
    (note,) = [note for note in report.integrity if note.code == "counter_reset"]
    assert (note.count, note.places[0].text) == (1, "proposed: 12 before, 3 now")
    assert TOTALS.count("\n") < note.places[0].line <= text.count("\n")
    assert report.drafters[0].engine_counts["engine_draft_acceptance"].denominator == 15


@pytest.mark.parametrize("bad", [None, True, -1, 1.5, "4", [4], {"a": 4}, 2**70, float("nan"), float("inf")])
def test_no_value_is_an_accident(bad: object) -> None:
    """Whatever stands where a count should be, there is an event with what is left, or a note."""
    for key in ("total_draft_tokens", "total_accepted_draft_tokens", "num_spec_steps", "acceptance_histogram"):
        own = CHOICE["speculative_decoding"] | {key: bad}  # type: ignore[operator]
        for event in tallies(json.dumps(THREAD_37 | {"choices": [CHOICE | {"speculative_decoding": own}]}), RESPONSE):
            assert (event.accepted, event.proposed) == (30, 60)
    for key in ("numDraftTokens", "numAcceptedTokens", "numRequestsWithDraftTokens", "acceptanceLength"):
        for event in tallies(json.dumps([iteration(1, **{key: bad})]), STATS):
            assert (event.accepted, event.proposed, event.rounds) == (1, 3, 1)
