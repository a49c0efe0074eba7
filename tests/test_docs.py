"""The pages say what is so: their commands give the output shown, their Python runs, their generated parts and links are current.

Set SPECDIAG_UPDATE_DOCS=1 to write outputs and generated parts again, then read the difference before committing it.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import typer.main

from specdiag.cli.app import app
from specdiag.trace.events import EVENT_TYPES
from tests import docs_help
from tests.conftest import ROOT
from tests.docs_help import PAGES

UPDATE = bool(os.environ.get("SPECDIAG_UPDATE_DOCS"))
LINKED = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
CLI = ROOT / "docs" / "cli.md"

_LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_is_what_happens(page: Path, tmp_path: Path) -> None:
    """Every command and Python block of a page ends well, and gives the output that stands below it."""
    outcomes = docs_help.run(page, tmp_path)
    if UPDATE:
        page.write_text(docs_help.with_outputs(page.read_text(encoding="utf-8"), outcomes), encoding="utf-8")
    for outcome in outcomes:
        assert outcome.code == 0, f"{outcome.step.command}\n{outcome.output}"
        assert UPDATE or docs_help.agrees(outcome.step.shown, outcome.output), (
            f"{outcome.step.command}\n{outcome.output}\nSPECDIAG_UPDATE_DOCS=1 writes it again"
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_generated_parts_are_current(page: Path) -> None:
    """What stands between markers is what the program says: its help, the definitions, the notes."""
    text = page.read_text(encoding="utf-8")
    if page == CLI and not UPDATE and _typer() not in text:
        pytest.skip(f"the page shows the help as Typer lays it out in another version than {_typer()}")
    current = docs_help.with_living_parts(text)
    if UPDATE:
        current = re.sub(r"Typer [\d.]+", _typer(), current) if page == CLI else current
        page.write_text(current, encoding="utf-8")
    assert UPDATE or current == text, "SPECDIAG_UPDATE_DOCS=1 writes it again"


def _typer() -> str:
    return "Typer " + ".".join(importlib.metadata.version("typer").split(".")[:2])


def test_every_option_stands_on_the_page_of_the_command_line() -> None:
    """Whatever the version of Typer, each command's options and their help texts are on the page."""
    page = " ".join(CLI.read_text(encoding="utf-8").split())
    for word in _said_by_the_program():
        assert " ".join(word.split()) in page


def _said_by_the_program() -> Iterator[str]:
    program = typer.main.get_command(app)
    commands = getattr(program, "commands")  # noqa: B009  # a group, whichever library Typer takes it from
    for command in commands.values():
        yield f"specdiag {command.name}"
        yield command.help
        for parameter in command.params:
            yield parameter.help
            yield from (option for option in parameter.opts if option.startswith("-"))


def test_every_event_and_field_stands_on_the_page_of_the_format() -> None:
    """No field of the format is left out of its reference."""
    text = (ROOT / "docs" / "trace-format.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^### `(\w+)`.*?\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL))
    for name, struct in EVENT_TYPES.items():
        fields = {field.encode_name for field in msgspec.structs.fields(struct)} - {"source", "ts"}
        assert fields <= set(re.findall(r"`(\w+)`", sections[name])), name


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link inside the repository leads to a file that is there, and to a heading that it has."""
    for path, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {path}"
        assert not anchor or anchor in _anchors(target), f"{page.name}: {path}#{anchor}"


def _anchors(page: Path) -> set[str]:
    """The headings of a page, as GitHub makes anchors of them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_an_elided_output_is_compared_around_its_ellipsis() -> None:
    """A line of three dots stands for any number of lines; everything else is compared to the letter."""
    output = "one\ntwo\nthree\nfour\n"
    for shown in ("", output, "one\n...\n", "...\nfour\n", "one\n...\nthree\n...\n", "one\n...\ntwo\nthree\nfour\n"):
        assert docs_help.agrees(shown, output)
    for shown in ("one\n", "two\n...\n", "one\n...\nthree\n", "one\n...\ntw\n...\n"):
        assert not docs_help.agrees(shown, output)
    assert docs_help.renewed("1\n...\n4\n", output) == "one\n...\nfour\n"
    assert docs_help.renewed("1\n2\n", output) == output
