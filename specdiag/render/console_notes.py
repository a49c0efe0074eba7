"""The sections of the terminal report that say how far to trust it, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from specdiag.render.choice import problems_first
from specdiag.render.figures import count
from specdiag.render.layout import Face, heading, items, paragraph
from specdiag.render.prose import amount, reading
from specdiag.render.walk import explained, not_observed
from specdiag.report import Integrity, Report


def evidence(report: Report, face: Face) -> Iterator[Text]:
    """How much of the trace carries which kind of evidence."""
    if not report.evidence:
        return
    yield from heading(face, "evidence")
    lines = [
        (face.say(kind.name), f"{amount(kind)} {face.say(kind.unit)}: {face.say(kind.tells)}")
        for kind in report.evidence
        if kind.have or report.has_rounds
    ]
    yield from items(face, lines)


def identities(report: Report, face: Face) -> Iterator[Text]:
    """One line while the ledger adds up; every broken identity in full where it does not."""
    if not report.identities or not report.has_rounds:
        return
    broken = [identity for identity in report.identities if not identity.holds]
    holding = len(report.identities) - len(broken)
    yield from heading(face, "identities", f"hold: {holding} of {len(report.identities)}")
    for identity in broken:
        text = f"[broken] {face.say(identity.name)}: {count(identity.left)} is not {count(identity.right)}"
        yield from paragraph(face, text, style="bold red", hang="  ")


def integrity(report: Report, face: Face) -> Iterator[Text]:
    """Troubles with the input: problems before notes, each with its first place and what to do."""
    if not report.integrity:
        return
    problems = sum(note.severity == "problem" for note in report.integrity)
    yield from heading(face, "integrity", f"problems: {problems}, notes: {len(report.integrity) - problems}")
    for note in problems_first(report):
        yield from _note(note, face)


def _note(note: Integrity, face: Face) -> Iterator[Text]:
    head = f"[{note.severity}] {face.say(note.code)} {face.glyphs.times}{count(note.count)}  {face.say(note.message)}"
    yield from paragraph(face, head, style="bold red" if note.severity == "problem" else "", hang="  ")
    if note.places:
        place = f"first at {face.say(note.places[0].file)}:{note.places[0].line} {face.say(note.places[0].path)}"
        yield from paragraph(face, f"{place}  {note.places[0].text}".rstrip(), style="dim", indent="  ", hang="    ")
    if note.advice:
        yield from paragraph(face, face.say(note.advice), indent="  ", hang="    ")


def skipped(report: Report, face: Face) -> Iterator[Text]:
    """What this trace cannot tell, and why: absent, not zero."""
    missing = not_observed(report)
    if missing:
        yield from heading(face, "not observed", f"absent, not zero: shown as {face.glyphs.dash} or left out")
        yield from items(face, [(face.say(item.what), face.say(item.reason)) for item in missing])


def definitions(report: Report, face: Face) -> Iterator[Text]:
    """Which definition each name stands for."""
    terms = explained(report)
    if terms:
        yield from heading(face, "definitions")
        yield from items(face, [(face.say(name), face.say(text)) for name, text in terms], style="dim")


def how_to_read(report: Report, face: Face) -> Iterator[Text]:
    """The marks that occur, and how the intervals were found."""
    yield from paragraph(face, reading(report), style="dim")
