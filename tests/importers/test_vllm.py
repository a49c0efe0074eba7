"""vLLM: its log, metrics endpoint, results of bench, and responses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdiag.importers.registry import importers
from specdiag.trace.consistency import misprints
from specdiag.trace.events import Proposal, TallyEvent, Verdict
from tests.importers.common import FIXTURES, damaged, imported, interleaved, noted, register, said, tallies, truncated

INFO = "INFO 09-04 11:01:16 [metrics.py:96] "
V084 = "SpecDecoding metrics: Draft acceptance rate: {rate}%, Accepted: {accepted} tokens, Drafted: {proposed} tokens"
V085 = (
    "SpecDecoding metrics: Draft acceptance rate: {rate}%, Mean acceptance length: {length}, Accepted: {accepted} tokens, "
    "Drafted: {proposed} tokens, Per-position acceptance rate: {rates}"
)
V0102 = (
    "SpecDecoding metrics: Mean acceptance length: {length}, Accepted throughput: 0.60 tokens/s, Drafted throughput: 1.20 tokens/s, "
    "Accepted: {accepted} tokens, Drafted: {proposed} tokens, Per-position acceptance rate: {rates}, Avg Draft acceptance rate: {rate}%"
)
V0 = (
    "Speculative metrics: Draft acceptance rate: {rate}, System efficiency: {efficiency}, Number of speculative tokens: {most}, Number of "
    "accepted tokens: {matched}, Number of draft tokens{twice}: {proposed}, Number of emitted tokens{twice}: {emitted}."
)
ENGINE = "{engine}Avg prompt throughput: 9.1 tokens/s, Avg generation throughput: 2.1 tokens/s, Running: 0 reqs, Waiting: 0 reqs"


def worked(layout: str, length: str = "2.50", **other: Any) -> str:
    """The worked example: γ = 3, four rounds that accept 0, 1, 3, 2."""
    figures = {"rate": "50.0", "length": length, "accepted": 6, "proposed": 12, "rates": "0.750, 0.500, 0.250"}
    return INFO + layout.format(**(figures | other)) + "\n"


def line(length: str, accepted: int, proposed: int, rates: str, rate: str, layout: str = V0102) -> str:
    return worked(layout, length, accepted=accepted, proposed=proposed, rates=rates, rate=rate)


THREAD_1 = (
    "INFO 10-16 19:05:47 metrics.py:367] "
    + V0.format(rate="0.642", efficiency="0.598", most=3, matched=8547, proposed=13311, emitted=10616, twice="")
    + "\n"
)
register("vllm/log", worked(V084), worked(V085), worked(V085, "1.50"), worked(V0102), THREAD_1)


def counted(event: TallyEvent) -> tuple[Any, ...]:
    return event.accepted, event.rounds, event.proposed, event.reached, event.max_draft_tokens


@pytest.mark.parametrize(
    ("text", "definitions"),
    [
        (worked(V085, "1.50"), "vllm-0.8.5"),
        (worked(V085), "vllm"),
        (worked(V0102), "vllm"),
        (worked(V0102).replace("Accepted throughput", "Current speculative depth: 3, Accepted throughput"), "vllm"),
        (worked(V0102).replace("INFO", "DEBUG"), "vllm"),
        (worked(V0102).replace(", Per", ",\n    Per"), "vllm"),
        (worked(V0102).replace("0.60 tokens", "0.60tokens"), "vllm"),
    ],
)
def test_v1_lines(text: str, definitions: str) -> None:
    """Every layout of V1 with rates gives the counts of the rounds, and the meaning of its length."""
    (event,) = tallies(text, "vllm/log")
    assert counted(event) == (6, 4, 12, [3, 2, 1], 3)
    assert (event.window, event.definitions, event.estimated) == ("interval", definitions, None)
    assert event.printed == {
        "Draft acceptance rate": "50.0%",
        "Mean acceptance length": "1.50" if definitions != "vllm" else "2.50",
    }


def test_v1_without_rates() -> None:
    """0.8.4 gives accepted and proposed tokens, and no rounds."""
    (event,) = tallies(worked(V084), "vllm/log")
    assert counted(event) == (6, None, 12, None, None)


def test_definitions_are_told_once() -> None:
    """Which meaning a length has is said once for each meaning; where no line tells it, that is said."""
    _, notes = imported(worked(V085) * 3 + worked(V085, "1.50") * 2, "vllm/log")
    assert notes.counts["definition_told"] == 2
    _, notes = imported(line("3.77", 6, 12, "0.750, 0.500, 0.250", "50.0", V085), "vllm/log")
    assert notes.counts == {"definition_open": 1}


@pytest.mark.parametrize(
    ("text", "expected", "code"),
    [
        # vllm-ascend#13665: zero acceptance on a decode node
        (line("1.00", 0, 495, "0.000, 0.000, 0.000, 0.000, 0.000", "0.0"), (0, 99, 495, [0] * 5, 5), "padded_rounds"),
        (line("1.00", 0, 15, "0.000, 0.000, 0.000, 0.000, 0.000", "0.0"), (0, 3, 15, [0] * 5, 5), "padded_rounds"),
        # AEON-7 DFlash, issue 6: K = 15
        (
            line("2.37", 89, 975, "0.600, 0.385, 0.215, 0.108, 0.062" + ", 0.000" * 10, "9.1"),
            (89, 65, 975, [39, 25, 14, 7, 4] + [0] * 10, 15),
            "",
        ),
        # speculators#613: the first position alone is ever accepted
        (line("1.34", 49, 2160, "0.340" + ", 0.000" * 14, "2.3"), (49, 144, 2160, [49] + [0] * 14, 15), ""),
        (line("1.22", 57, 3945, "0.217" + ", 0.000" * 14, "1.4"), (57, 263, 3945, [57] + [0] * 14, 15), ""),
        (line("1.17", 45, 3960, "0.170" + ", 0.000" * 14, "1.1"), (45, 264, 3960, [45] + [0] * 14, 15), ""),
        (line("1.04", 22, 9210, "0.036" + ", 0.000" * 14, "0.2"), (22, 614, 9210, [22] + [0] * 14, 15), ""),
        (line("1.07", 39, 8220, "0.071" + ", 0.000" * 14, "0.5"), (39, 548, 8220, [39] + [0] * 14, 15), ""),
        # an n-gram run of vLLM 0.9
        (
            line("2.16", 150, 387, "0.543, 0.357, 0.264", "38.8", V085),
            (150, 129, 387, [70, 46, 34], 3),
            "definition_told",
        ),
        # the worked example with a padded round before (vllm#50518), with its last block cut, and with a second request
        (line("2.20", 6, 15, "0.600, 0.400, 0.200", "40.0"), (6, 5, 15, [3, 2, 1], 3), ""),
        (line("2.25", 5, 10, "0.750, 0.250, 0.250", "50.0"), (5, 4, 10, [3, 1, 1], 3), "blocks_cut_short"),
        (
            line("3.00", 60, 120, "1.000, 1.000, 0.000, 0.000", "50.0"),
            (60, 30, 120, [30, 30, 0, 0], 4),
            "simulated_acceptance",
        ),
    ],
)
def test_v1_figures(text: str, expected: tuple[Any, ...], code: str) -> None:
    """Figures of real threads, and of the worked example under perturbations, give the counts behind them."""
    events, notes = imported(text, "vllm/log")
    assert [counted(event) for event in events if isinstance(event, TallyEvent)] == [expected]
    assert [*notes.counts] == ([code] if code else [])


def test_rounds_that_are_not_the_only_ones() -> None:
    """Where other numbers of rounds would print the same, the width is said; where none of them is accepted, it is all that D allows."""
    (event,) = tallies(line("1.00", 0, 495, ", ".join(["0.000"] * 5), "0.0"), "vllm/log")
    assert event.estimated == {"rounds": 396}
    (event,) = tallies(line("2.50", 60000, 120000, "0.750, 0.500, 0.250", "50.0"), "vllm/log")
    assert (event.rounds, event.accepted, sum(event.reached or [])) == (40000, 60000, 60000)
    assert event.estimated is not None


def test_a_window_without_drafts() -> None:
    """A percentage of nothing (nan) is a window of no drafts, not a torn line."""
    text = line("1.00", 0, 0, "0.000, 0.000", "nan") + worked(V084, rate="nan", accepted=0, proposed=0)
    assert [(e.accepted, e.proposed, e.rounds) for e in tallies(text, "vllm/log")] == [(0, 0, None)] * 2


@pytest.mark.parametrize(
    "text",
    [
        worked(V0102).replace("Accepted: 6 ", "Accepted: 66 "),
        worked(V0102).replace("Accepted: 6 ", "Accepted: 7 "),
        worked(V0102).replace("Drafted: 12 ", "Drafted: 13 "),
        worked(V0102).replace("0.500,", "0.5,"),
        worked(V0102).replace("0.750, ", "0.250, "),
        worked(V0102)[:-9],
        worked(V0102, "22.50"),
        worked(V085).replace(", 0.250", ""),
        worked(V0102).replace("Accepted: 6 ", f"Accepted: {'9' * 5000} "),
        THREAD_1.replace("10616.", "1061"),
        THREAD_1.replace("13311", "13310"),
        THREAD_1.replace("8547", "854"),
    ],
)
def test_torn_lines(text: str) -> None:
    """A line whose own figures cannot be of one window is reported, and counts nowhere."""
    events, notes = imported(text + worked(V0102), "vllm/log")
    assert [counted(event) for event in events if isinstance(event, TallyEvent)] == [(6, 4, 12, [3, 2, 1], 3)]
    assert notes.counts["report_unreadable"] == 1


def test_a_length_of_another_meaning_is_compared() -> None:
    """Counts that are sure stand beside a length that they do not give: the core says so."""
    (event,) = tallies(line("2.75", 6, 12, "0.750, 0.500, 0.250", "50.0"), "vllm/log")
    assert counted(event) == (6, 4, 12, [3, 2, 1], 3)
    ((_, sentence),) = misprints(event)
    assert sentence.startswith("Mean acceptance length 2.75 printed")


def test_a_rate_of_another_definition_is_compared() -> None:
    """Where length, rates and full blocks agree on the counts, a percentage that does not is noted, and the counts stay."""
    (event,) = tallies(line("2.50", 6, 12, "0.750, 0.500, 0.250", "66.7"), "vllm/log")
    assert (event.accepted, event.rounds, event.reached) == (6, 4, [3, 2, 1])
    assert [path for path, _ in misprints(event)] == ["$.printed.Draft acceptance rate"]


def test_engines_of_one_log_are_apart() -> None:
    """Engines add: by the name of their process, or by the line of their throughput before; all engines together count once."""
    text = "".join(f"(EngineCore_DP{i} pid={100 + i}) {worked(V0102)}" for i in range(2))
    assert [event.source for event in tallies(text, "vllm/log")] == ["EngineCore_DP0", "EngineCore_DP1"]
    each = "".join(
        f"(APIServer pid=7) INFO {ENGINE.format(engine=f'Engine 00{i}: ')}\n(APIServer pid=7) {worked(V0102)}"
        for i in range(2)
    )
    assert [event.source for event in tallies(each, "vllm/log")] == ["APIServer, engine 0", "APIServer, engine 1"]
    every = (
        f"(APIServer pid=7) INFO {ENGINE.format(engine='2 Engines Aggregated: ')}\n(APIServer pid=7) {worked(V0102)}"
    )
    events, notes = imported(each + every + each + every, "vllm/log")
    assert sum(isinstance(event, TallyEvent) for event in events) == 4
    assert notes.counts == {"ranks_agree": 1}


def test_diffusion_is_no_speculation() -> None:
    """What diffusion models print of their steps is not read, and no trouble."""
    events, notes = imported(worked(V0102) + worked(V0102).replace("SpecDecoding", "DiffusionDecoding"), "vllm/log")
    assert (len(events), notes.counts) == (2, {})


@pytest.mark.parametrize("twice", ["", " tokens"])
def test_v0_line(twice: str) -> None:
    """V0 counts matches anywhere in a block: what was accepted follows from what was emitted (vllm#9539: 46 %, not 64 %)."""
    text = THREAD_1.replace("draft tokens", f"draft tokens{twice}").replace("emitted tokens", f"emitted tokens{twice}")
    (event,) = tallies(text, "vllm/log")
    assert counted(event) == (6179, 4437, 13311, None, 3)
    assert (event.matched, event.window, event.definitions) == (8547, "lifetime", "vllm-v0")
    assert event.printed == {"Draft acceptance rate": "0.642", "System efficiency": "0.598"}


def test_v0_mask() -> None:
    """A mask of 1, 0, 1, 0 is one accepted draft and two matches (vllm#9565)."""
    text = V0.format(rate="0.500", efficiency="0.400", most=4, matched=2, proposed=4, emitted=2, twice="") + "\n"
    (event,) = tallies(text, "vllm/log")
    assert (event.accepted, event.matched, event.rounds, event.proposed) == (1, 2, 1, 4)


SCRAPE = """# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{{engine="{engine}",model_name="m"}} {rounds}.0
vllm:spec_decode_num_drafts_created{{engine="{engine}",model_name="m"}} 1.7479e+09
vllm:spec_decode_num_draft_tokens_total{{engine="{engine}",model_name="m"}} {proposed}.0
vllm:spec_decode_num_accepted_tokens_total{{engine="{engine}",model_name="m"}} {accepted}.0
"""
POSITION = (
    'vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="{engine}",model_name="m",position="{i}"}} {number}.0\n'
)


def scrape(rounds: int, proposed: int, reached: list[int], engine: int = 0) -> str:
    head = SCRAPE.format(engine=engine, rounds=rounds, proposed=proposed, accepted=sum(reached))
    return head + "".join(POSITION.format(engine=engine, i=i, number=number) for i, number in enumerate(reached))


V0_METRICS = """vllm:spec_decode_draft_acceptance_rate{model_name="m"} 0.6421
vllm:spec_decode_efficiency{model_name="m"} 0.598
vllm:spec_decode_num_accepted_tokens_total{model_name="m"} 90.0
vllm:spec_decode_num_draft_tokens_total{model_name="m"} 99.0
vllm:spec_decode_num_emitted_tokens_total{model_name="m"} 98.0
"""
register("vllm/metrics", scrape(4, 12, [3, 2, 1]), scrape(4, 12, [3, 2, 1]).replace("_total", ""), V0_METRICS)


@pytest.mark.parametrize("suffix", ["_total", ""])
def test_one_scrape(suffix: str) -> None:
    """One scrape is all since the start, exactly; the times beside the counters are no counts."""
    (event,) = tallies(scrape(4, 12, [3, 2, 1]).replace("_total", suffix), "vllm/metrics")
    assert counted(event) == (6, 4, 12, [3, 2, 1], 3)
    assert (event.window, event.estimated) == ("lifetime", None)


def test_several_scrapes() -> None:
    """Of several scrapes what lies between them counts; where the counters fell, all since the start of the new engine."""
    events, notes = imported(
        scrape(10, 30, [5, 4, 3]) + scrape(14, 42, [8, 6, 4]) + scrape(2, 6, [1, 0, 0]), "vllm/metrics"
    )
    found = [event for event in events if isinstance(event, TallyEvent)]
    assert [counted(event) for event in found] == [(6, 4, 12, [3, 2, 1], 3), (1, 2, 6, [1, 0, 0], 3)]
    assert {event.window for event in found} == {"interval"}
    assert notes.counts == {"counter_reset": 1}


def test_engines_of_one_scrape() -> None:
    """Engines are apart, and add (vllm#24049)."""
    drafts = [22, 15, 29, 20, 25, 24, 27, 26]
    text = "".join(scrape(number, 3 * number, [7, 3, 1], engine) for engine, number in enumerate(drafts))
    found = tallies(text, "vllm/metrics")
    assert [event.rounds for event in found] == drafts
    assert len({event.source for event in found}) == 8
    assert (found[0].reached or [])[0] == 7


def test_counters_of_v0_are_refused() -> None:
    """The counters of V0 add up running totals: they are refused, and its gauges kept as printed."""
    events, notes = imported(V0_METRICS, "vllm/metrics")
    (event,) = (event for event in events if isinstance(event, TallyEvent))
    assert counted(event) == (None,) * 5
    assert event.printed == {"Draft acceptance rate": "0.6421", "System efficiency": "0.598"}
    assert "only its gauges" in noted(notes, "not_counts")[0]


CONSOLE = """============ Serving Benchmark Result ============
Successful requests:                     {requests:<10}
Total generated tokens:                  {output:<10}
---------------Speculative Decoding---------------
Acceptance rate (%):                     {rate:<10}
Acceptance length:                       {length:<10}
Drafts:                                  {rounds:<10}
Draft tokens:                            {proposed:<10}
Accepted tokens:                         {accepted:<10}
Per-position acceptance (%):
{positions}==================================================
"""


def console(
    requests: int, output: int, rate: str, length: str, rounds: int, proposed: int, accepted: int, rates: str
) -> str:
    positions = "".join(f"{f'  Position {i}:':<40} {text:<10}\n" for i, text in enumerate(rates.split()))
    figures = {"rate": rate, "length": length, "rounds": rounds, "proposed": proposed, "accepted": accepted}
    return CONSOLE.format(requests=requests, output=output, positions=positions, **figures)


def offline(output: int, rounds: int, proposed: int, accepted: int, length: str, rates: str) -> str:
    return (
        f"{'-' * 50}\ntotal_num_output_tokens: {output}\nnum_drafts: {rounds}\nnum_draft_tokens: {proposed}\n"
        f"num_accepted_tokens: {accepted}\nmean acceptance length: {length}\n{'-' * 50}\n"
        + "".join(f"acceptance at token {i}: {text}\n" for i, text in enumerate(rates.split()))
    )


RESULT: dict[str, Any] = {
    "completed": 1,
    "total_output_tokens": 11,
    "spec_decode_acceptance_rate": 50.0,
    "spec_decode_acceptance_length": 2.5,
    "spec_decode_num_drafts": 4,
    "spec_decode_draft_tokens": 12,
    "spec_decode_accepted_tokens": 6,
    "spec_decode_per_position_acceptance_rates": [0.75, 0.5, 0.25],
}
WORKED_CONSOLE = console(1, 11, "50.00", "2.50", 4, 12, 6, "75.00 50.00 25.00")
WORKED_OFFLINE = offline(11, 4, 12, 6, "2.50", "0.75 0.50 0.25")
register("vllm/bench", json.dumps(RESULT), json.dumps(RESULT, indent=2), WORKED_CONSOLE, WORKED_OFFLINE)


@pytest.mark.parametrize("text", [json.dumps(RESULT), json.dumps(RESULT, indent=4), WORKED_CONSOLE, WORKED_OFFLINE])
def test_bench(text: str) -> None:
    """Result file, console, and the offline example give the same counts."""
    events, notes = imported(text, "vllm/bench")
    (event,) = (event for event in events if isinstance(event, TallyEvent))
    assert counted(event) == (6, 4, 12, [3, 2, 1], 3)
    assert (event.completion_tokens, event.window) == (11, "interval")
    assert not notes.counts or text is WORKED_OFFLINE


def test_bench_prints_percent() -> None:
    """The rate of bench is in percent, and goes in with its sign and all its digits."""
    (event,) = tallies(json.dumps(RESULT | {"spec_decode_acceptance_rate": 74.13967611336032}), "vllm/bench")
    assert event.printed == {"Draft acceptance rate": "74.13967611336032%", "Mean acceptance length": "2.5"}


RATES_6 = ".74 .54 .41 .30 .22 .16 .12 .08 .05 .02", ".71 .50 .36 .26 .18 .13 .10 .07 .04 .02"


@pytest.mark.parametrize(
    ("text", "counts", "codes"),
    [
        # vllm#26191: 80 prompts, K = 7
        (offline(16990, 4816, 33712, 12208, "3.53", ""), (12208, 4816, 33712), {"output_below_counts"}),
        # vllm#26498: three runs of the same prompts at K = 10
        (
            offline(16994, 4687, 46870, 12368, "3.64", RATES_6[0].replace(".", "0.")),
            (12368, 4687, 46870),
            {"output_below_counts"},
        ),
        (
            offline(68596, 20468, 204680, 48266, "3.36", RATES_6[1].replace(".", "0.")),
            (48266, 20468, 204680),
            {"output_below_counts"},
        ),
        (offline(16994, 4649, 46490, 12420, "3.67", ""), (12420, 4649, 46490), {"output_below_counts"}),
        # vllm#24344: EAGLE, and n-gram with 821 tokens that had no draft
        (offline(5376, 2189, 6567, 3187, "2.46", "0.77 0.45 0.24"), (3187, 2189, 6567), set()),
        (
            offline(5376, 993, 4960, 3562, "4.59", "0.81 0.74 0.70 0.68 0.66"),
            (3562, 993, 4960),
            {"rounds_without_draft", "blocks_cut_short"},
        ),
    ],
)
def test_offline_threads(text: str, counts: tuple[int, int, int], codes: set[str]) -> None:
    """Runs of real threads come out with their exact counts, and with what these say of the output."""
    events, notes = imported(text, "vllm/bench")
    (event,) = (event for event in events if isinstance(event, TallyEvent))
    assert (event.accepted, event.rounds, event.proposed) == counts
    assert set(notes.counts) == codes
    assert set(event.estimated or {}) <= {"reached"}
    if "rounds_without_draft" in codes:
        assert "821 more" in noted(notes, "rounds_without_draft")[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # vllm#48892: MTP with 1 and with 8 drafts
        (console(100, 48428, "83.39", "1.83", 26407, 26407, 22021, "83.39"), (22021, 26407, 26407, 1)),
        (
            console(
                100, 49654, "43.71", "4.50", 11043, 88344, 38611, "76.17 61.58 51.25 42.43 36.40 30.94 27.22 23.65"
            ),
            (38611, 11043, 88344, 8),
        ),
        # vllm#41044: greedy drafts against probabilistic ones, K = 2
        (console(10, 8167, "10.28", "1.21", 6774, 13548, 1393, "14.90 5.67"), (1393, 6774, 13548, 2)),
        (console(10, 8175, "49.38", "1.99", 4113, 8226, 4062, "70.02 28.74"), (4062, 4113, 8226, 2)),
    ],
)
def test_console_threads(text: str, expected: tuple[int, ...]) -> None:
    """Blocks of real threads come out with their exact counts, twice if they stand there twice."""
    for found in tallies(text * 2, "vllm/bench"):
        assert (found.accepted, found.rounds, found.proposed, found.max_draft_tokens) == expected
    assert len(tallies(text * 2, "vllm/bench")) == 2


