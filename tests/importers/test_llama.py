"""llama.cpp beside its log: answers, command line programs, metrics, forks; and the real files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdiag.errors import InputError
from specdiag.trace.events import Proposal, TallyEvent, Verdict
from tests.hostile.program import specdiag as run
from tests.importers.common import imported, noted, register, tallies

DATA = Path(__file__).parents[1] / "data"
SHARED = os.environ.get("SPECDIAG_SHARED_DATA")
shared = pytest.mark.skipif(SHARED is None, reason="SPECDIAG_SHARED_DATA is not set")

# ---------------------------------------------------------------- answers

RESPONSE = "llama-cpp/response"


def answer(accepted: int, proposed: int, output: int, **more: object) -> str:
    """An answer of llama-server."""
    timings = {"prompt_n": 4, "predicted_n": output, "draft_n": proposed, "draft_n_accepted": accepted}
    return json.dumps({"choices": [], "id": f"chatcmpl-{accepted}", "timings": timings} | more) + "\n"


WITHOUT = '{"choices":[],"id":"chatcmpl-none","timings":{"prompt_n":4,"predicted_n":20}}\n'
STREAM = "".join(
    f"data: {answer(a, d, g, id='chatcmpl-s', object='chat.completion.chunk', choices=[{'index': 0, 'finish_reason': why}])}\n"
    for a, d, g, why in ((0, 3, 2, None), (1, 6, 4, None), (6, 12, 11, "stop"))
)
register(RESPONSE, answer(6, 12, 11) + WITHOUT + answer(1, 12, 8), STREAM + "data: [DONE]\n")


def test_timings_of_answers() -> None:
    """Accepted, proposed and output tokens are counts; R is not there; an answer without drafts is no request of speculation."""
    found = tallies(answer(6, 12, 11) + WITHOUT + answer(1, 12, 8), RESPONSE)
    assert [(t.request, t.accepted, t.proposed, t.completion_tokens, t.rounds) for t in found] == [
        ("chatcmpl-6", 6, 12, 11, None),
        ("chatcmpl-1", 1, 12, 8, None),
    ]


def test_thread_30() -> None:
    """llama.cpp#12603: 65 of 347 over 200 tokens."""
    tally = tallies(answer(65, 347, 200), RESPONSE)[0]
    assert (tally.accepted, tally.proposed, tally.completion_tokens) == (65, 347, 200)
    assert round(65 / 347, 3) == 0.187


def test_a_streamed_answer_counts_once() -> None:
    """With timings in every piece, the last piece of an answer has all of it; pieces in the server's own format say that they are pieces."""
    assert [(t.accepted, t.proposed, t.completion_tokens) for t in tallies(STREAM, RESPONSE)] == [(6, 12, 11)]
    own = answer(0, 3, 2, stop=False) + answer(6, 12, 11, stop=True)
    assert [t.accepted for t in tallies(own, RESPONSE)] == [6]


def test_answers_with_nonsense_in_them() -> None:
    """Counts that rule each other out, and what is no count, are noted and left out."""
    bad = (
        answer(13, 12, 11)
        + answer(6, 12, 11).replace('"draft_n": 12', '"draft_n": "12"')
        + '{"timings": {"draft_n": true}}\n{"timings": 3}\n'
    )
    events, notes = imported(bad + answer(6, 12, 11), RESPONSE)
    assert len(events) == 2
    assert (len(noted(notes, "not_counts")), len(noted(notes, "no_count"))) == (1, 2)


BENCH = "llama-cpp/speed-bench"
FILE = {
    "config": {"bench": "qualitative"},
    "summary": [
        {"category": "coding", "draft_n": 24, "accepted": 7, "accept_rate": 7 / 24},
        {"category": "overall", "draft_n": 24, "accepted": 7, "accept_rate": 7 / 24},
    ],
    "results": [
        {
            "id": "a",
            "category": "coding",
            "ok": True,
            "turns": 1,
            "latency_s": 1.0,
            "completion_tokens": 11,
            "draft_n": 12,
            "draft_n_accepted": 6,
        },
        {
            "id": "b",
            "category": "coding",
            "ok": True,
            "turns": 2,
            "latency_s": 1.0,
            "completion_tokens": 9,
            "draft_n": 12,
            "draft_n_accepted": 1,
        },
        {
            "id": "c",
            "category": "coding",
            "ok": False,
            "turns": 1,
            "latency_s": 1.0,
            "completion_tokens": 0,
            "draft_n": 0,
            "draft_n_accepted": 0,
        },
    ],
}
register(BENCH, json.dumps(FILE, indent=2, sort_keys=True), json.dumps(FILE))


