"""The report for a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from specdiag.render.console import render
from specdiag.render.text import hidden
from specdiag.report import Place, Report, View
from tests.sample_report import VARIANTS, all_absent, counts, empty, hostile, incident, many, out_of_scope, timed

ANSI = re.compile(r"\x1b\[[0-9;]*m")
SECTIONS = [
    "DRAFTERS",
    "SHARED PREFIXES",
    "BLAME",
    "WITHOUT ONE DRAFTER",
    "PER POSITION",
    "THRASH",
    "CONSENSUS",
    "OUTPUT",
    "SLICES",
    "EVIDENCE",
    "IDENTITIES",
    "INTEGRITY",
    "NOT OBSERVED",
    "DEFINITIONS",
]


@pytest.mark.parametrize(
    ("name", "report", "ascii"),
    [
        ("incident.txt", incident, False),
        ("incident.ascii.txt", incident, True),
        ("out_of_scope.txt", out_of_scope, False),
        ("timed.txt", timed, False),
        ("many.txt", many, False),
        ("counts.txt", counts, False),
    ],
)
def test_golden(golden: Callable[[str, str], None], name: str, report: Callable[[], Report], ascii: bool) -> None:
    """At 80 columns the report is the one that was looked at."""
    golden(name, render(report(), ascii=ascii))


@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("width", [60, 61, 79, 80, 100, 109, 110, 120, 200])
@pytest.mark.parametrize("variant", VARIANTS)
def test_no_line_is_longer_than_the_width(variant: str, width: int, ascii: bool) -> None:
    """Whatever the names, no line is longer than asked for, nor ends in blanks."""
    for line in render(VARIANTS[variant](), width=width, ascii=ascii).splitlines():
        assert cell_len(line) <= width
        assert line == line.rstrip()


def test_a_tiny_width_counts_as_60() -> None:
    """Below 60 columns the layout stays that of 60."""
    assert render(incident(), width=1) == render(incident(), width=60)


def test_the_verdict_comes_first_and_the_sections_in_order() -> None:
    """The first line has the verdict in brackets, and the sections follow in the order of doubt."""
    lines = render(incident()).splitlines()
    assert lines[0].startswith("[COLLAPSE] Joint acceptance is 0.19")
    titles = [title for line in lines for title in SECTIONS if line == title or line.startswith(f"{title}  ")]
    assert titles == SECTIONS


@pytest.mark.parametrize("variant", VARIANTS)
def test_colour_adds_codes_and_nothing_else(variant: str) -> None:
    """Without its codes the coloured report is the plain one, so colour carries nothing by itself."""
    report = VARIANTS[variant]()
    plain, coloured = render(report), render(report, color=True)
    assert "\x1b" not in plain
    assert ANSI.search(coloured)
    assert ANSI.sub("", coloured) == plain


@pytest.mark.parametrize("variant", VARIANTS)
def test_ascii_is_ascii(variant: str) -> None:
    """For a terminal of another encoding there is no character beyond ASCII."""
    assert render(VARIANTS[variant](), ascii=True).isascii()


def test_the_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither colours nor widths come from the environment."""
    before = render(incident()), render(incident(), color=True)
    settings = {
        "NO_COLOR": "1",
        "FORCE_COLOR": "1",
        "TTY_COMPATIBLE": "1",
        "COLUMNS": "40",
        "LINES": "5",
        "TERM": "dumb",
    }
    for name, value in (settings | {"COLORTERM": "truecolor", "UNICODE_VERSION": "4.1.0"}).items():
        monkeypatch.setenv(name, value)
    assert (render(incident()), render(incident(), color=True)) == before


@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_hostile_strings_do_nothing(width: int, ascii: bool) -> None:
    """No control or format character, no command to a build machine, at the start of a line or elsewhere."""
    text = render(hostile(), width=width, ascii=ascii)
    assert not [char for char in text if char != "\n" and hidden(char)]
    assert "::" not in text
    assert "##" not in text
    assert r"\x1b[2J" in text
    assert "[red]x[/red]" in text