def test_rounds_that_were_not_pasted() -> None:
    """A block without its line of rounds gives them from its rates."""
    text = "".join(row for row in WORKED_CONSOLE.splitlines(keepends=True) if not row.startswith("Drafts"))
    (event,) = tallies(text, "vllm/bench")
    assert counted(event) == (6, 4, 12, [3, 2, 1], 3)


STATS: dict[str, Any] = {
    "mean_acceptance_length": 1.2325581395348837,
    "draft_acceptance_rate": 0.07751937984496124,
    "acceptance_histogram": [39, 1, 0, 3],
    "num_spec_steps": 43,
    "num_accepted_draft_tokens": 10,
    "num_draft_tokens": 129,
    "num_spec_tokens": 3,
}
DETAILED: dict[str, Any] = {
    "mean_acceptance_length": 2.5,
    "draft_acceptance_rate": 0.5,
    "acceptance_histogram": [1, 1, 1, 1],
    "num_spec_steps": 4,
    "num_accepted_draft_tokens": 6,
    "num_draft_tokens": 12,
    "num_spec_tokens": 3,
    "per_step_accepted": [0, 1, 3, 2],
    "per_step_drafted": [3, 3, 3, 3],
}


def response(stats: dict[str, Any] | None, output: int, name: str = "chatcmpl-1") -> dict[str, Any]:
    return {"id": name, "usage": {"completion_tokens": output}, "metrics": {"speculative_decoding": stats}}