def test_the_file_of_the_bench_client() -> None:
    """One tally a sample that was drafted for; the summary is their sum, and where it is not that is said."""
    found = tallies(json.dumps(FILE, indent=2), BENCH)
    assert [(t.request, t.accepted, t.proposed, t.completion_tokens, t.requests) for t in found] == [
        ("a", 6, 12, 11, 1),
        ("b", 1, 12, 9, 2),
    ]
    assert not imported(json.dumps(FILE), BENCH)[1].counts
    other = json.dumps(FILE).replace('"draft_n": 24, "accepted": 7', '"draft_n": 25, "accepted": 7', 1)
    assert len(noted(imported(other, BENCH)[1], "printed_differs")) == 1


# ---------------------------------------------------------------- command line

CLI = "llama-cpp/cli"


def block(most: int, output: int, proposed: int, accepted: int, rate: str, width: int = 9, prefix: str = "") -> str:
    """What a program prints at its end."""
    values = [
        ("n_draft", most),
        ("n_predict", output),
        ("n_drafted", proposed),
        ("n_accept", accepted),
        ("accept", rate),
    ]
    lines = [f"{prefix}{name:<{width}} = {value}" for name, value in values]
    if width == 12:
        lines.insert(3, "t_draft_flat = 0.00 ms")
        lines.insert(4, "t_draft      = 1.00 ms, 0.10 us per token, 100.00 tokens per second")
    return (
        "some text\n\nencoded    8 tokens in    0.1 seconds, speed:   80.0 t/s\n\n"
        + "\n".join(lines)
        + "\n\ndraft:\n\n"
    )


register(CLI, block(3, 11, 12, 6, "50.000%"), block(3, 11, 12, 6, "50.000%", 12, "0.08.907.247 I "))


@pytest.mark.parametrize(
    ("figures", "rounds", "estimated", "full"),
    [
        ((8, 129, 132, 47, "35.606%"), 82, (80, 65), (None, 8)),
        ((53, 266, 245, 231, "94.286%"), 35, (32, 30), (None, 53)),
        ((16, 266, 254, 223, "87.795%"), 43, (38, 27), (None, 16)),
        ((16, 371, 912, 313, "34.320%"), 58, (1, 1), (16, 16)),
        ((3, 11, 12, 6, "50.000%"), 5, (1, 1), (3, 3)),
    ],
)
@pytest.mark.parametrize("width", [9, 12])
def test_thread_32(
    figures: tuple[int, int, int, int, str],
    rounds: int,
    estimated: tuple[int, int],
    full: tuple[int | None, int],
    width: int,
) -> None:
    """llama.cpp#2926, #3006, #10455: the counts are exact, the rounds lie between the longest blocks and the passes of the
    verifier, and n_draft is the length of a full block only where it is no length that a heuristic had come to."""
    text = block(*figures, width=width)
    tally = tallies(text, CLI)[0]
    assert (tally.completion_tokens, tally.proposed, tally.accepted) == figures[1:4]
    lookup = width == 12
    assert (tally.rounds, (tally.estimated or {}).get("rounds")) == (rounds, estimated[lookup])
    assert tally.max_draft_tokens == full[lookup]
    assert tally.printed == {"accept": figures[4]}


def test_a_run_without_a_draft() -> None:
    """0 / 0 is printed as nan: there are no rounds, and no rate."""
    tally = tallies(block(8, 20, 0, 0, "-nan%"), CLI)[0]
    assert (tally.proposed, tally.accepted, tally.rounds) == (0, 0, 0)


def test_a_block_that_is_torn() -> None:
    """A block that ends early, or into which another one is written, is noted."""
    text = block(3, 11, 12, 6, "50.000%")
    assert noted(imported(text + text[: text.index("n_accept")], CLI)[1], "report_unreadable") == [
        "ends behind n_drafted"
    ]
    mixed = text.replace("n_drafted", "n_draft   = 4\nn_drafted")
    with pytest.raises(InputError):
        imported(mixed, CLI)


# ---------------------------------------------------------------- metrics

METRICS = "llama-cpp/metrics"


def scrape(proposed: str, accepted: str, rounds: str, *reached: int) -> str:
    """What /metrics gives."""
    lines = [
        f"# TYPE llamacpp:spec_decode_{name} counter\nllamacpp:spec_decode_{name} {value}\n"
        for name, value in (
            ("num_draft_tokens_total", proposed),
            ("num_accepted_tokens_total", accepted),
            ("num_drafts_total", rounds),
        )
    ]
    lines += [
        f'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{{position="{i}"}} {n}\n' for i, n in enumerate(reached)
    ]
    return "llamacpp:n_decode_total 12\n" + "".join(lines)


