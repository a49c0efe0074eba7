"""What a line gives that breaks the format."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from specdiag.trace.codec import Codec
from specdiag.trace.events import EVENT_TYPES
from specdiag.trace.salvage import Salvaged, salvage
from tests import build

LEAST: dict[str, dict[str, Any]] = {
    "trace": {"schema": "specdiag/1"},
    "proposal": build.block("p"),
    "verdict": build.verdict("p", 1),
    "consensus": {"request": "r", "step": "s", "quorum": 1, "outcome": "agreed"},
    "effect": {"request": "r", "step": "s", "branch": "main", "key": "k", "action": "stage"},
    "tally": {"drafter": "code", "window": "interval"},
    "note": {"text": "x"},
}
"""An event of each type with the fields that it must have."""

WRONG: tuple[Any, ...] = ("x", 2**70, -(2**70), 0.5, True, [{}], [2**70], ["x"], {"id": []})
IDS = {"id", "request", "proposal", "parent", "branch", "step", "drafter", "source", "key"}


def refused(kind: Any, value: Any) -> bool:
    """Whether a field of this type does not take the value."""
    try:
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, OverflowError):
        return True
    return False


CASES = [
    pytest.param(tag, field.encode_name, value, field.required, id=f"{tag}.{field.encode_name}={value}")
    for tag, kind in EVENT_TYPES.items()
    for field in msgspec.structs.fields(kind)
    for value in WRONG
    if "Raw" not in str(field.type)
    and refused(field.type, value)
    and not (field.encode_name in IDS and type(value) in (int, float))  # such an id is read as a string
]


def salvaged(event: dict[str, Any]) -> Salvaged:
    """What the line of this event gives."""
    return salvage(json.dumps(event).encode(), Codec())


@pytest.mark.parametrize(("tag", "name", "value", "required"), CASES)
def test_a_wrong_value_costs_the_field_or_the_line(tag: str, name: str, value: Any, required: bool) -> None:
    """A value that its field does not take costs the line where the field is required, and else the field alone."""
    found = salvaged({"type": tag} | LEAST[tag] | {name: value})
    assert {p.code for p in found.problems} == {"bad_field" if required else "bad_optional_field"}
    assert all(p.path.startswith(f"$.{name}") for p in found.problems)
    assert len(found.events) == (not required)
    if not required:
        without = Codec().decode(json.dumps({"type": tag} | LEAST[tag]).encode())
        assert msgspec.structs.asdict(found.events[0]) == msgspec.structs.asdict(without)


@pytest.mark.parametrize("tag", EVENT_TYPES)
def test_the_least_event_has_no_problem(tag: str) -> None:
    """An event with the required fields alone decodes."""
    assert Codec().decode(json.dumps({"type": tag} | LEAST[tag]).encode())


def test_every_problem_of_a_line_is_named() -> None:
    """A line that is lost is lost once: all that is wrong with it is said."""
    found = salvaged(build.block("p", start="x", tokens=[1, "2", {}], gated=2**40, q="x"))
    assert found.events == []
    assert sorted((p.code, p.path) for p in found.problems) == [
        ("bad_field", "$.start"),
        ("bad_field", "$.tokens[1]"),
        ("bad_field", "$.tokens[2]"),
        ("bad_optional_field", "$.gated"),
        ("bad_optional_field", "$.q"),
    ]


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1.797e308", "1e999"])
@pytest.mark.parametrize("where", ["drafters[0].temperature", "verifier.top_p", "next.p", "ms", "q[1]"])
def test_numbers_that_are_none_are_missing_wherever_they_stand(where: str, value: str) -> None:
    """A placeholder for "no value" is noted at its path, in a header and in lists too, and is missing from the event."""
    events = {
        "drafters[0].temperature": build.header(drafters=[{"id": "code", "temperature": "@"}]),
        "verifier.top_p": build.header(verifier={"top_p": "@"}),
        "next.p": build.verdict("p", 1, next={"token": 1, "kind": "bonus", "p": "@"}),
        "ms": build.block("p", ms="@"),
        "q[1]": build.block("p", q=[0.5, "@", 0.5, 0.5]),
    }
    line = json.dumps(events[where] | {"broken": "NaN"}).replace('"@"', value).replace('"NaN"', "NaN")
    found = salvage(line.encode(), Codec())
    assert {(p.code, p.path) for p in found.problems} == {("not_finite", f"$.{where}"), ("not_finite", "$.broken")}
    assert value not in str(found.events[0])
    assert b"null" in found.texts[0]


def test_tokens_beyond_64_bits_outlive_another_fault_of_their_line() -> None:
    """A line is repaired without touching what is right in it, integers of any size included."""
    (event,) = salvaged(build.block("p", tokens=[2**70, -(2**80)], gated="x")).events
    assert msgspec.structs.asdict(event)["tokens"] == [2**70, -(2**80)]


def test_an_unknown_field_that_is_no_text_is_noted() -> None:
    """Bytes that are not UTF-8 are noted inside of a field that is kept unread, too."""
    line = json.dumps(build.block("p", mystery="?")).encode().replace(b'"?"', b'"\xff"')
    codec = Codec()
    assert [p.code for p in salvage(line, codec).problems] == ["invalid_utf8"]
    with pytest.raises(msgspec.DecodeError):
        codec.decode(line)
    assert codec.decode(line.replace(b"\xff", "é".encode()))