def stream(last: dict[str, Any]) -> str:
    return f'data: {{"id": "r", "choices": []}}\n\ndata: {json.dumps(last)}\n\ndata: [DONE]\n\n'


register(
    "vllm/response",
    json.dumps(response(STATS, 54)),
    json.dumps([response(DETAILED, 11)], indent=1),
    stream(response(DETAILED, 11)),
    f"{json.dumps(response(DETAILED, 11))}\n{json.dumps(response(None, 20))}\n",
)


def test_response() -> None:
    """The sample of vllm#48915 holds its identities: 1 + 10 + 43 tokens, and both printed figures."""
    events, notes = imported(json.dumps(response(STATS, 54)), "vllm/response")
    (event,) = (event for event in events if isinstance(event, TallyEvent))
    assert counted(event) == (10, 43, 129, [4, 3, 3], 3)
    assert (event.request, event.requests, event.completion_tokens) == ("chatcmpl-1", 1, 54)
    assert event.printed == {
        "mean_acceptance_length": "1.2325581395348837",
        "draft_acceptance_rate": "0.07751937984496124",
    }
    assert notes.counts == {}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(response(DETAILED, 11)),
        json.dumps([response(DETAILED, 11)], indent=2),
        stream(response(DETAILED, 11)),
        json.dumps({"custom_id": "a", "response": {"status_code": 200, "body": response(DETAILED, 11)}}),
    ],
)
def test_detailed_response(text: str) -> None:
    """A detailed response is its rounds in order, and a tally, however it is wrapped."""
    events, notes = imported(text, "vllm/response")
    proposals = [event for event in events if isinstance(event, Proposal)]
    assert [(event.round, event.start, len(event.tokens)) for event in proposals] == [
        (0, 1, 3),
        (1, 2, 3),
        (2, 4, 3),
        (3, 8, 3),
    ]
    verdicts = [event for event in events if isinstance(event, Verdict)]
    assert [event.accepted for event in verdicts] == [0, 1, 3, 2]
    assert [event.next.kind for event in verdicts if event.next] == ["correction", "correction", "bonus", "correction"]
    assert [counted(event) for event in events if isinstance(event, TallyEvent)] == [(6, 4, 12, [3, 2, 1], 3)]
    assert notes.counts == {}


