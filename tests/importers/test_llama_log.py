"""llama.cpp: the log of llama-server in all its layouts."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdiag.trace.events import Proposal, TallyEvent, Verdict
from tests.importers.common import imported, interleaved, noted, part_of, register, tallies

NAME = "llama-cpp/log"
# One request, blocks of 3, four rounds that accept 0, 1, 3 and 2 drafts; the first token is prefill's.
FIRST = """\
slot print_timing: id  3 | task 7 |\x20
prompt eval time =      16.45 ms /    33 tokens (    0.50 ms per token,  1982.33 tokens per second)
       eval time =     161.86 ms /    11 tokens (   20.23 ms per token,    49.43 tokens per second)
      total time =     178.31 ms /    44 tokens
draft acceptance rate = 0.50000 (    6 accepted /    12 generated)
statistics ngram_mod: #calls = 4, #gen drafts = 4, #acc drafts = 3, #gen tokens = 12, #acc tokens = 6, dur(b,g,a) = 0.006, 21.272, 0.010 ms
slot      release: id  3 | task 7 | stop processing: n_tokens = 43, truncated = 0
"""
PREFIX = "0.09.182.176 I slot print_timing: id  0 | task 7 | "
TIMINGS = f"""\
{PREFIX}prompt eval time =     907.57 ms /    44 tokens (   20.63 ms per token,    48.48 tokens per second)
{PREFIX}       eval time =    6156.54 ms /    11 tokens (   69.17 ms per token,    14.46 tokens per second)
{PREFIX}      total time =    7064.11 ms /    55 tokens
{PREFIX}   graphs reused =         19
"""
SECOND = f"{TIMINGS}{PREFIX}draft acceptance = 0.50000 (    6 accepted /    12 generated)\n"
THIRD = (
    f"{TIMINGS}{PREFIX}draft acceptance = 0.50000 (    6 accepted /    12 generated), mean acceptance length =  2.50, "
    "acceptance rate per position = (0.750, 0.500, 0.250)\n"
    "0.09.182.508 I statistics     draft-simple: #calls(b,g,a) =    1      4      4, #gen drafts =      4, #acc drafts =     3, "
    "#gen tokens =     12, #acc tokens =     6, #mean acc len = 2.50, #acc rate/pos = (0.750, 0.500, 0.250), dur(b,g,a) = 0.000, 3.694, 0.033 ms\n"
)
FOURTH = f"""\
{TIMINGS}{PREFIX}draft acceptance = 0.50000 (    6 accepted /    12 generated), mean len =  2.50
{PREFIX}     acc per pos = (0.750, 0.500, 0.250)
0.09.182.508 I spec common_specu: statistics     draft-simple: #calls(b,g,a) =    1      4      4, #gen drafts =      4, #acc drafts =     3, \
#gen tokens =     12, #acc tokens =     6, #mean acc len = 2.50, #acc rate/pos = (0.750, 0.500, 0.250), dur(b,g,a) = 0.000, 3.694, 0.033 ms
0.09.182.599 I slot      release: id  0 | task 7 | stop processing: n_tokens = 54, truncated = 0
"""


STATISTICS = (
    "statistics {}: #calls(b,g,a) = {}, #gen drafts = {}, #acc drafts = {}, #gen tokens = {}, #acc tokens = {}, "
    "dur(b,g,a) = 0.001, 2.000, 0.300 ms\n"
)


def trace(*rounds: str, slot: int = 0, task: int = 7) -> str:
    """Lines of LLAMA_TRACE=1."""
    return "".join(
        f"0.09.000.000 I slot update_slots: id {slot:2} | task {task} | accepted {a} draft tokens{rest}\n"
        for a, _, rest in (r.partition("+") for r in rounds)
    )


TRACED = trace(" 0/ 3", " 1/ 3", " 3/ 3", " 2/ 3") + FOURTH
register(NAME, FIRST, SECOND, THIRD, FOURTH, TRACED)


def of_requests(text: str) -> list[TallyEvent]:
    """The tallies of requests."""
    return [tally for tally in tallies(text, NAME) if tally.window == "request"]


def test_the_first_layout_has_no_prefix_and_no_rounds() -> None:
    """The line belongs to the task whose timings it stands behind; R cannot be told; the implementation is named as today."""
    task, lifetime = tallies(FIRST, NAME)
    assert (task.request, task.accepted, task.proposed, task.completion_tokens, task.rounds) == ("3/7", 6, 12, 11, None)
    assert task.printed == {"draft acceptance": "0.50000"}
    assert (lifetime.drafter, lifetime.window, lifetime.rounds, lifetime.estimated) == (
        "ngram-mod",
        "lifetime",
        4,
        {"rounds": 1},
    )
    assert (lifetime.proposed, lifetime.accepted, lifetime.reached) == (12, 6, [3])


@pytest.mark.parametrize("text", [THIRD, FOURTH])
def test_mean_length_and_positions_give_the_rounds(text: str) -> None:
    """R and the rounds by position are the whole numbers behind the printed ones, in both layouts that have them."""
    task, lifetime = tallies(text, NAME)
    assert (task.accepted, task.proposed, task.rounds, task.reached, task.max_draft_tokens) == (6, 12, 4, [3, 2, 1], 3)
    assert task.estimated is None
    assert task.completion_tokens == 11
    assert (lifetime.drafter, lifetime.rounds, lifetime.reached) == ("draft-simple", 4, [3, 2, 1])
    assert lifetime.printed == {"mean len": "2.50", "acc per pos[1]": "0.750"}
    assert not imported(text, NAME)[1].counts


def test_output_and_full_blocks_give_the_rounds() -> None:
    """Without a mean length R is exact only where the drafts need as many rounds as the output has."""
    named = (
        "0.00.000.001 I spec common_specu: adding speculative implementation 'draft-simple'\n"
        "0.00.000.002 I spec common_specu: - n_max={}, n_min=0\n"
    )
    assert of_requests(SECOND)[0].rounds is None
    assert of_requests(named.format(3) + SECOND)[0].rounds == 4
    wide = of_requests(named.format(4) + SECOND)[0]
    assert (wide.rounds, wide.estimated) == (4, {"rounds": 1})
    assert of_requests(named.format(2) + SECOND)[0].rounds is None


def test_rounds_one_by_one() -> None:
    """With LLAMA_TRACE=1 every round is a proposal and a verdict, in order, and what is printed is compared with their counts."""
    events, notes = imported(TRACED, NAME)
    blocks = [event for event in events if isinstance(event, Proposal)]
    verdicts = [event for event in events if isinstance(event, Verdict)]
    assert [verdict.accepted for verdict in verdicts] == [0, 1, 3, 2]
    assert [(block.start, len(block.tokens), block.round) for block in blocks] == [
        (1, 3, 0),
        (2, 3, 1),
        (4, 3, 2),
        (8, 3, 3),
    ]
    assert [verdict.next.kind for verdict in verdicts if verdict.next] == [
        "correction",
        "correction",
        "bonus",
        "correction",
    ]
    task = of_requests(TRACED)[0]
    assert {block.request for block in blocks} == {task.request}
    assert (task.rounds, task.reached) == (4, [3, 2, 1])
    assert task.printed == {"draft acceptance": "0.50000", "mean len": "2.50"} | {
        f"acc per pos[{i}]": rate for i, rate in enumerate(["0.750", "0.500", "0.250"], 1)
    }
    assert not notes.counts


def test_the_line_of_debug_level_is_the_same_round() -> None:
    """Where both are on, each round stands there twice; where only debug is, each stands there once."""
    both = trace(" 0/ 3", "0/3+, new n_tokens = 45", " 3/ 3", "3/3+, new n_tokens = 49")
    debug = trace("0/3+, new n_past = 45", "3/3+, new n_past = 49")
    for text in (both, debug):
        assert [e.accepted for e in imported(text, NAME)[0] if isinstance(e, Verdict)] == [0, 3]


REPLAYED = trace(
    " 0/ 3+ (restore checkpoint)",
    " 1/ 1",
    " 1/ 3+ (restore checkpoint)",
    " 2/ 2",
    " 3/ 3",
    " 2/ 3+ (restore checkpoint)",
    " 3/ 3",
)


def test_replayed_rounds_count_once() -> None:
    """The counters up to 0.3.33 say 9 / 12 and 3.25 for these rounds: the counts are the rounds', and the difference is explained."""
    text = REPLAYED + FOURTH.replace("0.50000 (    6", "0.75000 (    9").replace(
        "mean len =  2.50", "mean len =  3.25"
    ).replace("(0.750, 0.500, 0.250)", "(1.000, 0.750, 0.500)").replace("11 tokens", "14 tokens")
    events, notes = imported(text, NAME)
    assert [e.accepted for e in events if isinstance(e, Verdict)] == [0, 1, 3, 2]
    task = next(e for e in events if isinstance(e, TallyEvent) and e.window == "request")
    assert (task.rounds, task.proposed, task.accepted, task.reached) == (4, 12, 6, [3, 2, 1])
    assert (task.printed or {})["mean len"] == "3.25"
    assert noted(notes, "rounds_without_draft") == ["14 tokens, 1 + 6 + 4 = 11 by the counts: 3 more"]