register(METRICS, scrape("12", "6", "4", 3, 2, 1), scrape("12", "6", "4", 3, 2, 1) + scrape("24", "12", "8", 6, 4, 2))


def test_counters() -> None:
    """Lifetime counts, exact; positions are counted from 0; two scrapes are two states of one counter."""
    first, second = tallies(scrape("12", "6", "4", 3, 2, 1) + scrape("24", "12", "8", 6, 4, 2), METRICS)
    assert (first.window, first.rounds, first.proposed, first.accepted, first.reached) == (
        "lifetime",
        4,
        12,
        6,
        [3, 2, 1],
    )
    assert (second.rounds, second.reached) == (8, [6, 4, 2])


def test_counters_that_are_rounded() -> None:
    """Six digits are printed: from a million on a count is an estimate, but those by position have all digits."""
    tally = tallies(scrape("1.23457e+07", "6.1e+06", "4.1e+06", 3000000, 2000000, 1100001), METRICS)[0]
    assert tally.estimated == {"proposed": 50, "rounds": 5}
    assert tally.accepted == sum(tally.reached or []) == 6100001
    notes = imported(scrape("12", "6", "nan") + scrape("12", "6", "4", 3, 2, 1), METRICS)[1]
    assert len(noted(notes, "report_unreadable")) == 1


# ---------------------------------------------------------------- forks

SPEC = "llama-cpp/spec-log"


def spec(slot: int, position: int, number: int, proposed: int, accepted: int, **more: object) -> str:
    """A line of --spec-log-file."""
    tokens = [{"pos": i, "id": 100 + i, "p": 0.5, "entropy": 0.5, "top_k": [[100 + i, 0.5]]} for i in range(proposed)]
    verify = {"n_accepted": accepted, "rej_pos": -1 if accepted == proposed else accepted, "target_id": 7} | more
    draft = {"n": proposed, "stop_reason": "n_max", "tokens": tokens}
    return (
        json.dumps(
            {"ts_ms": 1, "slot_id": slot, "prompt_pos": position, "round_id": number, "draft": draft, "verify": verify}
        )
        + "\n"
    )


SPEC_LOG = (
    spec(0, 45, 0, 3, 0) + spec(0, 47, 1, 3, 1) + spec(1, 30, 2, 3, 3) + spec(0, 51, 3, 3, 3) + spec(0, 20, 4, 3, 2)
)
register(SPEC, SPEC_LOG)


def test_rounds_of_the_fork_with_a_file() -> None:
    """Each line is a round with its tokens; a position that falls is another request."""
    events, notes = imported(SPEC_LOG, SPEC)
    blocks = [e for e in events if isinstance(e, Proposal)]
    verdicts = [e for e in events if isinstance(e, Verdict)]
    assert [v.accepted for v in verdicts] == [0, 1, 3, 3, 2]
    assert [b.request for b in blocks] == ["0#1", "0#1", "1#1", "0#1", "0#2"]
    assert (blocks[0].tokens, blocks[0].start) == ([100, 101, 102], 45)
    assert [(v.next.token, v.next.kind) for v in verdicts if v.next][1:3] == [(7, "correction"), (7, "bonus")]
    assert not notes.counts


def test_rounds_of_the_fork_that_cannot_be() -> None:
    """More accepted than drafted, a refusal elsewhere, or no count at all: noted, and left out."""
    bad = spec(0, 45, 0, 3, 4) + spec(0, 46, 1, 3, 1, rej_pos=2) + spec(0, 47, 2, 3, 1, n_accepted=None)
    events, notes = imported(bad + SPEC_LOG, SPEC)
    assert len([e for e in events if isinstance(e, Verdict)]) == 5
    assert (len(noted(notes, "not_counts")), len(noted(notes, "report_unreadable"))) == (2, 1)


IK = "llama-cpp/ik-log"


def ik(msg: str, **fields: int) -> str:
    """A record of ik_llama.cpp."""
    head = {
        "tid": "140737350637888",
        "timestamp": 1753433480,
        "level": "VERB",
        "function": "update_slots",
        "line": 3,
        "msg": msg,
    }
    return json.dumps(head | fields, separators=(",", ":")) + "\n"


IK_LOG = (
    "llama_model_loader: loaded meta data\n"
    + ik("slot is processing task", id_slot=0, id_task=5)
    + ik("speculative decoding result", id_slot=0, accepted=12, total=13, new_n_past=39)
    + ik("speculative decoding result", id_slot=0, accepted=0, total=3, new_n_past=40)
    + ik("slot is processing task", id_slot=0, id_task=9)
    + ik("speculative decoding result", id_slot=0, accepted=3, total=3, new_n_past=90)
)
register(IK, IK_LOG)