def test_a_stop_inside_an_accepted_block() -> None:
    """Tokens behind the end of the output are counted by the engine, and told from the output (vllm#56101: 3 of 6 kept)."""
    stats = DETAILED | {"acceptance_histogram": [0, 0, 0, 0, 0, 1], "num_spec_steps": 1, "num_accepted_draft_tokens": 5}
    stats |= {"num_draft_tokens": 5, "num_spec_tokens": 5, "per_step_accepted": [5], "per_step_drafted": [5]}
    _, notes = imported(json.dumps(response(stats, 4)), "vllm/response")
    assert "3 fewer" in noted(notes, "output_below_counts")[0]


def test_padded_first_rounds() -> None:
    """Requests that all begin with a full block of which nothing is accepted are worth a word (vllm#50518)."""
    stats = DETAILED | {"acceptance_histogram": [1, 1, 1, 2], "num_spec_steps": 5, "num_accepted_draft_tokens": 9}
    stats |= {"num_draft_tokens": 15, "per_step_accepted": [0, 1, 3, 2, 3], "per_step_drafted": [3] * 5}
    text = "\n".join(json.dumps(response(stats, 15, f"r{i}")) for i in range(4))
    _, notes = imported(text, "vllm/response")
    assert notes.counts == {"padded_rounds": 1}


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"acceptance_histogram": [1, 1, 1, 2]}, "not_counts"),
        ({"num_accepted_draft_tokens": 7}, "not_counts"),
        ({"num_accepted_draft_tokens": 13}, "not_counts"),
        ({"per_step_accepted": [0, 1, 2, 3]}, ""),
        ({"per_step_accepted": [0, 1, 2, 2]}, "not_counts"),
        ({"per_step_accepted": [0, 0, 6, 0], "acceptance_histogram": None}, "not_counts"),
        ({"num_spec_steps": True}, "no_count"),
        ({"num_draft_tokens": float("nan")}, "no_count"),
        ({"num_draft_tokens": [12]}, "no_count"),
    ],
)
def test_records_that_cannot_be(changed: dict[str, Any], code: str) -> None:
    """Counts that rule each other out, or are none, leave the record out."""
    text = f"{json.dumps(response(DETAILED | changed, 11))}\n{json.dumps(response(DETAILED, 11, 'other'))}"
    events, notes = imported(text, "vllm/response")
    assert sum(isinstance(event, TallyEvent) for event in events) == 1 + (not code)
    assert [*notes.counts] == ([code] if code else [])