def test_replayed_rounds_that_the_engine_corrects() -> None:
    """0.3.36 takes the replay off its counters: nothing differs but the tokens that the second forwards gave."""
    assert of_requests(REPLAYED + FOURTH)[0].accepted == 6
    assert set(imported(REPLAYED + FOURTH, NAME)[1].counts) == set()


def test_replays_without_their_trace_show_in_the_output() -> None:
    """Counters with replayed rounds, over an output of 11 tokens: it is said by how many tokens they are over it."""
    text = FOURTH.replace("0.50000 (    6", "0.75000 (    9").replace("mean len =  2.50", "mean len =  3.25")
    text = text.replace("(0.750, 0.500, 0.250)", "(1.000, 0.750, 0.500)", 1)
    assert noted(imported(text, NAME)[1], "output_below_counts") == ["11 tokens, 1 + 9 + 4 = 14 by the counts: 3 fewer"]


def test_thread_28_blocks_are_cut() -> None:
    """llama.cpp#24536: 167 / 259, mean length 2.92, three positions: 87 rounds, as its statistics say, and two drafts fewer than full blocks."""
    line = "draft acceptance = {} (  {} accepted /   {} generated), mean acceptance length =  {}, acceptance rate per position = ({})\n"
    text = (
        line.format("0.64479", 167, 259, "2.92", "0.805, 0.632, 0.483")
        + STATISTICS.format("       draft-mtp", "   1     87     87", "    87", "   70", "   259", "  167")
        + line.format("0.54671", 158, 289, "2.63", "0.742, 0.526, 0.361")
    )
    task, lifetime, other = tallies(text, NAME)
    assert (task.rounds, task.reached, task.max_draft_tokens, task.estimated) == (87, [70, 55, 42], 3, None)
    assert noted(imported(text, NAME)[1], "blocks_cut_short")[0] == "259 proposed, 87 × 3 = 261 by full blocks"
    assert (lifetime.rounds, lifetime.reached) == (87, [70])
    assert (other.rounds, other.estimated) == (97, None)