def test_harmless_parts_do_not_join_to_a_command() -> None:
    """A file named `:` before our own colon does not open a command."""
    report = incident()
    note = replace(report.integrity[0], places=[Place(":", 1, ":x::")])
    assert "::" not in render(replace(report, integrity=[note]))


def test_missing_figures_are_dashes_with_reasons() -> None:
    """Without any figure there is no rate and no bar, only dashes, and each reason is listed."""
    text = render(all_absent(), width=120)
    assert re.search(r"^joint_acceptance +—$", text, re.MULTILINE)
    assert re.search(r"^joint_acceptance +no log carries joint_acceptance$", text, re.MULTILINE)
    assert "PER POSITION" not in text
    assert "0.000" not in text


def test_intervals_and_counts_stand_by_their_values() -> None:
    """The joint acceptance is given with interval and counts, an estimate with its mark."""
    text = render(incident())
    assert re.search(r"^joint_acceptance +0\.190 +0\.179–0\.201 +4,104/21,600$", text, re.MULTILINE)
    assert re.search(r"^composition_acceptance +~0\.371 ", text, re.MULTILINE)
    assert "Marks: ~ estimated; * recomputed from logged probabilities; no mark" in " ".join(text.split())


def test_marks_of_intervals_are_explained() -> None:
    """An interval that is too narrow is marked, and the mark is explained below."""
    text = render(timed())
    assert re.search(r"^throughput_ratio .*\dw ", text, re.MULTILINE)
    assert "w: Wilson on rounds" in " ".join(text.split())


def test_scope_and_broken_identities_are_said() -> None:
    """Out of scope is said before any table, a mix of headers too, and a broken identity with both its sides."""
    text = render(out_of_scope())
    assert (
        text.index("[OUT OF SCOPE] one drafter only")
        < text.index("[MIXED] verifier temperature")
        < text.index("DRAFTERS")
    )
    assert "IDENTITIES  hold: 0 of 1\n[broken] committed <= accepted: 12 is not 11\n" in text


def test_long_parts_say_how_much_is_left_out() -> None:
    """Drafters, positions and rows beyond the limit are counted."""
    report = many()
    assert report.shared is not None
    part = replace(report.shared, positions=report.shared.positions * 2)
    text = render(replace(report, slices=report.slices * 10, shared=part, inputs=report.inputs * 3 + hostile().inputs))
    assert "7 others" in text
    assert "+6 more drafters" in text
    assert "   +4 more positions" in text
    assert "+10 more rows" in text
    assert " and 1 more · " in text


def test_undeclared_and_abstaining_drafters_are_marked() -> None:
    """A drafter that the header does not declare, or that abstained, says so in its row."""
    report = incident()
    odd = replace(report.drafters[0], declared=False, temperature=None, tokenizer=None, abstained=1200)
    lines = render(replace(report, drafters=[odd])).splitlines()
    start = lines.index("DRAFTERS")
    assert [line.split("  ")[0] for line in lines[start + 2 : start + 7]] == [
        "code-1.5b",
        "tokenizer —",
        "T —",
        "not declared",
        "abstained 1,200",
    ]


def test_an_empty_report_is_still_a_report() -> None:
    """With nothing but a headline there is a verdict, the facts and how to read figures."""
    text = render(empty())
    assert text.startswith("[SINGLE DRAFTER]")
    assert not re.search("|".join(SECTIONS), text)


def test_a_drafter_without_blocks_has_no_curve() -> None:
    """A view without positions is left out of the curves, and the table shows what there is."""
    report = incident()
    view: View = replace(report.drafters[0].views["solo"], positions=[])
    text = render(replace(report, drafters=[replace(report.drafters[0], views={"solo": view})]))
    assert "PER POSITION" not in text
    assert "alone" in text


def test_counts_alone_leave_out_what_only_rounds_have() -> None:
    """No empty table of drafters, no ledger of zeros; a note that is a sentence is shown to its end."""
    text = render(counts())
    for title in ("DRAFTERS", "OUTPUT", "IDENTITIES", "PER POSITION"):
        assert f"\n{title}" not in text
    assert "as printed by the engine, not recomputed" in text.lower()
    assert "and this is the end of it" in " ".join(text.split())
    assert "0 tokens proposed" not in text
