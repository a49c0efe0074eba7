"""Every rate of a report, and the reasons of the missing ones."""

from __future__ import annotations

from msgspec.structs import replace

from specdiag.render.walk import explained, not_observed, rates
from specdiag.report import Rate, Skipped, View
from tests.sample_report import all_absent, incident, many


def test_rates_are_found_with_their_owner() -> None:
    """A rate of a drafter is found with the drafter's id and the view, a pooled one without any."""
    found = {(owner, view, rate.name) for owner, view, rate in rates(incident())}
    assert ("reason-7b", "", "expected_acceptance") in found
    assert ("reason-7b", "solo", "draft_acceptance") in found
    assert ("reason-7b", "", "joint_without") in found
    assert ("", "", "joint_acceptance") in found
    assert ("branch=main", "", "draft_acceptance") in found


def test_missing_rates_are_listed_once_for_all_drafters() -> None:
    """One line says for whom a rate is missing and why."""
    listed = not_observed(all_absent())
    reasons = {item.what: item.reason for item in listed}
    assert len(reasons) == len(listed)
    assert reasons["expected_acceptance (code-1.5b; prose-3b; reason-7b)"] == "no log carries expected_acceptance"


def test_rates_missing_for_one_reason_share_a_line() -> None:
    """Rates that the same drafters lack for the same reason are listed together, with the view where it is not all."""
    rates_of = {name: Rate(name, None, absent="cut") for name in ("waste", "judged_acceptance", "a", "b")}
    report = incident()
    drafters = [replace(each, views={"solo": replace(each.views["solo"], rates=rates_of)}) for each in many().drafters]
    what = not_observed(replace(report, drafters=drafters, skipped=[]))[0].what
    assert what.startswith("waste, solo; judged_acceptance, solo; a, solo and 1 more (an-organisation/")
    assert what.endswith(" and 9 more)")


def test_a_view_without_blocks_is_one_line() -> None:
    """A drafter that has no shared block lacks all its shared rates; that is said once."""
    report = incident()
    views = {"shared": View(0, report.fates, {n: Rate(n, None, absent="no block") for n in ("x", "y")}, [])}
    report = replace(report, drafters=[replace(report.drafters[0], views=views)], skipped=[])
    assert not_observed(report) == [Skipped("x, shared (code-1.5b)", "no block")]


def test_a_reason_is_not_said_twice() -> None:
    """What the report skipped itself is not listed again for its missing rate; a missing reason is named as such."""
    missing = {"waste": Rate("waste", None, absent="cut"), "draft_coverage": Rate("draft_coverage", None)}
    report = replace(incident(), rates=missing, skipped=[Skipped("waste", "cut")])
    assert not_observed(report) == [Skipped("waste", "cut"), Skipped("draft_coverage", "no reason given")]


def test_definitions_are_those_of_figures_that_people_see() -> None:
    """A figure without a value, or one that only the JSON has, is not explained."""
    names = [name for name, _ in explained(incident())]
    assert "joint_acceptance" in names
    assert "position_reach" not in names
    assert explained(all_absent()) == []
