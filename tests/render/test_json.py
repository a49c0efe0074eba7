"""The report as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

from specdiag.render.json import json_schema, render
from specdiag.report import REPORT_SCHEMA, Rate, Report
from tests.sample_report import HOSTILE, VARIANTS, hostile, incident


def test_golden(golden: Callable[[str, str], None]) -> None:
    """The JSON of the incident is the one that was looked at."""
    golden("incident.json", render(incident()))


def test_golden_schema(golden: Callable[[str, str], None]) -> None:
    """A change of the format shows as a change of its schema."""
    golden("report.schema.json", json_schema())


@pytest.mark.parametrize("variant", sorted(VARIANTS.keys() - {"hostile"}))
def test_json_is_complete(variant: str) -> None:
    """Decoding gives the same report again."""
    report = VARIANTS[variant]()
    assert msgspec.json.decode(render(report).encode(), type=Report) == report


@pytest.mark.parametrize("variant", VARIANTS)
def test_json_follows_its_schema(variant: str) -> None:
    """Every report is valid under the schema, and says which version of the format it is."""
    document = json.loads(render(VARIANTS[variant]()))
    jsonschema.validate(document, json.loads(json_schema()))
    assert document["schema"] == REPORT_SCHEMA


def test_schema_refuses_what_is_not_a_report() -> None:
    """The schema is not empty: a rate without a name fails."""
    document = json.loads(render(incident()))
    del document["shared"]["rates"]["joint_acceptance"]["name"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, json.loads(json_schema()))


def test_hostile_strings_are_ascii_and_come_back() -> None:
    """The text is printable ASCII without any opening of a command, and a parser gives the strings back unchanged."""
    text = render(hostile())
    assert all(char == "\n" or " " <= char <= "~" for char in text)
    assert "::" not in text
    assert "##" not in text
    names = [drafter["id"] for drafter in json.loads(text)["drafters"]]
    assert names == [name.replace("\ud800", "\\ud800") for name in HOSTILE]


def test_characters_beyond_the_basic_plane_are_pairs() -> None:
    """An astral character is escaped as JSON wants it: as two halves."""
    report = msgspec.structs.replace(incident(), version="\U0001f600é")
    text = render(report)
    assert r'"version": "\ud83d\ude00\u00e9"' in text
    assert msgspec.json.decode(text.encode(), type=Report) == report


def test_missing_is_null() -> None:
    """A missing figure is null with its reason, never 0 or NaN."""
    report = msgspec.structs.replace(incident(), rates={"waste": Rate("waste", None, absent="no verdict")})
    waste = json.loads(render(report), parse_constant=pytest.fail)["rates"]["waste"]
    assert (waste["value"], waste["absent"]) == (None, "no verdict")
