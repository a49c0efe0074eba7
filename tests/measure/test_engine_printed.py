"""Figures that an engine printed without the counts they are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from specdiag.measure.engine_counts import RATIOS
from specdiag.measure.engine_printed import LONGEST_NUMBER, MOST_FIGURES, PrintedFigures
from specdiag.report import EnginePrinted
from specdiag.trace.events import TallyEvent
from tests import build
from tests.hostile.program import analyze, write


def printed(*events: dict[str, str], definitions: str | None = "sglang", **counts: Any) -> list[EnginePrinted]:
    """What is kept of events that print these figures."""
    figures = PrintedFigures()
    for each in events:
        figures.add(TallyEvent(drafter="d", window="interval", definitions=definitions, printed=each, **counts))
    return figures.of("d")


def test_ratios_without_counts_are_kept_as_printed() -> None:
    """The last one, the least and the greatest, by value and with all their digits, and the formula of the engine."""
    (length,) = printed(*({"accept len": text} for text in ("2.50", "10.00", "2.5", "3.10")))
    assert (length.reports, length.last, length.least, length.most) == (4, "3.10", "2.50", "10.00")
    assert (length.engine, length.formula) == ("SGLang ≥ 0.5.11", "(A + R) / R")


def test_figures_that_the_counts_give_are_not_kept() -> None:
    """Where all counts of a figure are there, the report computes it, and a difference is noted."""
    assert not printed({"accept len": "2.50"}, accepted=6, rounds=4)
    (rate,) = printed({"accept len": "2.50", "accept rate": "0.50"}, accepted=6, rounds=4)
    assert rate.name == "accept rate", "nobody knows the length of a block"


def test_figures_under_no_known_definition_have_no_formula() -> None:
    """They are kept all the same; what is no number is not, nor what is too long for one."""
    (figure,) = printed({"luck": "7", "mood": "good", "long": "1" * (LONGEST_NUMBER + 1)}, definitions=None)
    assert (figure.name, figure.engine, figure.formula) == ("luck", "", "")


def test_names_from_an_input_are_bounded() -> None:
    """Of a drafter with a figure of another name in every report, the first are kept."""
    assert len(printed(*({f"f{i}": "1"} for i in range(1000)))) == MOST_FIGURES


def test_the_report_says_why_there_is_no_figure(tmp_path: Path) -> None:
    """Ratios alone give no acceptance, and the reason is said; the headline has what was printed."""
    event: dict[str, Any] = {"type": "tally", "drafter": "d", "window": "interval", "definitions": "sglang"}
    event |= {"printed": {"accept len": "2.50"}}
    report = analyze(write(tmp_path / "t.jsonl", [build.header(), event])).report
    (drafter,) = [d for d in report["drafters"] if d["id"] == "d"]
    assert drafter["engine_counts"]["engine_draft_acceptance"]["absent"] == RATIOS
    assert drafter["engine_printed"][0]["last"] == "2.50"
    said = "The engine printed ratios of d without counts, accept len 2.50 at last"
    assert report["headline"]["sentence"].startswith(said)