@pytest.mark.parametrize(
    ("changed", "output", "said"),
    [
        (
            {"per_step_accepted": "x"},
            11,
            "metrics.speculative_decoding.per_step_accepted, per_step_drafted: expected two lists",
        ),
        (
            {"per_step_drafted": [3, 3]},
            11,
            "metrics.speculative_decoding.per_step_accepted, per_step_drafted: expected two lists",
        ),
        (
            {"acceptance_histogram": [1, -1, 1, 1]},
            11,
            "metrics.speculative_decoding.acceptance_histogram: expected a list",
        ),
        ({}, -4, "usage.completion_tokens: expected a whole number from 0 on, got -4"),
    ],
)
def test_fields_that_are_none_are_said(changed: dict[str, Any], output: int, said: str) -> None:
    """A field of the wrong type beside good counts is left out with its path; the counts stay."""
    events, notes = imported(json.dumps(response(DETAILED | changed, output)), "vllm/response")
    assert any(isinstance(event, TallyEvent) for event in events)
    assert [text.startswith(said) for text in noted(notes, "no_count")] == [True]


@pytest.mark.parametrize(
    ("printed", "differ"),
    [({"draft_acceptance_rate": 1}, 1), ({"mean_acceptance_length": 2.5}, 0), ({"mean_acceptance_length": 3}, 1)],
)
def test_a_short_number_is_no_rounded_one(printed: dict[str, Any], differ: int) -> None:
    """A response has all digits of its figures: 1 beside 6 of 12 is another figure, and not half of it rounded up."""
    (event,) = tallies(json.dumps(response(DETAILED | printed, 11)), "vllm/response")
    assert len([*misprints(event)]) == differ


