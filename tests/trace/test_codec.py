"""Unknown fields, learned and not."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from specdiag import read
from specdiag.trace.codec import MAX_LEARNED, MAX_LESSONS, Codec
from specdiag.trace.notes import Notes
from specdiag.trace.segment import How, Segment, read_segment
from tests import build


def segment(events: build.Events, **how: Any) -> Segment:
    """A segment of these events."""
    return read_segment(build.lines(events).encode(), Codec(), How(**how))


@pytest.mark.parametrize("chunk", [500, 20_000, 1 << 20])
def test_fields_beyond_the_bound_are_counted_and_the_lines_read(chunk: int) -> None:
    """Every unknown field counts once, learned or not, and wherever the chunks end; no line is lost for it."""
    events = build.rounds(200)
    odd = [event | {f"field{i}": i, f"other{i}": {}} for i, event in enumerate(events)]
    found = segment(odd, chunk=chunk)
    assert found.notes.counts == {"unknown_field": 2 * len(events)}
    assert found.events == {"trace": 1, "proposal": 200, "verdict": 200}
    assert found.blocks is not None
    assert (found.blocks.accepted == 2).all()
    assert segment(events, chunk=chunk).notes.counts == {}


@pytest.mark.parametrize("name", ['quote"d', "control\n", "back\\slash"])
def test_names_that_cannot_be_learned_are_counted(name: str) -> None:
    """A field whose name no struct can have is unknown like any other."""
    found = segment([event | {name: 1} for event in build.rounds(50)])
    assert found.notes.counts == {"unknown_field": 101}


def test_types_beyond_the_bound_are_noted() -> None:
    """A log that invents a type in every line has each of them noted, and loses none of ours."""
    events = [event for i, e in enumerate(build.rounds(200)) for event in (e, {"type": f"odd{i}", "request": 5})]
    found = segment(events)
    assert found.notes.counts == {"unknown_type": 401}
    assert found.events["proposal"] == 200


def test_a_line_of_many_new_fields_that_is_large_counts() -> None:
    """Neither its size nor the number of its unknown fields costs a line."""
    crowd = {f"f{i}": "x" * 10 for i in range(60_000)}
    found = segment([build.header(), build.block("p") | crowd, build.verdict("p", 1)])
    assert found.notes.counts == {"unknown_field": 60_000}
    assert found.events == {"trace": 1, "proposal": 1, "verdict": 1}


def test_a_large_line_behind_a_byte_order_mark() -> None:
    """A byte order mark costs no line either, whatever its size."""
    data = b"\xef\xbb\xbf" + build.lines([build.block("p", tokens=[7] * 500_000)]).encode()
    found = read_segment(data, Codec(), How())
    assert found.notes.counts == {"byte_order_mark": 1}
    assert found.events == {"proposal": 1}


def test_a_new_field_in_every_line_costs_about_what_a_known_one_does() -> None:
    """Inventing names does not slow reading down by more than a few times."""
    events = build.rounds(3000)

    def seconds(names: str) -> float:
        data = build.lines([event | {names.format(i): i} for i, event in enumerate(events)]).encode()
        begin = time.process_time()
        assert read_segment(data, Codec(), How()).notes.counts == {"unknown_field": len(events)}
        return time.process_time() - begin

    same, other = (min(seconds(names) for _ in range(3)) for names in ("field", "field{}"))
    assert other < 5 * same, (same, other)


def test_rewriting_loses_no_field_that_was_not_learned(tmp_path: Path) -> None:
    """Lines with more fields than can be learned are written back whole, also where something else in them had to be repaired."""
    crowd = {f"f{i}": i for i in range(2 * MAX_LEARNED)}
    events = [
        build.block("p") | crowd,
        build.block("q", gated="x") | crowd,
        *(build.block(f"r{i}") | {f"n{i}": i} for i in range(2 * MAX_LESSONS)),
    ]
    file = build.write(tmp_path / "t.jsonl", events)
    notes = Notes()
    written = [json.loads(line.rewritten(request="new")) for line in read(file, strict=False, notes=notes)]
    want = [event | {"request": "new"} for event in events]
    del want[1]["gated"], want[1]["parent"]  # null, in a line that was written anew
    assert written == want
    assert notes.counts["bad_optional_field"] == 1