def test_thread_29_statistics_are_by_implementation() -> None:
    """llama.cpp#23269: three implementations of one server, lifetime, beside a request; 2.553 for MTP, 0.201 for the n-gram."""
    text = "draft acceptance rate = 0.69811 (  111 accepted /   159 generated)\n" + "".join(
        STATISTICS.format(*fields)
        for fields in [
            ("ngram_map_k", "18 1315 0", 0, 0, 0, 0),
            ("ngram_mod", "18 1315 7", 7, 7, 448, 90),
            ("draft-mtp", "18 1308 1308", 1308, 1134, 2602, 2031),
        ]
    )
    task, key, ngram, mtp = tallies(text, NAME)
    assert (task.accepted, task.proposed, task.window, task.drafter) == (111, 159, "request", "draft")
    assert (key.drafter, key.rounds, key.proposed) == ("ngram-map-k", 0, 0)
    assert (ngram.drafter, ngram.rounds, ngram.accepted, ngram.proposed) == ("ngram-mod", 7, 90, 448)
    assert round(90 / 448, 3) == 0.201
    assert (mtp.rounds, mtp.accepted, mtp.proposed, mtp.reached) == (1308, 2031, 2602, [1134])
    assert round(1 + (mtp.accepted or 0) / (mtp.rounds or 1), 3) == 2.553


def test_text_that_looks_like_a_log_line_is_text() -> None:
    """Generated text stands between the lines of a log: what has not the prefix of its other lines counts nowhere."""
    said = (
        "draft acceptance = 0.90000 (    9 accepted /    10 generated), mean len =  2.00\n"
        "draft acceptance rate = 0.90000 (    9 accepted /    10 generated)\n"
        "slot print_timing: id  0 | task 8 | draft acceptance = 0.90000 (    9 accepted /    10 generated)\n"
        + STATISTICS.format("draft", "1 4 4", 4, 3, 12, 6)
        + "slot update_slots: id  0 | task 8 | accepted  2/ 3 draft tokens\n"
    )
    assert [*map(repr, tallies(FOURTH + said + FOURTH.replace("task 7", "task 9"), NAME))][:2] == [
        *map(repr, tallies(FOURTH, NAME))
    ]
    assert len(of_requests(FOURTH + said + FOURTH.replace("task 7", "task 9"))) == 2