def test_two_models_are_two_drafters() -> None:
    """One scrape of two models is of two drafters, each with the name of its model."""
    text = "".join(
        f'vllm:spec_decode_{name}_total{{engine="0",model_name="{model}"}} {number}\n'
        for model, numbers in (("m", (4, 12, 6)), ("other", (8, 24, 2)))
        for name, number in zip(("num_drafts", "num_draft_tokens", "num_accepted_tokens"), numbers, strict=True)
    )
    assert {event.drafter: event.accepted for event in tallies(text, "vllm/metrics")} == {
        "draft of m": 6,
        "draft of other": 2,
    }


@pytest.mark.parametrize("value", ["NaN", "-4.0", "4.5", "1e400"])
def test_a_counter_that_is_no_count_is_said(value: str) -> None:
    """A counter of Prometheus that is no whole number is noted with its name and value; the others count."""
    text = (
        f'vllm:spec_decode_num_drafts_total{{engine="0"}} {value}\n'
        'vllm:spec_decode_num_draft_tokens_total{engine="0"} 12\nvllm:spec_decode_num_accepted_tokens_total{engine="0"} 6\n'
    )
    events, notes = imported(text, "vllm/metrics")
    [event] = [event for event in events if isinstance(event, TallyEvent)]
    assert (event.rounds, event.proposed, event.accepted) == (None, 12, 6)
    assert noted(notes, "no_count") == [
        f"vllm:spec_decode_num_drafts_total: expected a whole number from 0 on, got {value}"
    ]


