"""Headers and counters that contradict themselves or each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from specdiag.trace.codec import Codec
from specdiag.trace.segment import How, read_segment
from tests import build
from tests.hostile.program import analyze, specdiag, write

TALLY = {"type": "tally", "drafter": "code", "window": "interval"}


def noted(*events: dict[str, Any]) -> list[tuple[str, int, str, str]]:
    """(code, line, path, text) of each note on a segment of these events."""
    notes = read_segment(build.lines([*events]).encode(), Codec(), How()).notes
    return [(code, *place) for code in notes.counts for place in notes.places[code]]


@pytest.mark.parametrize(
    ("counts", "path", "text"),
    [
        ({"proposed": 10, "accepted": 20}, "$.accepted", "20 accepted of 10 proposed"),
        ({"rounds": 9, "reached": [9, 4, 5]}, "$.reached[2]", "5 rounds, 4 one position before"),
        ({"rounds": 9, "reached": [10, 4]}, "$.reached[0]", "10 of 9 rounds"),
        ({"accepted": 5, "reached": [4, 2]}, "$.reached", "adds up to 6 tokens, 5 accepted"),
    ],
)
def test_counters_that_contradict_each_other_are_left_out(counts: dict[str, Any], path: str, text: str) -> None:
    """Counts of which one rules out the other are noted where they stand, and count for nothing."""
    assert noted(build.header(), TALLY | counts) == [("counts_contradict", 2, path, text)]
    assert read_segment(build.lines([TALLY | counts]).encode(), Codec(), How()).tallies == []


@pytest.mark.parametrize(
    "counts",
    [
        {},
        {"rounds": 0, "proposed": 0, "accepted": 0, "reached": []},
        {"rounds": 9, "proposed": 30, "accepted": 12, "reached": [6, 6, 0]},
        {"rounds": 9, "accepted": 12, "reached": [6]},
    ],
)
def test_counters_that_agree_get_no_note(counts: dict[str, Any]) -> None:
    """Counters may be equal, absent, zero, or fewer positions than were drafted."""
    assert noted(build.header(), TALLY | counts) == []


def test_a_drafter_declared_twice() -> None:
    """A header that declares a drafter twice is noted where the second declaration says something else, and what of it."""
    one = {"id": "code", "tokenizer": "a", "temperature": 0.7}
    assert noted(build.header(drafters=[one, one])) == []
    assert noted(build.header(drafters=[one, one | {"temperature": 0, "tokenizer": "b"}])) == [
        ("drafter_conflict", 1, "$.drafters[1]", "code: tokenizer, temperature")
    ]


def test_a_placeholder_in_a_header_is_missing() -> None:
    """A temperature of C's largest double is none."""
    header = build.header(drafters=[{"id": "code", "temperature": 1.797e308}], verifier={"top_p": -1.7970000001e308})
    segment = read_segment(build.lines([header]).encode(), Codec(), How())
    assert [place.path for place in segment.notes.places["not_finite"]] == [
        "$.drafters[0].temperature",
        "$.verifier.top_p",
    ]
    ((_, read),) = segment.headers
    assert read.drafters is not None
    assert read.drafters[0].temperature is None


def test_a_second_header_of_a_trace_that_differs(tmp_path: Path) -> None:
    """What a later header of the same trace says differently is named, with its file and line; strict mode ends there."""
    first = build.rounds(5)
    other = build.header(verification={"rule": "greedy"}, drafters=[{"id": "code", "tokenizer": "z"}], labels={"b": 1})
    files = write(tmp_path / "a.jsonl", first), write(tmp_path / "b.jsonl", b"\n", [other])
    places = analyze(*files).notes["header_conflict"]["places"]
    assert [(p["file"], p["line"], p["path"], p["text"]) for p in places] == [
        (files[1], 2, "$.drafters", "code"),
        (files[1], 2, "$.labels", "b"),
        (files[1], 2, "$.verification", "rule"),
    ]
    assert specdiag("analyze", "--strict", *files).code == 2


def test_headers_that_continue_a_trace_get_no_note(tmp_path: Path) -> None:
    """A header may come again: logged by another process, at another time, with fewer fields, its drafters in another order."""
    first = build.rounds(5)
    drafters = first[0]["drafters"][::-1]
    again = [
        first[0] | {"source": "rank 1", "ts": 5.0, "recorder": {"name": "x"}, "drafters": drafters},
        build.header(drafters=drafters[:1], verifier={"id": "v"}),
        {"type": "trace", "schema": "specdiag/1", "trace_id": "t"},
        build.header(trace_id="another", drafters=[]),
    ]
    assert analyze(write(tmp_path / "t.jsonl", first, again)).notes == {}


def test_what_takes_an_estimated_count_is_not_compared() -> None:
    """A printed figure is compared where all that it takes is exact: here the rate, not the length."""
    printed = {"Draft acceptance rate": "60.0%", "Mean acceptance length": "9.99"}
    counts = {"rounds": 4, "proposed": 12, "accepted": 6, "definitions": "vllm", "printed": printed}
    paths = [path for _, _, path, _ in noted(TALLY | counts | {"estimated": {"rounds": 1}})]
    assert paths == ["$.printed.Draft acceptance rate"]