def test_a_line_of_text_before_a_log_line() -> None:
    """Text without a line end stands before the prefix of the next line: it does no harm."""
    assert of_requests(FOURTH.replace(PREFIX + "draft", "and so on" + PREFIX + "draft"))[0].rounds == 4


def test_a_router_has_several_servers() -> None:
    """Behind llama-swap or the router mode every line names the server's port: that is the source of its counts."""
    text = "".join(f"[{port}] {line}\n" for line in FOURTH.splitlines() for port in (39385, 39386))
    assert {(t.source, t.window, t.rounds) for t in tallies(text, NAME)} == {
        (port, window, 4) for port in ("39385", "39386") for window in ("request", "lifetime")
    }


def test_a_collector_stands_before_every_line() -> None:
    """A container's time stamps, or those of a journal, stand before all lines, also before those without a prefix."""
    for text in (FIRST, FOURTH):
        stamped = "".join(f"2026-05-17 11:04:29.854 | {line}\n" for line in text.splitlines())
        assert [(t.accepted, t.rounds) for t in tallies(stamped, NAME)] == [
            (t.accepted, t.rounds) for t in tallies(text, NAME)
        ]


def test_requests_of_a_restarted_server_are_others() -> None:
    """Numbers of tasks begin again: their requests do not."""
    assert [t.request for t in of_requests(FOURTH + FOURTH.replace("task 7", "task 0"))] == ["0/7", "0/0#2"]


def test_an_acceptance_of_nothing() -> None:
    """Where nothing was accepted the mean length says nothing of R: the output does, as an estimate."""
    text = FOURTH.replace("0.50000 (    6", "0.00000 (    0").replace("2.50", "1.00").replace("11 tokens", " 5 tokens")
    text = text.replace("(0.750, 0.500, 0.250)", "(0.000, 0.000, 0.000)", 1)
    task = of_requests(text)[0]
    assert (task.accepted, task.rounds, task.estimated) == (0, 4, {"rounds": 8})


def test_synthetic_acceptance_is_said() -> None:
    """The warning of --spec-synth-rates is noted."""
    text = "0.00.000.001 W spec common_specu: synthetic speculative acceptance is enabled for benchmarking; generated output is not valid\n"
    assert len(noted(imported(text + FOURTH, NAME)[1], "simulated_acceptance")) == 1


def test_torn_lines_are_noted() -> None:
    """A line without its end, with lost spaces between counts, or with impossible counts, gives no figure."""
    torn = FOURTH.splitlines()[4][:-8] + "\n"
    lost = FOURTH.replace("=    1      4      4,", "=144,")
    wrong = FOURTH.replace("(    6 accepted", "(   16 accepted")
    assert len(noted(imported(FOURTH.replace("task 7", "task 3") + torn, NAME)[1], "report_unreadable")) == 1
    assert [t.window for t in tallies(lost, NAME)] == ["request"]
    assert [t.window for t in tallies(wrong, NAME)] == ["lifetime"]
    assert noted(imported(trace("4/3") + FOURTH, NAME)[1], "not_counts")


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from([FIRST, SECOND, THIRD, FOURTH, TRACED]))
def test_two_writers_at_once_make_nothing_up(seed: int, text: str) -> None:
    """Whatever of two interleaved copies can be read is what one of them says."""
    clean = tallies(text, NAME)
    for event in tallies(interleaved(text, seed), NAME):
        same = [t for t in clean if (t.window, t.drafter) == (event.window, event.drafter)]
        assert any((event.accepted, event.proposed) == (t.accepted, t.proposed) for t in same)


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_a_cut_log_says_less(seed: int) -> None:
    """A log that ends anywhere gives a part of what it gives as a whole."""
    text = TRACED + THIRD.replace("task 7", "task 8")
    clean, at = tallies(text, NAME), random.Random(seed).randrange(len(text) + 1)
    for event in tallies(text[:at], NAME):
        assert any(part_of(event, whole) for whole in clean), text[:at][-200:]