OURS = ("vllm/log", "vllm/metrics", "vllm/bench", "vllm/response")
PAIRS = [(name, text) for name in OURS for text in FIXTURES[name]]


@pytest.mark.parametrize(("name", "text"), PAIRS)
def test_printed_figures_are_those_of_the_counts(name: str, text: str) -> None:
    """What a clean input prints is what its counts give, under the definitions that it goes by."""
    assert [text for event in tallies(text, name) for _, text in misprints(event)] == []


def test_a_float_is_compared_to_its_last_bits() -> None:
    """7 / 3 is printed as 2.3333333333333335, which is no difference; the next figure is one."""
    stats = DETAILED | {
        "mean_acceptance_length": 1 + 4 / 3,
        "draft_acceptance_rate": 4 / 9,
        "acceptance_histogram": [1, 1, 0, 1],
    }
    stats |= {"num_spec_steps": 3, "num_accepted_draft_tokens": 4, "num_draft_tokens": 9}
    stats |= {"per_step_accepted": [0, 1, 3], "per_step_drafted": [3, 3, 3]}
    for length, differs in ((1 + 4 / 3, 0), (2.333333, 0), (2.33333333334, 1)):
        (event,) = tallies(json.dumps(response(stats | {"mean_acceptance_length": length}, 8)), "vllm/response")
        assert len([*misprints(event)]) == differs


