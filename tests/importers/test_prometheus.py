"""The text of a metrics endpoint, one scrape or many."""

from __future__ import annotations

from specdiag.importers.prometheus import scrapes, whole_number
from specdiag.importers.source import Source
from specdiag.trace.sources import Piece

TEXT = """# HELP x:drafts_total Number of drafts.
# TYPE x:drafts_total counter
x:drafts_total{engine="0",model_name="a\\"b\\\\c"} 22.0
x:drafts_total{engine="1",model_name="a\\"b\\\\c"} 1.5e+01 1700000000000
x:drafts_created{engine="0"} 1.7e+09
y:other 3
x:gauge 0.5 # {trace_id="1"} 0.5
"""


def read(text: str) -> list[dict[str, list[tuple[float, dict[str, str]]]]]:
    """The samples of each scrape."""
    source = Source("input", [Piece(data=text.encode(), last=True)])
    return [
        {n: [(s.value, s.labels) for s in ss] for n, ss in scrape.samples.items()} for scrape in scrapes(source, "x:")
    ]


def test_samples_have_labels_and_values() -> None:
    """Labels are unescaped, times and exemplars left aside, `_created` is no count, other prefixes are not ours."""
    [scrape] = read(TEXT)
    assert scrape == {
        "x:drafts_total": [
            (22.0, {"engine": "0", "model_name": 'a"b\\c'}),
            (15.0, {"engine": "1", "model_name": 'a"b\\c'}),
        ],
        "x:gauge": [(0.5, {})],
    }


def test_a_sample_that_comes_again_begins_a_scrape() -> None:
    """Scrapes behind each other in one file are told apart."""
    assert len(read(TEXT * 3)) == 3


def test_samples_lie_apart_by_their_labels() -> None:
    """`by` gives one part for each value of a label."""
    source = Source("input", [Piece(data=TEXT.encode(), last=True)])
    [scrape] = scrapes(source, "x:drafts")
    assert {key: [s.value for s in part["x:drafts_total"]] for key, part in scrape.by("engine").items()} == {
        ("0",): [22.0],
        ("1",): [15.0],
    }


def test_what_is_no_count_is_none() -> None:
    """NaN, infinity, fractions and negative numbers are no counts."""
    assert [whole_number(v) for v in (3.0, 0.0, 1.5, -1.0, float("nan"), float("inf"))] == [
        3,
        0,
        None,
        None,
        None,
        None,
    ]
