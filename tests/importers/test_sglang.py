"""SGLang: the log, responses, and the metrics endpoint, laid out as each release writes them."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdiag.engines.catalogue import ENGINES
from specdiag.engines.definitions import Counts
from specdiag.importers.registry import opened
from specdiag.importers.sglang_rule import LONGEST, of
from specdiag.trace.events import TallyEvent
from tests.importers.common import imported, interleaved, noted, part_of, register, tallies, truncated

LOG, RESPONSE, METRICS = "sglang/log", "sglang/response", "sglang/metrics"


def decode(figures: str, rank: str = "", second: int = 11, release: str = "0.5.23") -> str:
    """The line of a decode batch, as a release writes it."""
    stamp = f"[2025-11-02 14:03:{second:02}{rank}] "
    if release < "0.5.6":
        return (
            f"{stamp}Decode batch{'.' if release == '0.4.6' else ','} #running-req: 1, #token: 1204, token usage: 0.01, {figures}"
            "cuda graph: True, gen throughput (token/s): 128.31, #queue-req: 0, \n"
        )
    disaggregated = "pre-allocated usage: 0.02, #prealloc-req: 0, #transfer-req: 1, #retracted-req: 0, "
    return (
        f"{stamp}Decode batch [4711], #running-req: 4, #full token: 1204, full token usage: 0.01, #swa token: 90, swa token usage: 0.00, {figures}"
        f"{disaggregated}cuda graph: True, gen throughput (token/s): 428.31, #queue-req: 0, est. decode TFLOPS/s (per GPU): 1.20\n"
    )


# gamma 3, a = 0, 1, 3, 2: (A + R) / R = 10 / 4; A / (R K) = 6 / 12; (A + R) / (R (K + 1)) = 10 / 16
OLDEST = decode("accept len: 2.50, ", release="0.4.6") + decode("accept len: 1.98, ", release="0.4.6", second=14)
OLDER = decode("accept len: 2.50, accept rate: 0.62, ", release="0.5.5") + decode(
    "accept len: 3.10, accept rate: 0.78, ", release="0.5.5"
)
NEWER = decode("accept len: 2.50, accept rate: 0.50, ") + decode(
    "accept len: 2.20, accept rate: 0.40, cap len: 3.70, block accept len: 2.31, "
)
META = {
    "id": "a",
    "finish_reason": {"type": "stop", "matched": 2},
    "prompt_tokens": 5,
    "weight_version": "default",
    "completion_tokens": 11,
    "cached_tokens": 0,
    "spec_accept_rate": 0.5,
    "spec_accept_length": 2.75,
}
_OUT = {
    "text": "x }",
    "meta_info": META | {"spec_num_correct_drafts": 6, "spec_num_proposed_drafts": 12, "spec_verify_ct": 4},
}
FINISH = f"[2025-11-02 14:03:12] Finish: obj=GenerateReqInput(rid='a', text=\"it's {{\"), out={_OUT}\n"
COUNTED = {
    "0.5.10": {"spec_accept_token_num": 6, "spec_draft_token_num": 12, "spec_accept_histogram": [1, 1, 1, 1]},
    "0.5.11": {"spec_accepted_drafts": 6, "spec_proposed_drafts": 12, "spec_accept_histogram": [1, 1, 1, 1]},
    "0.5.23": {
        "spec_num_correct_drafts": 6,
        "spec_num_proposed_drafts": 12,
        "spec_correct_drafts_histogram": [1, 1, 1, 1],
    },
}
COUNTED["0.5.12"] = COUNTED["0.5.11"] | COUNTED["0.5.23"]


def generated(**meta: Any) -> str:
    """An answer of `/generate`."""
    return json.dumps({"text": "x", "meta_info": META | {"spec_verify_ct": 4} | meta}) + "\n"


THREAD_23 = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 20, "total_tokens": 126, "completion_tokens": 106},
    "sglext": {
        "spec_tokens_details": {
            "spec_accept_rate": 0.2930232558139535,
            "spec_accept_length": 2.4651162790697674,
            "spec_cap_length": 0.0,
            "spec_block_accept_length": 0.0,
            "spec_num_correct_drafts": 63,
            "spec_num_proposed_drafts": 215,
            "spec_verify_ct": 43,
            "spec_correct_drafts_histogram": [11, 14, 11, 4, 0, 3],
            "spec_cap_lens_histogram": [],
        }
    },
}
RESPONSES = "".join(generated(id=release, **counts) for release, counts in COUNTED.items())
LABELS = 'engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"'
GAUGES = f"""\
# HELP sglang:spec_accept_length Mean acceptance length of speculative decoding.
# TYPE sglang:spec_accept_length gauge
sglang:spec_accept_length{{{LABELS}}} 2.5
sglang:spec_accept_rate{{{LABELS}}} 0.625
sglang:gen_throughput{{{LABELS}}} 128.3
"""
NEWEST = f"""\
sglang:spec_accept_length{{{LABELS}}} 2.5
sglang:spec_accept_rate{{{LABELS}}} 0.5
sglang:spec_num_steps{{{LABELS}}} 3.0
sglang:spec_num_draft_tokens{{{LABELS}}} 4.0
sglang:generation_tokens_total{{engine_type="unified",is_streaming="false",model_name="m"}} 11.0
sglang:generation_tokens_total{{engine_type="unified",is_streaming="true",model_name="m"}} 20.0
sglang:num_requests_total{{engine_type="unified",is_streaming="false",model_name="m"}} 1.0
sglang:num_requests_total{{engine_type="unified",is_streaming="true",model_name="m"}} 1.0
sglang:spec_verify_calls_total{{engine_type="unified",model_name="m"}} 12.0
sglang:spec_verify_calls_created{{engine_type="unified",model_name="m"}} 1.7e+09
"""
register(LOG, OLDEST, OLDER, NEWER, FINISH)
register(RESPONSE, RESPONSES, json.dumps(THREAD_23, indent=2))
register(METRICS, GAUGES, NEWEST)


def shown(event: TallyEvent) -> tuple[Any, ...]:
    """The counts of a tally."""
    return event.rounds, event.accepted, event.proposed, event.completion_tokens, event.max_draft_tokens, event.reached


def test_definitions_of_the_worked_example() -> None:
    """The figures of both releases for a = 0, 1, 3, 2."""
    counts = Counts(A=6, R=4, D=12, G=11, K=3, n=1)
    newer, older = ENGINES["sglang"], ENGINES["sglang-0.5.4"]
    values = [
        [round(float(figure.of(counts).value), 3) for figure in engine.figures]  # type: ignore[union-attr]
        for engine in (newer, older)
    ]
    assert values == [[2.5, 0.5, 2.75, 0.5], [2.5, 0.625, 2.75, 0.5]]


@pytest.mark.parametrize(
    ("text", "definitions", "length", "lengths", "rates"),
    [
        (OLDEST, "sglang-v1", None, ["2.50", "1.98"], [None, None]),
        (OLDER, "sglang-0.5.4", 3, ["2.50", "3.10"], ["0.62", "0.78"]),
        (NEWER, "sglang", 3, ["2.50", "2.20"], ["0.50", "0.40"]),
    ],
)
def test_the_line_of_a_decode_batch(
    text: str, definitions: str, length: int | None, lengths: list[str], rates: list[str | None]
) -> None:
    """It has two ratios, and no count: they are kept as printed, under the rule that they follow."""
    events = tallies(text, LOG)
    assert [shown(event) for event in events] == [(None, None, None, None, length, None)] * 2
    assert [event.definitions for event in events] == [definitions] * 2
    assert [(event.printed or {}).get("accept len") for event in events] == lengths
    assert [(event.printed or {}).get("accept rate") for event in events] == rates
    assert [event.line for event in events] == [1, 2]


def test_ratios_without_counts_are_said_to_be_that() -> None:
    """The note has how many intervals there were, and between what the printed figures lay."""
    assert noted(imported(OLDER, LOG)[1], "ratios_alone") == [
        "2 intervals: accept len 2.50 to 3.10, accept rate 0.62 to 0.78"
    ]
    assert noted(imported(GAUGES, METRICS)[1], "ratios_alone") == ["1 interval: accept len 2.5, accept rate 0.625"]
    assert not noted(imported(FINISH, LOG)[1], "ratios_alone")


def test_thread_26_a_length_holds_the_verifiers_own_token() -> None:
    """Lengths of 5.39 and 4.68, as the log prints them, are one more than the drafts that were accepted a round."""
    [deep, shallow] = tallies(
        decode("accept len: 5.39, ", release="0.4.6") + decode("accept len: 4.68, ", release="0.4.6"), LOG
    )
    figure = ENGINES[deep.definitions or ""].figure("accept len")
    assert figure is not None
    assert figure.formula == "(A + R) / R"
    assert [event.printed for event in (deep, shallow)] == [{"accept len": "5.39"}, {"accept len": "4.68"}]


def test_thread_24_only_the_older_rule_gives_eleven_percent_of_nothing() -> None:
    """Nothing accepted, and a rate of 0.11: the older rule, with blocks of 8 (9 with the verifier's token)."""
    events, notes = imported(decode("accept len: 1.00, accept rate: 0.11, "), LOG)
    assert isinstance(event := events[-1], TallyEvent)
    assert (event.definitions, event.max_draft_tokens) == ("sglang-0.5.4", 8)
    assert "(A + R) / (R * (K + 1)), K = 8" in noted(notes, "definition_told")[0]


def test_lines_tell_the_rule_together() -> None:
    """A line that fits both rules waits for one that fits one of them, with the same length of block."""
    events, notes = imported(
        decode("accept len: 1.30, accept rate: 0.10, ") + decode("accept len: 2.50, accept rate: 0.50, "), LOG
    )
    found = [event for event in events if isinstance(event, TallyEvent)]
    assert [(event.definitions, event.max_draft_tokens, event.line) for event in found] == [
        ("sglang", 3, 1),
        ("sglang", 3, 2),
    ]
    assert len(noted(notes, "definition_told")) == 1


def test_lines_that_fit_both_rules_are_left_open() -> None:
    """Then there are no definitions, and a note says which two there may be."""
    events, notes = imported(decode("accept len: 1.30, accept rate: 0.10, "), LOG)
    assert isinstance(event := events[-1], TallyEvent)
    assert event.definitions is None
    assert len(noted(notes, "definition_open")) == 1


def test_arguments_of_the_server_tell_the_length_of_a_block() -> None:
    """With K known from them, one line is enough; another server in the same log is told apart for itself."""
    start = "[2025-11-02 14:00:00] server_args=ServerArgs(model_path='m', speculative_num_draft_tokens={}, tp_size=1)\n"
    line = decode("accept len: 1.30, accept rate: 0.10, ")
    [one, other] = tallies(start.format(4) + line + start.format(13) + line, LOG)
    assert (one.definitions, one.max_draft_tokens) == ("sglang", 3)
    assert (other.definitions, other.max_draft_tokens) == ("sglang-0.5.4", 12)


@given(st.integers(1, 16), st.integers(1, 400), st.data())
@settings(max_examples=60, deadline=None)
def test_the_rule_that_was_printed_is_always_among_those_left(length: int, rounds: int, data: st.DataObject) -> None:
    """Whatever the counts, rounding never rules out the truth."""
    accepted = data.draw(st.integers(0, rounds * length))
    mean = f"{(accepted + rounds) / rounds:.2f}"
    assert length in of(mean, f"{accepted / (rounds * length):.2f}").newer
    assert length in of(mean, f"{(accepted + rounds) / (rounds * (length + 1)):.2f}").older
    assert length <= LONGEST


def test_tensor_parallel_ranks_count_once_and_data_parallel_ranks_for_themselves() -> None:
    """TP1 logs what TP0 logs; DP1 has requests of its own."""
    figures = "accept len: 2.50, accept rate: 0.50, "
    text = "".join(decode(figures, rank) for rank in (" DP0 TP0", " DP0 TP1", " DP1 TP0", " DP0 TP0 ".rstrip()))
    events, notes = imported(text, LOG)
    assert [(e.source, e.line) for e in events if isinstance(e, TallyEvent)] == [("DP0", 1), ("DP1", 3), ("DP0", 4)]
    assert len(noted(notes, "ranks_agree")) == 1


def test_a_wrapped_paste_is_read() -> None:
    """A line that a terminal broke gives the same figures."""
    line = decode("accept len: 2.50, accept rate: 0.50, ")
    at = line.index("rate: ")
    [event] = tallies(f"{line[:at]}\n  {line[at:-20]}\n{line[-20:]}", LOG)
    assert event.printed == {"accept len": "2.50", "accept rate": "0.50"}


def test_a_finished_request_in_the_log_has_its_counts() -> None:
    """`--log-requests` writes `meta_info` as Python does; braces and quotes inside of texts do no harm."""
    [event] = tallies(FINISH, LOG)
    assert shown(event) == (4, 6, 12, 11, 3, None)
    assert event.request == "a"
    events, notes = imported(FINISH[:-4] + "\n" + FINISH, LOG)
    assert len(events) == 2
    assert len(noted(notes, "report_unreadable")) == 1


@pytest.mark.parametrize("release", COUNTED)
def test_a_response_has_the_counts_of_its_request(release: str) -> None:
    """Under all of its names: 11 = 1 + 6 + 4, D = 4 * 3, and the histogram 1, 1, 1, 1."""
    events, notes = imported(generated(**COUNTED[release]), RESPONSE)
    assert isinstance(event := events[-1], TallyEvent)
    assert shown(event) == (4, 6, 12, 11, 3, [3, 2, 1])
    assert event.printed == {"spec_accept_length": "2.75", "spec_accept_rate": "0.5"}
    assert event.definitions == ("sglang-0.5.4" if release == "0.5.10" else "sglang")
    assert not notes.counts


def test_thread_22() -> None:
    """200 = 1 + 11 + 188, and 940 proposed in 188 rounds are blocks of 5."""
    text = generated(
        completion_tokens=200,
        spec_accept_rate=0.011702127659574468,
        spec_accept_length=1.0638297872340425,
        spec_verify_ct=188,
        spec_accept_token_num=11,
        spec_draft_token_num=940,
    )
    events, notes = imported(text, RESPONSE)
    assert isinstance(event := events[-1], TallyEvent)
    assert shown(event) == (188, 11, 940, 200, 5, None)
    assert not notes.counts


def test_thread_23_one_token_was_cut_at_the_stop() -> None:
    """63 + 43 tokens and the one of prefill are one more than the 106 that came out."""
    events, notes = imported(json.dumps(THREAD_23), RESPONSE)
    assert isinstance(event := events[-1], TallyEvent)
    assert shown(event) == (43, 63, 215, 106, 5, [32, 18, 7, 3, 3])
    assert event.request == "chatcmpl-1"
    assert noted(notes, "output_below_counts") == ["106 tokens, 1 + 63 + 43 = 107 by the counts: 1 fewer"]
    assert list(notes.counts) == ["output_below_counts"]


def test_releases_without_counts() -> None:
    """0.5.3 has rounds and output alone; of 0.5.5 accepted tokens follow from the rate, where one number of them does."""
    meta = {key: value for key, value in META.items() if not key.startswith("spec")}
    old = json.dumps({"text": "x", "meta_info": meta | {"spec_verify_ct": 4}})
    assert [shown(event) for event in tallies(old, RESPONSE)] == [(4, None, None, 11, None, None)]
    rate = {"spec_accept_rate": 0.011702127659574468, "spec_accept_length": 1.0638297872340425}
    [event] = tallies(generated(completion_tokens=200, spec_verify_ct=188, **rate), RESPONSE)
    assert shown(event) == (188, 11, None, 200, 5, None)
    assert (event.definitions, event.printed) == ("sglang-0.5.4", {"spec_accept_length": "1.0638297872340425"})
    [event] = tallies(generated(), RESPONSE)  # a stop may have cut off up to a block: 6 of 3 a round, 8 of 4, …
    assert shown(event) == (4, None, None, 11, None, None)


def test_what_was_not_counted_is_missing_or_left_out() -> None:
    """Zeros of a release that did not count NGRAM are no counts; where the output shows more, the record is left out."""
    [event] = tallies(generated(spec_accept_rate=0.0, spec_accept_length=0), RESPONSE)
    assert shown(event) == (4, None, None, 11, None, None)
    assert event.printed is None
    for wrong, name in (
        ({"spec_accept_rate": 0.0}, "NGRAM in 0.5.4"),
        ({"spec_accepted_drafts": 2, "spec_proposed_drafts": 12}, "one accepted token in each round"),
        ({"spec_accepted_drafts": 6, "spec_proposed_drafts": 12, "spec_accept_histogram": [2, 1, 1]}, "histogram"),
    ):
        events, notes = imported(generated(**wrong) + generated(**COUNTED["0.5.23"]), RESPONSE)
        assert len(events) == 2
        assert name in noted(notes, "not_counts")[0]


def test_several_choices() -> None:
    """`meta_info` of a choice goes before what stands for all; usage of several choices is the output of none."""
    details = [THREAD_23["sglext"]["spec_tokens_details"]] * 2  # type: ignore[index]
    several = tallies(json.dumps(THREAD_23 | {"sglext": {"spec_tokens_details": details}}), RESPONSE)
    assert [(event.request, event.completion_tokens) for event in several] == [
        ("chatcmpl-1/0", None),
        ("chatcmpl-1/1", None),
    ]
    choice = {"index": 0, "meta_info": META | {"spec_verify_ct": 4} | COUNTED["0.5.23"]}
    [event] = tallies(json.dumps(THREAD_23 | {"choices": [choice]}), RESPONSE)
    assert shown(event) == (4, 6, 12, 11, 3, [3, 2, 1])


def test_parts_of_a_stream_count_once() -> None:
    """A part that has no reason to finish is not the last one."""
    parts = [generated(finish_reason=None, spec_verify_ct=2), generated(**COUNTED["0.5.23"])]
    [event] = tallies("".join(f"data: {part}\n" for part in parts) + "data: [DONE]\n", RESPONSE)
    assert event.rounds == 4


def test_lines_of_the_request_log_in_json() -> None:
    """`--log-requests-format json` has the whole answer in each line."""
    out = {"text": "x", "meta_info": META | {"spec_verify_ct": 4} | COUNTED["0.5.23"]}
    line = {
        "timestamp": "2026-01-02T03:04:05",
        "event": "request.finished",
        "rid": "a",
        "obj": {"rid": "a"},
        "out": out,
    }
    [event] = tallies(json.dumps(line) + "\n", RESPONSE)
    assert shown(event) == (4, 6, 12, 11, 3, [3, 2, 1])


@pytest.mark.parametrize("bad", [None, True, -1, 1.5, "4", [4], {"a": 4}, 2**70, float("nan"), float("inf")])
def test_no_value_is_an_accident(bad: object) -> None:
    """Whatever stands where a count should be, there is an event with what is left, or a note."""
    for key in ("spec_verify_ct", "completion_tokens", "spec_accept_rate", *COUNTED["0.5.12"]):
        for event in tallies(generated(**(COUNTED["0.5.12"] | {key: bad})), RESPONSE):
            assert (event.rounds, event.accepted) in ((4, 6), (4, None))


def test_gauges_are_of_the_last_interval() -> None:
    """A ratio is kept as it stands, with the rule that it follows; 0 is no data."""
    [event] = tallies(GAUGES, METRICS)
    assert shown(event) == (None, None, None, None, 3, None)
    assert (event.window, event.definitions) == ("interval", "sglang-0.5.4")
    assert event.printed == {"accept len": "2.5", "accept rate": "0.625"}
    assert tallies(GAUGES.replace(" 2.5", " 0.0").replace("0.625", "0.0"), METRICS) == []


def test_counters_of_finished_requests() -> None:
    """Rounds, requests and output tokens are exact."""
    gauges, counters = tallies(NEWEST, METRICS)
    assert (gauges.definitions, gauges.max_draft_tokens) == ("sglang", 3)
    assert (counters.window, counters.rounds, counters.requests, counters.completion_tokens) == ("lifetime", 12, 2, 31)


def test_torn_and_interleaved_lines_give_no_figure_of_their_own() -> None:
    """Cuts and a second worker in between lose lines; those that are left are lines of the log."""
    chance = random.Random(3)
    text = ""
    for _ in range(12):
        accepted = chance.randrange(120)
        text += decode(f"accept len: {1 + accepted / 40:.2f}, accept rate: {accepted / 120:.2f}, ")
    clean = tallies(text, LOG)
    known = {tuple((event.printed or {}).items()) for event in clean}
    for seed in range(20):
        for event in tallies(interleaved(text, seed), LOG):
            assert tuple((event.printed or {}).items()) in known
    for cut in truncated(text, 1):
        for event in tallies(cut, LOG):
            assert any(part_of(event, whole) for whole in clean)


def test_each_is_told_from_the_input(tmp_path: Any) -> None:
    """Without being told, a log is a log, and a response a response."""
    for name, text in ((LOG, NEWER), (RESPONSE, RESPONSES), (METRICS, NEWEST)):
        path = tmp_path / "input"
        path.write_text(text)
        assert opened(str(path))[0] == name