@pytest.mark.parametrize(("name", "text"), PAIRS)
def test_recognised_by_one(name: str, text: str) -> None:
    """A clean input is recognised by its importer alone."""
    assert [other for other, importer in importers().items() if importer.recognise(text.encode())] == [name]


@pytest.mark.parametrize(("name", "text"), PAIRS)
def test_cut_off_inputs_make_nothing_up(name: str, text: str) -> None:
    """Of an input that was cut off anywhere, each count is that of the whole one, or absent."""
    clean = tallies(text, name)
    for part in (*truncated(text, 1), *(text[:end] for end in range(max(len(text) - 60, 0), len(text)))):
        for event in tallies(part, name):
            counts = {
                field: getattr(event, field) for field in ("rounds", "proposed", "accepted", "matched", "reached")
            }
            assert any(
                all(value in (None, getattr(whole, field)) for field, value in counts.items()) for whole in clean
            )


@pytest.mark.parametrize("seed", range(80))
def test_interleaved_lines_make_nothing_up(seed: int) -> None:
    """Two workers that write at once give lines as they were, or none."""
    lines = [line("2.16", 150, 387, "0.543, 0.357, 0.264", "38.8"), worked(V085), THREAD_1]
    text = "".join(lines * 3)
    clean = {said(event) for event in tallies(text, "vllm/log")}
    assert {said(event) for event in tallies(interleaved(text, seed), "vllm/log")} <= clean


def test_rates_of_zero_left_over_by_another_line() -> None:
    """A line with more rates than those before it, and with drafts for fewer, is two lines in one; a new number of drafts is none."""
    dflash = line("2.37", 89, 975, "0.600, 0.385, 0.215, 0.108, 0.062" + ", 0.000" * 10, "9.1")
    events, notes = imported(
        dflash + dflash.replace("0.000, Avg", "0.000, 0.000, 0.000, Avg") + worked(V0102), "vllm/log"
    )
    assert [event.max_draft_tokens for event in events if isinstance(event, TallyEvent)] == [15, 3]
    assert notes.counts["report_unreadable"] == 1


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(PAIRS), st.integers(0, 10**6))
def test_damage_is_survived(pair: tuple[str, str], seed: int) -> None:
    """Random bytes anywhere end in events or in an input error."""
    name, text = pair
    assert all(event.drafter for event in tallies(damaged(text, seed), name))
