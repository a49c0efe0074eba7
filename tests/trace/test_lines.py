"""Reading event by event, and writing back with nothing lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specdiag import TraceError, read
from specdiag.errors import InputError
from specdiag.trace.codec import MAX_LEARNED, Codec, encode
from specdiag.trace.events import Proposal
from specdiag.trace.notes import Notes
from tests import build
from tests.conftest import TRACES


@pytest.mark.parametrize("path", sorted(TRACES.glob("*.jsonl*")), ids=lambda p: p.name)
def test_rewriting_keeps_every_byte(path: Path) -> None:
    """Lines that are not changed are written back as they were, unknown fields and all."""
    raw = [line.raw for line in read(str(path))]
    assert len(raw) > 700
    assert all(json.loads(line) for line in raw)
    if path.suffix == ".jsonl":
        assert b"".join(line + b"\n" for line in raw) == path.read_bytes()


def test_a_change_keeps_unknown_fields_and_types(tmp_path: Path) -> None:
    """A changed line keeps the fields that this release does not know, nested ones too; an unknown type is an event like others."""
    events = [build.block("p", weather={"sky": [1, None]}), {"type": "storm", "request": "r", "wind": 12}]
    lines = list(read(build.write(tmp_path / "t.jsonl", events)))
    assert json.loads(lines[0].rewritten(request="other", parent=None)) == {
        key: value for key, value in (events[0] | {"request": "other"}).items() if key != "parent"
    }
    assert json.loads(lines[1].rewritten(request="other")) == events[1] | {"request": "other"}
    assert isinstance(lines[0].event, Proposal)


def test_encoding_a_learned_event_keeps_its_fields() -> None:
    """A field met for the first time is part of the event from then on and is encoded with it."""
    codec = Codec()
    obj = {"type": "note", "text": "x", "colour": {"r": 1}}
    assert codec.learn(obj)
    assert json.loads(encode(codec.decode(json.dumps(obj).encode()))) == obj
    assert not codec.learn(obj)


def test_what_can_be_learned_is_bounded() -> None:
    """A trace that invents field after field stops being learned from: memory is not the trace's to spend."""
    codec = Codec()
    learned = sum(codec.learn({"type": "note", "text": "x", f"field{i}": i}) for i in range(2 * MAX_LEARNED))
    assert learned < MAX_LEARNED


def test_strict_reading_raises_where_and_what(tmp_path: Path) -> None:
    """A bad line raises with file, line and path; leniently it is counted and the others are read."""
    path = tmp_path / "t.jsonl"
    path.write_text(build.lines([build.header()]) + '{"type":"note"}\n' + build.lines([build.block("p")]))
    with pytest.raises(TraceError, match=r"t\.jsonl:2: \$\.text"):
        list(read(str(path)))
    notes = Notes()
    assert len(list(read(str(path), strict=False, notes=notes))) == 2
    assert notes.counts == {"bad_field": 1}


@pytest.mark.parametrize("schema", ["specdiag/2", "other/1", "specdiag", "specdiag/x"])
def test_another_major_is_refused(tmp_path: Path, schema: str) -> None:
    """A trace of a newer major, or of no specdiag at all, is refused by name in either mode."""
    path = build.write(tmp_path / "t.jsonl", [build.header(schema=schema)])
    with pytest.raises(InputError, match=r":1: \$\.schema"):
        list(read(path, strict=False))


def test_minor_versions_and_older_majors_are_read(tmp_path: Path) -> None:
    """Only a major may break a reader."""
    assert len(list(read(build.write(tmp_path / "t.jsonl", [build.header(schema="specdiag/1.7")])))) == 1
