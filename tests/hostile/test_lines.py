"""Lines that are broken: each becomes a named, located note, and the rest of the trace counts; strict mode ends on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from specdiag.trace import segment, sources
from tests import build
from tests.hostile.program import GOOD, Done, analyze, fates, joined, line, specdiag, write

BEFORE, AFTER = GOOD[:41], GOOD[41:]
AT = len(BEFORE) + 1  # the line at which a bad one stands
EXTRA = build.block("x0", request="extra")

BAD_LINES: dict[str, tuple[bytes, str, str]] = {
    "not JSON": (b"garbage", "not_json", "$"),
    "an array": (b"[1, 2]", "not_json", "$"),
    "a number": (b"5", "not_json", "$"),
    "null": (b"null", "not_json", "$"),
    "NaN alone": (b"NaN", "not_json", "$"),
    "single quotes": (b"{'type': 'note'}", "not_json", "$"),
    "a comma too many": (b'{"type": "note", "text": "x",}', "not_json", "$"),
    "NUL bytes": (b"\0\0\0\0", "not_json", "$"),
    "torn": (line(EXTRA)[:-20], "torn_line", "$"),
    "invalid UTF-8": (b'{"type": "note", "text": "caf\xe9"}', "invalid_utf8", "$"),
    "overlong UTF-8": (b'{"type": "note", "text": "\xc0\x80"}', "invalid_utf8", "$"),
    "raw control": (b'{"type": "note", "text": "\x1b[31m"}', "control_character", "$"),
    "brackets without end": (b"[" * 200_000, "too_deep", "$"),
    "a bomb in an unknown field": (
        b'{"type": "note", "text": "x", "y": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        "too_deep",
        "$",
    ),
    "a bomb in a known field": (
        b'{"type": "trace", "schema": "specdiag/1", "verification": ' + b'{"a":' * 9000 + b"1" + b"}" * 9000 + b"}",
        "too_deep",
        "$",
    ),
    "no type": (b'{"text": "x"}', "bad_field", "$.type"),
    "type is a number": (b'{"type": 5}', "bad_field", "$.type"),
    "an empty object": (b"{}", "bad_field", "$.type"),
    "a field missing": (b'{"type": "note"}', "bad_field", "$.text"),
    "round is a float": (line(EXTRA | {"round": 1.0}), "bad_field", "$.round"),
    "round in exponent form": (
        line(EXTRA).replace(b'"round": 0', b'"round": 1e0'),
        "bad_field",
        "$.round",
    ),
    "round is a boolean": (line(EXTRA | {"round": True}), "bad_field", "$.round"),
    "round is negative": (line(EXTRA | {"round": -1}), "bad_field", "$.round"),
    "round beyond 2^53": (line(EXTRA | {"round": 2**53 + 1}), "bad_field", "$.round"),
    "round beyond 2^64": (line(EXTRA | {"round": 2**70}), "bad_field", "$.round"),
    "start beyond 2^53": (line(EXTRA | {"start": -(2**60)}), "bad_field", "$.start"),
    "a token is a string": (line(EXTRA | {"tokens": [1, "2"]}), "bad_field", "$.tokens[1]"),
    "tokens are null": (line(EXTRA | {"tokens": None}), "bad_field", "$.tokens"),
    "id is null": (line(EXTRA | {"id": None}), "bad_field", "$.id"),
    "id is a list": (line(EXTRA | {"id": ["a"]}), "bad_field", "$.id"),
    "accepted is NaN": (
        b'{"type": "verdict", "proposal": "p0", "request": "r0", "round": 0, "accepted": NaN}',
        "bad_field",
        "$.accepted",
    ),
    "accepted is a placeholder": (
        b'{"type": "verdict", "proposal": "p0", "request": "r0", "round": 0, "accepted": 1.797e308}',
        "bad_field",
        "$.accepted",
    ),
    "outcome unknown": (
        b'{"type": "consensus", "request": "r0", "step": "s", "quorum": 1, "outcome": "maybe"}',
        "bad_field",
        "$.outcome",
    ),
    "a negative tally": (
        b'{"type": "tally", "drafter": "code", "window": "interval", "rounds": -1}',
        "bad_optional_field",
        "$.rounds",
    ),
    "gated beyond 2^31": (line(EXTRA | {"gated": 2**40}), "bad_optional_field", "$.gated"),
    "a lone surrogate": (b'{"type": "note", "text": "\\ud800"}', "", "$"),
    "a lone surrogate in an id": (line(EXTRA).replace(b'"x0"', b'"\\udfff"'), "", "$"),
    "a lone surrogate in a field's name": (b'{"type": "note", "text": "x", "\\ud800": 1}', "", "$"),
    "a lone surrogate in a type": (b'{"type": "\\ud800"}', "", "$"),
    "an integer of 5,000 digits": (line(EXTRA).replace(b'"start": 0', b'"start": ' + b"9" * 5000), "", "$"),
}


@pytest.fixture
def around(tmp_path: Path) -> Any:
    """Puts bytes into the middle of a good trace."""
    return lambda bad: write(tmp_path / "t.jsonl", BEFORE, bad, AFTER)


def alone() -> dict[str, int]:
    """The fates of the good trace by itself."""
    return fates(analyze("-", stdin=joined(GOOD)))


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_is_noted_and_the_rest_counts(name: str, around: Any) -> None:
    """In lenient mode a bad line costs at most itself, and the note says where it is."""
    bad, code, path = BAD_LINES[name]
    done = analyze(around(bad + b"\n"))
    counted = done.report["inputs"][0]["events"]
    assert counted["verdict"] == 40
    assert counted["proposal"] in (40, 41)
    located = [(n["code"], p["line"], p["path"]) for n in done.report["integrity"] for p in n["places"]]
    assert (code, AT, path) in located if code else AT in [place for _, place, _ in located]
    if counted["proposal"] == 40:
        assert fates(done) == alone()


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_ends_strict_mode(name: str, around: Any) -> None:
    """In strict mode it ends the run with 2; the message has file, line, field and what to do, and no report is written."""
    bad, _, path = BAD_LINES[name]
    file = around(bad + b"\n")
    done = specdiag("analyze", "--strict", file)
    assert (done.code, done.out) == (2, "")
    assert f"{file}:{AT}: {path}" in done.err
    assert "With --lenient" in done.err


@pytest.mark.parametrize("name", BAD_LINES)
def test_validate_lists_a_bad_line(name: str, around: Any) -> None:
    """`validate` ends with 2 and prints the place."""
    bad, _, path = BAD_LINES[name]
    file = around(bad + b"\n")
    done = specdiag("validate", file)
    assert done.code == 2
    assert f"{file}:{AT}: {path}" in done.out


def test_every_problem_of_the_line_is_said(around: Any) -> None:
    """Strict mode says all that is wrong with the first bad line, however much that is."""
    q = "[" + ", ".join(["NaN"] * 12) + "]"
    bad = line(EXTRA | {"id": 7, "tokens": [1] * 12, "ms": "soon"})[:-1] + f', "q": {q}}}\n'.encode()
    err = specdiag("analyze", "--strict", around(bad)).err
    for path in ("$.id", "$.ms", *(f"$.q[{i}]" for i in range(12))):
        assert f":{AT}: {path}: " in err


def test_the_first_problem_ends_strict_mode(tmp_path: Path) -> None:
    """An impossible count on line 3 is told before garbage on line 20."""
    events = [build.header(), build.block("p"), build.verdict("p", 9)]
    file = write(tmp_path / "t.jsonl", events, build.lines(build.rounds(8)[1:]).encode(), b"garbage\n")
    assert f"{file}:3: $.accepted" in specdiag("analyze", "--strict", file).err


def test_torn_last_line(tmp_path: Path) -> None:
    """A writer that was killed leaves half a line; everything before it counts."""
    file = write(tmp_path / "t.jsonl", GOOD, line(EXTRA)[:-9])
    done = analyze(file)
    assert fates(done) == alone()
    assert done.notes["torn_line"]["places"][0]["line"] == len(GOOD) + 1
    assert specdiag("analyze", "--strict", file).code == 2


def test_lines_joined_without_a_newline(around: Any) -> None:
    """Two events on one line are both read, and noted."""
    pair = line(EXTRA) + line(build.verdict("x0", 1, request="extra"))
    done = analyze(around(pair + b"\n"))
    assert done.report["inputs"][0]["events"]["proposal"] == 41
    assert [p["line"] for p in done.notes["joined_lines"]["places"]] == [AT]


@pytest.mark.parametrize("between", [b"", b" ", b"\r", b"\t"])
def test_joined_lines_beside_blank_lines(between: bytes, around: Any) -> None:
    """A blank line elsewhere does not make up for a missing newline: it is noted, and later lines keep their numbers."""
    pair = line(EXTRA) + between + line(build.verdict("x0", 9, request="extra"))
    file = around(b"\n" + pair + b"\n")
    done = analyze(file)
    assert [p["line"] for p in done.notes["joined_lines"]["places"]] == [AT + 1]
    assert [p["line"] for p in done.notes["accepted_above_submitted"]["places"]] == [AT + 1]
    assert specdiag("analyze", "--strict", file).code == 2


def test_an_event_over_two_lines_beside_joined_ones(around: Any) -> None:
    """An object that is broken in two by a newline is not JSON Lines, even where the number of lines happens to fit."""
    whole = line(EXTRA)
    bad = whole[:30] + b"\n" + whole[30:] + line(build.verdict("x0", 1, request="extra")) + b"\n"
    assert specdiag("analyze", "--strict", around(bad)).code == 2


def test_a_line_begun_and_begun_again(around: Any) -> None:
    """Of a line that was begun twice, the second one counts."""
    done = analyze(around(line(EXTRA)[:25] + line(EXTRA) + b"\n"))
    assert done.report["inputs"][0]["events"]["proposal"] == 41
    assert done.notes["restarted_line"]["places"][0]["line"] == AT


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1.797e308", "1e400"])
@pytest.mark.parametrize("field", ["q", "p", "u", "ms"])
def test_no_value_counts_as_missing(field: str, value: str, tmp_path: Path) -> None:
    """What a logger writes where it has no number is missing, and said to be."""
    events = [build.header(), build.block("p", q=[0.5] * 4), build.verdict("p", 2, p=[0.5] * 4, u=[0.5] * 4, ms=1.5)]
    text = build.lines(events).encode()
    old = b'"ms": 1.5' if field == "ms" else f'"{field}": [0.5'.encode()
    file = write(tmp_path / "t.jsonl", text.replace(old, old[: -len(b"0.5")] + value.encode()))
    if field == "ms":
        file = write(tmp_path / "t.jsonl", text.replace(old, b'"ms": ' + value.encode()))
    done = analyze(file)
    assert done.report["fates"]["accepted"] == 2
    assert {note["code"] for note in done.report["integrity"]} & {"not_finite", "probability_out_of_range"}


def test_ids_beyond_2_to_53(tmp_path: Path) -> None:
    """Ids written as large numbers are joined exactly, and noted."""
    events = [build.header()]
    for i in range(2):
        events += [
            build.block("p", round=i) | {"id": 2**60 + i},
            build.verdict("p", 1 + i, proposal=2**60 + i, round=i),
        ]
    done = analyze(write(tmp_path / "t.jsonl", events))
    assert done.report["fates"]["accepted"] == 3
    assert done.notes["id_not_string"]["count"] == 4


@pytest.mark.parametrize(
    "name", ['"', "\\", "\x1b[31m", "\n", "", "type ", "__class__", "x" * 100_000, "\u202e", "é", "\0"]
)
def test_odd_names_of_unknown_fields(name: str, around: Any) -> None:
    """A field that is unknown is a note, whatever its name, and never an error."""
    file = around(line({"type": "note", "text": "x", name: 1}) + b"\n")
    done = analyze(file)
    assert fates(done) == alone()
    assert done.notes["unknown_field"]["count"] == 1
    assert len(done.out) < 300_000
    assert specdiag("analyze", "--strict", file).code == 0


@pytest.mark.parametrize("name", ['"', "\\", "\x1b[31m", "", "Note", "note ", "x" * 100_000, "5", "trace\0"])
def test_odd_names_of_unknown_types(name: str, around: Any) -> None:
    """So is a type."""
    file = around(line({"type": name, "source": "s", "v": [1, {"a": None}]}) + b"\n")
    done = analyze(file)
    assert fates(done) == alone()
    assert done.notes["unknown_type"]["count"] == 1
    assert specdiag("analyze", "--strict", file).code == 0


@pytest.mark.parametrize("field", [{"ts": "2024-05-01T00:00:00"}, {"source": 3}, {"ts": None, "request": 5}])
def test_unknown_types_owe_nothing_to_our_types(field: dict[str, Any], around: Any) -> None:
    """An event of an unknown type may use our field names in its own way."""
    assert specdiag("analyze", "--strict", around(line({"type": "gpu"} | field) + b"\n")).code == 0


def test_a_hundred_thousand_unknown_fields(around: Any) -> None:
    """More unknown fields than can be learned are still counted and reported."""
    done = analyze(around(line({"type": "note", "text": "x"} | {f"f{i}": i for i in range(100_000)}) + b"\n"))
    assert fates(done) == alone()
    assert "unknown_field" in done.notes


def test_a_large_line_may_have_an_unknown_field(around: Any) -> None:
    """The size of a line does not decide whether it may have an unknown field."""
    done = analyze(around(line({"type": "note", "text": "x" * 1_100_000, "new": 1}) + b"\n"))
    assert set(done.notes) == {"unknown_field"}


def test_type_last_and_keys_doubled(tmp_path: Path) -> None:
    """The order of the fields does not matter; of a field that stands twice, the last one counts."""
    text = "".join(json.dumps({k: e[k] for k in sorted(e, key=lambda k: k == "type")}) + "\n" for e in GOOD)
    text = text.replace('"accepted": 2', '"accepted": 3, "accepted": 2')
    assert fates(analyze(write(tmp_path / "t.jsonl", text.encode()))) == alone()


def short_lines(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """Lower the longest line that is held."""
    monkeypatch.setattr(sources, "MAX_LINE", limit)
    monkeypatch.setattr(segment, "MAX_LINE", limit)
    monkeypatch.setattr(sources, "SEGMENT", limit // 4)


@pytest.mark.parametrize("how", ["file", "stream"])
@pytest.mark.parametrize("filling", [b"a", b"\0", b"[", b" ", b'{"type":"note","text":"x"}'])
def test_a_line_too_long_to_be_held(filling: bytes, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line beyond the limit is refused without being held, and what stands before and behind it counts."""
    short_lines(monkeypatch, 20_000)
    data = joined(BEFORE, filling * (2_000_000 // len(filling)), b"\n", AFTER)
    done: Done
    done = analyze("-", stdin=data) if how == "stream" else analyze(write(tmp_path / "t.jsonl", data))
    assert fates(done) == alone()
    assert [(p["line"]) for p in done.notes["too_long"]["places"]] == [AT]


def test_a_file_that_is_one_endless_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of one line that is too long has no event: an error that says why."""
    short_lines(monkeypatch, 20_000)
    for data in (b"a" * 300_000, b"\0" * 300_000):
        done = specdiag("analyze", write(tmp_path / "t.jsonl", data))
        assert done.code == 2
        assert "line longer than" in done.err
