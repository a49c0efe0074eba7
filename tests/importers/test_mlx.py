"""mlx-lm's responses, and the timings of mlx-vlm."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.importers.common import imported, known, noted, register, tallies
from tests.importers.noise import hold


def stream(flags: str, tps: float = 100.0, **last: Any) -> str:
    """Responses for tokens of the drafter (d) and of the verifier (v)."""
    lines = [
        {
            "text": "x",
            "token": 7,
            "from_draft": flag == "d",
            "prompt_tokens": 5,
            "prompt_tps": tps,
            "generation_tokens": number,
            "generation_tps": 50.0,
            "finish_reason": None,
        }
        for number, flag in enumerate(flags, 1)
    ]
    lines[-1] |= {"finish_reason": "stop", **last}
    return "".join(json.dumps(line) + "\n" for line in lines)


WORKED = stream("vdvdddvddv")
VLM: dict[str, Any] = {
    "id": "chatcmpl-1",
    "timings": {"predicted_n": 111, "draft_kind": "mtp", "draft_rounds": 30, "draft_n": 90, "draft_n_accepted": 81},
}
register("mlx/stream", WORKED)
register("mlx-vlm/response", json.dumps(VLM) + "\n")


def test_worked_example() -> None:
    """Runs of drafted tokens between those of the verifier are the rounds; the drafts that were refused are not known."""
    (event,) = tallies(WORKED, "mlx/stream")
    assert (event.rounds, event.accepted, event.completion_tokens, event.proposed) == (4, 6, 10, None)
    assert (event.reached, event.max_draft_tokens, event.requests) == ([3, 2, 1], None, 1)


def test_end_in_a_draft() -> None:
    """A round that the end of the output cut counts, with the tokens that came."""
    (event,) = tallies(stream("vdvdd", finish_reason="length"), "mlx/stream")
    assert (event.rounds, event.accepted, event.completion_tokens, event.reached) == (3, 3, 5, [2, 1])


def test_last_token_said_again() -> None:
    """A response that says the last token again, with the reason of the end, is no further token."""
    lines = WORKED.splitlines()
    again = "\n".join([*lines[:-1], json.dumps({**json.loads(lines[-1]), "finish_reason": None}), lines[-1]])
    assert [(e.rounds, e.completion_tokens) for e in tallies(again, "mlx/stream")] == [(4, 10)]


def test_without_a_draft() -> None:
    """A stream in which nothing is drafted may be one without a drafter: its tokens are no rounds."""
    (event,) = tallies(stream("vvvv"), "mlx/stream")
    assert (event.rounds, event.accepted, event.completion_tokens) == (None, 0, 4)


def test_several_requests() -> None:
    """Requests follow each other; one whose tokens are mixed with another's is left out, and said."""
    assert [e.accepted for e in tallies(WORKED + stream("ddv", 90.0), "mlx/stream")] == [6, 2]
    first, second = WORKED.splitlines(), stream("ddvddvddvv", 90.0).splitlines()
    mixed = "\n".join(line for pair in zip(first, second, strict=True) for line in pair)
    _, notes = imported(mixed + "\n" + WORKED, "mlx/stream")
    assert [e.accepted for e in tallies(mixed + "\n" + WORKED, "mlx/stream")] == [6]
    assert noted(notes, "report_unreadable")


def test_thread_35() -> None:
    """mlx-vlm#1788: 81 of 90 drafts in 30 rounds make 111 tokens, and nothing is wrong with them."""
    (event,) = tallies(json.dumps(VLM), "mlx-vlm/response")
    assert (event.rounds, event.proposed, event.accepted, event.completion_tokens) == (30, 90, 81, 111)
    assert (event.drafter, event.max_draft_tokens, event.request) == ("mtp", 3, "chatcmpl-1")
    assert not noted(imported(json.dumps(VLM), "mlx-vlm/response")[1], "output_below_counts")


def test_accepted_behind_the_end() -> None:
    """mlx-vlm#2324: a reply of two tokens with six accepted ones has five that it does not hold."""
    timings = {"predicted_n": 2, "draft_rounds": 1, "draft_n": 7, "draft_n_accepted": 6}
    _, notes = imported(json.dumps({"timings": timings}), "mlx-vlm/response")
    assert noted(notes, "output_below_counts")


def test_pieces_of_a_streamed_answer() -> None:
    """Of pieces with one id the last timings count, once; answers without an id count each for itself."""
    part = {
        **VLM,
        "timings": {**VLM["timings"], "predicted_n": 50, "draft_rounds": 10, "draft_n": 30, "draft_n_accepted": 27},
    }
    assert [e.rounds for e in tallies(f"{json.dumps(part)}\n{json.dumps(VLM)}\n", "mlx-vlm/response")] == [30]
    bare = json.dumps({"timings": VLM["timings"]})
    assert len(tallies(f"{bare}\n{bare}\n", "mlx-vlm/response")) == 2


@pytest.mark.parametrize("rounds", [None, "30", -1, True, 1.5])
def test_timings_without_rounds(rounds: object) -> None:
    """Timings of llama.cpp, or of an answer without a drafter, are not read; counts that are none are said."""
    timings = {**VLM["timings"], "draft_rounds": rounds}
    assert not tallies(json.dumps({"timings": timings}), "mlx-vlm/response")
    assert not known("mlx-vlm/response").recognise(b'{"timings": {"draft_n": 90, "draft_n_accepted": 81}}')


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_noise(seed: int) -> None:
    """Cut and damaged input gives nothing that was not written."""
    hold("mlx/stream", WORKED + stream("ddv", 90.0), seed, mixes=False)
    hold("mlx-vlm/response", json.dumps(VLM) + "\n", seed, mixes=False)
