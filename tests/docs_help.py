"""The parts of the pages that a machine can hold them to: commands with the output they show, Python blocks, and generated parts.

A page is run from top to bottom in a folder that looks like the root of the repository, so that what one block writes the next one can read.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from specdiag.importers.registry import importers
from specdiag.measure.definitions import DEFINITIONS
from specdiag.trace.notes import CATALOGUE
from tests import docs_definitions
from tests.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "traces").glob("*.md"))]
COMMANDS = ("", "analyze", "convert", "record", "simulate", "validate", "schema")
ELISION = "..."

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LIVING = re.compile(r"(<!-- begin ([\w :.-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_RUN = re.compile(r"(specdiag|python|head|gzip)\b")
_MAIN = "import sys; sys.argv[0] = 'specdiag'; from specdiag.cli.app import main; main()"


@dataclass(frozen=True, slots=True)
class Step:
    """Something to run: a command line, or a block of Python. `shown` is the output on the page, from `begin` to `end` of its text."""

    command: str
    is_python: bool = False
    shown: str = ""
    begin: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What running a step gave: its exit code, and standard output with standard error behind it."""

    step: Step
    code: int
    output: str


def steps(text: str) -> Iterator[Step]:
    """Everything on a page that is run."""
    for block in _BLOCK.finditer(text):
        if block[1] == "python":
            yield Step(block[2], is_python=True)
        elif block[1] in ("console", "sh"):
            yield from _commands(block[2], block.start(2))


def _commands(block: str, offset: int) -> Iterator[Step]:
    """The `$ ` lines of a block, each with the lines behind it up to the next one."""
    lines = block.splitlines(keepends=True)
    while lines:
        command = lines.pop(0)
        offset += len(command)
        if not command.startswith("$ "):
            continue
        while _goes_on(command):
            offset += len(lines[0])
            command += lines.pop(0)
        shown = "".join(itertools.takewhile(lambda line: not line.startswith("$ "), lines))
        if _RUN.match(command[2:]):
            yield Step(command[2:], shown=shown, begin=offset, end=offset + len(shown))


def _goes_on(command: str) -> bool:
    """Whether a command ends in the middle of a quotation, or with a backslash."""
    try:
        shlex.split(command.removesuffix("\n"))
    except ValueError:
        return True
    return False


def run(page: Path, folder: Path) -> list[Outcome]:
    """Run a page's steps in order, in `folder`."""
    for entry in ROOT.iterdir():
        if not entry.name.startswith("."):
            (folder / entry.name).symlink_to(entry)
    shims = folder / ".shims"
    shims.mkdir()
    for name, arguments in (("python", ""), ("specdiag", f"-c {shlex.quote(_MAIN)}")):
        (shims / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
        (shims / name).chmod(0o755)
    clean = {name: value for name, value in os.environ.items() if name not in ("CI", "SPECDIAG_DEBUG")}
    environment = clean | {
        "NO_COLOR": "1",
        "COLUMNS": "80",
        "PATH": f"{shims}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
    }
    return [_outcome(step, folder, environment) for step in steps(page.read_text(encoding="utf-8"))]


def _outcome(step: Step, folder: Path, environment: dict[str, str]) -> Outcome:
    command = [sys.executable, "-W", "error", "-c", step.command] if step.is_python else ["sh", "-c", step.command]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=environment,
        encoding="utf-8",
        check=False,
    )
    return Outcome(step, done.returncode, "".join(line.rstrip() + "\n" for line in done.stdout.splitlines()))


def agrees(shown: str, output: str) -> bool:
    """Whether an output is the one shown, where a line `...` stands for any number of lines. Nothing shown: anything goes."""
    lines = [".*?" if line == ELISION else re.escape(line + "\n") for line in shown.splitlines()]
    return not shown or re.fullmatch("".join(lines), output, re.DOTALL) is not None


def renewed(shown: str, output: str) -> str:
    """The output, as much of it as was shown: as many lines before the first `...` and behind the last one."""
    if not shown or agrees(shown, output):
        return shown
    want, have = shown.splitlines(keepends=True), output.splitlines(keepends=True)
    elided = [i for i, line in enumerate(want) if line.rstrip() == ELISION]
    if not elided:
        return output
    return "".join(
        have[: elided[0]] + want[elided[0] : elided[-1] + 1] + have[len(have) - (len(want) - elided[-1] - 1) :]
    )


def with_outputs(text: str, outcomes: list[Outcome]) -> str:
    """The page with the output of each command renewed."""
    for outcome in reversed(outcomes):
        step = outcome.step
        if step.shown:
            text = text[: step.begin] + renewed(step.shown, outcome.output) + text[step.end :]
    return text


def with_living_parts(text: str) -> str:
    """The page with everything between its markers made again."""
    return _LIVING.sub(lambda found: found[1] + LIVING[found[2]]() + found[3], text)


def help_text(command: str) -> str:
    """What a command says of itself, in 80 columns."""
    environment = {k: v for k, v in os.environ.items() if k != "CI"} | {"NO_COLOR": "1", "COLUMNS": "80"}
    arguments = [sys.executable, "-c", _MAIN, *command.split(), "--help"]
    done = subprocess.run(arguments, capture_output=True, cwd=ROOT, env=environment, encoding="utf-8", check=True)
    lines = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
    return "\n".join(["```text", f"$ specdiag {command} --help".replace("  ", " "), *lines, "```"]) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def definitions_table() -> str:
    """Every figure and what it means, as Markdown."""
    rows = [f"| `{name}` | {_cell(text)} |" for name, text in DEFINITIONS.items()]
    return "\n".join(["| name | numerator / denominator |", "|---|---|", *rows]) + "\n"


def notes_table() -> str:
    """Every note on an input, with what becomes of the line, as Markdown."""
    rows = [
        f"| `{code}` | {kind.severity} | {_cell(kind.message)} | {_cell(kind.advice)} |"
        for code, kind in CATALOGUE.items()
    ]
    return "\n".join(["| code | severity | what | what to do, what is done |", "|---|---|---|---|", *rows]) + "\n"


def importers_table() -> str:
    """Every importer: what it reads, what it carries and what it cannot, as Markdown."""
    rows = [
        f"| `{name}` | {_cell(importer.reads)} | {_cell(importer.carries)} | {_cell(importer.lacks)} |"
        for name, importer in importers().items()
    ]
    return "\n".join(["| `--from` | reads | carries | lacks |", "|---|---|---|---|", *rows]) + "\n"


def _help_of(command: str) -> Callable[[], str]:
    return lambda: help_text(command)


LIVING: dict[str, Callable[[], str]] = {
    "definitions": definitions_table,
    "notes": notes_table,
    "importers": importers_table,
    "symbols": docs_definitions.symbols_table,
    "counts in": docs_definitions.traits_table,
    "lengths": lambda: docs_definitions.family_table("length"),
    "rates": lambda: docs_definitions.family_table("rate"),
    "positions": lambda: docs_definitions.family_table("positions"),
    "odd rounds": docs_definitions.odd_table,
    **{f"help {command}".strip(): _help_of(command) for command in COMMANDS},
}