def test_rounds_of_ik_llama() -> None:
    """ik_llama.cpp#645: 12 of 13 accepted; requests go by the tasks that other records name."""
    events, _ = imported(IK_LOG, IK)
    assert [(e.request, e.accepted) for e in events if isinstance(e, Verdict)] == [
        ("0/5#1", 12),
        ("0/5#1", 0),
        ("0/9#2", 3),
    ]
    assert [len(e.tokens) for e in events if isinstance(e, Proposal)] == [13, 3, 3]


@settings(max_examples=60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda x: st.lists(x, max_size=3),
        max_leaves=5,
    )
)
def test_any_value_anywhere(value: object) -> None:
    """A field may hold anything: nothing but an error of the input comes of it."""
    for name, line in (
        (SPEC, SPEC_LOG.splitlines()[0]),
        (IK, IK_LOG.splitlines()[2]),
        (RESPONSE, answer(6, 12, 11)),
        (BENCH, json.dumps(FILE)),
    ):
        whole = json.loads(line)
        for key in whole:
            tallies(json.dumps(whole | {key: value}), name)
            if isinstance(whole[key], dict):
                for inner in whole[key]:
                    tallies(json.dumps(whole | {key: whole[key] | {inner: value}}), name)


# ---------------------------------------------------------------- real files


def requests(name: str, importer: str) -> list[TallyEvent]:
    """The requests of a file."""
    return [t for t in tallies((DATA / name).read_bytes(), importer) if t.window == "request"]


@pytest.mark.parametrize(
    ("run_name", "rounds"), [("own_llama_server_draft", [20, 30, 4]), ("own_llama_server_ngram_and_draft", [29, 54, 5])]
)
def test_a_log_and_its_answers_agree(run_name: str, rounds: list[int]) -> None:
    """A real server: what its log and its answers say of a request is the same, and the log has the rounds."""
    logged = requests(f"{run_name}.log", "llama-cpp/log")
    answered = requests(f"{run_name}.responses.jsonl", RESPONSE)
    for log, other in zip(logged, answered, strict=True):
        assert (log.accepted, log.proposed, log.completion_tokens) == (
            other.accepted,
            other.proposed,
            other.completion_tokens,
        )
    assert [log.rounds for log in logged] == rounds
    assert all(log.completion_tokens == 1 + (log.accepted or 0) + (log.rounds or 0) for log in logged)
    assert not any(log.estimated for log in logged)


def test_requests_and_statistics_of_one_server() -> None:
    """Two implementations in a chain: the requests add up to the last statistics, and neither is added to the other."""
    found = tallies((DATA / "own_llama_server_ngram_and_draft.log").read_bytes(), "llama-cpp/log")
    last = {t.drafter: t for t in found if t.window == "lifetime"}
    sums = [
        sum(getattr(t, name) or 0 for t in found if t.window == "request")
        for name in ("accepted", "proposed", "rounds")
    ]
    assert (
        [last["draft-simple"].accepted, last["draft-simple"].proposed, last["draft-simple"].rounds]
        == sums
        == [104, 434, 88]
    )
    assert [t.reached for t in found if t.window == "request"] == [[22, 15, 12, 7, 4], [25, 9, 1], [3, 2, 2, 1, 1]]
    assert (last["ngram-simple"].proposed, last["draft-simple"].reached) == (0, [50, 26, 15, 8, 5])


def test_a_real_run_of_speculative_simple() -> None:
    """Full blocks need as many rounds as the verifier had passes: R is exact."""
    tally = requests("own_llama_speculative_simple.log", CLI)[0]
    assert (tally.rounds, tally.accepted, tally.proposed, tally.completion_tokens, tally.estimated) == (
        25,
        96,
        123,
        121,
        None,
    )


@shared
def test_a_foreign_run_and_one_that_failed() -> None:
    """600 / 438 in the layout of late 2025; a failed run is an error that says so."""
    folder = Path(SHARED or "")
    tally = tallies((folder / "llamacpp_speculative_qwen25math_k8_ok.txt").read_bytes(), CLI)[0]
    assert (tally.proposed, tally.accepted, tally.completion_tokens, tally.printed) == (
        600,
        438,
        514,
        {"accept": "73.000%"},
    )
    assert (tally.rounds, tally.estimated) == (76, {"rounds": 1})
    failed = str(folder / "llamacpp_speculative_FAILED.txt")
    for extra in ((), ("--from", "llama-cpp"), ("--from", CLI)):
        outcome = run("analyze", *extra, failed)
        assert outcome.code == 2
