"""The program from outside: what it prints where, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from tests import build
from tests.conftest import ROOT, TRACES

SAMPLED = str(TRACES / "smollm2_six_drafters_sampled.jsonl")


def specdiag(*arguments: str, stdin: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own."""
    clean = {k: v for k, v in os.environ.items() if k not in ("CI", "NO_COLOR", "COLUMNS", "PYTHONWARNINGS")}
    command = [sys.executable, "-m", "specdiag", *arguments]
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, cwd=ROOT, env=clean | environment, check=False
    )


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """A good trace with one line in it that breaks two fields."""
    events = build.rounds(20)
    text = (
        build.lines(events[:5])
        + '{"type":"proposal","id":7,"request":"r","round":"x","drafter":"d","start":0,"tokens":[]}\n'
    )
    path = tmp_path / "broken.jsonl"
    path.write_text(text + build.lines(events[5:]))
    return str(path)


def test_report_on_stdout_and_summary_on_stderr() -> None:
    """The report alone is on standard output; one line of summary is on standard error."""
    done = specdiag("analyze", SAMPLED)
    assert done.returncode == 0
    assert done.stdout.startswith("[NOT OBSERVED]")
    assert done.stderr == "specdiag: 1 input, 873 events, 0 problems, 160 notes (lenient)\n"
    assert "\x1b" not in done.stdout


def test_json_follows_its_published_schema() -> None:
    """`--format json` is valid under the schema that `schema report` prints, which is itself valid."""
    schema = json.loads(specdiag("schema", "report").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    report = json.loads(specdiag("analyze", SAMPLED, "--format", "json", "-q").stdout)
    jsonschema.validate(report, schema)
    assert report["schema"] == "specdiag-report/1"


def test_bundled_traces_follow_the_published_schema() -> None:
    """Every line of a bundled trace is valid under the schema that `schema trace` prints."""
    validator = jsonschema.Draft202012Validator(json.loads(specdiag("schema", "trace").stdout))
    for line in Path(SAMPLED).read_text().splitlines():
        validator.validate(json.loads(line))


def test_strict_names_every_problem_of_the_first_bad_line(broken: str) -> None:
    """Strict mode ends with 2 and names file, line, path and what was expected for each problem of that line."""
    done = specdiag("analyze", broken, "--strict")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{broken}:6: $.id: id written as a number (got 7)" in done.stderr
    assert f"{broken}:6: $.round: field is missing or of the wrong type (Expected int, got str)" in done.stderr
    assert "--lenient" in done.stderr
    assert "Traceback" not in done.stderr


def test_ci_is_strict_unless_told_otherwise(broken: str) -> None:
    """With CI set a bad line ends the run; `--lenient` and an empty CI do not."""
    assert specdiag("analyze", broken, CI="true").returncode == 2
    assert specdiag("analyze", broken, "--lenient", CI="true").returncode == 0
    assert specdiag("analyze", broken, CI="").returncode == 0


def test_lenient_counts_the_rest(broken: str) -> None:
    """Leniently, the bad line is a located note and the other rounds count."""
    report: dict[str, Any] = json.loads(specdiag("analyze", broken, "-f", "json", "-q").stdout)
    notes = {item["code"]: item["places"][0]["line"] for item in report["integrity"]}
    assert notes["bad_field"] == 6
    assert report["rounds"] == 20


def test_validate_lists_and_ends_with_two(broken: str) -> None:
    """`validate` lists every kind of problem with its places and ends with 2; a good trace ends with 0."""
    done = specdiag("validate", broken)
    assert done.returncode == 2
    assert f"{broken}:6: $.round" in done.stdout
    assert specdiag("validate", SAMPLED).returncode == 0


def test_standard_input_and_several_inputs(tmp_path: Path) -> None:
    """`-` reads standard input; a directory, a glob and a file may be given together, each read once."""
    one = build.write(tmp_path / "a.jsonl", build.rounds(20))
    text = Path(one).read_text()
    piped = json.loads(specdiag("analyze", "-", "-f", "json", "-q", stdin=text).stdout)
    assert (piped["inputs"][0]["name"], piped["rounds"]) == ("-", 20)
    several = json.loads(specdiag("analyze", str(tmp_path), str(tmp_path / "*.jsonl"), one, "-f", "json", "-q").stdout)
    assert len(several["inputs"]) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("analyze",),
        ("analyze", "nowhere.jsonl"),
        ("analyze", SAMPLED, "--by", "weather"),
        ("analyze", SAMPLED, "--level", "95"),
        ("analyze", SAMPLED, "--jobs", "0"),
        ("analyze", SAMPLED, "--format", "yaml"),
        ("analyze", SAMPLED, "-o", "/nowhere/report.txt"),
        ("frobnicate",),
    ],
)
def test_wrong_usage_ends_with_two(arguments: tuple[str, ...]) -> None:
    """Wrong options and inputs that are not there end with 2, a message and no traceback."""
    done = specdiag(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_output_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """`-o` writes the report and nothing to standard output; a run that fails leaves an earlier report as it was."""
    target = tmp_path / "report.md"
    done = specdiag("analyze", SAMPLED, "-f", "markdown", "-o", str(target))
    assert (done.returncode, done.stdout) == (0, "")
    before = target.read_bytes()
    assert b"smol-half3bit" in before
    assert specdiag("analyze", "nowhere.jsonl", "-f", "markdown", "-o", str(target)).returncode == 2
    assert target.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["report.md"]


def test_no_events_is_an_error_never_an_empty_report(tmp_path: Path) -> None:
    """An empty file, and one without any event, end with 2 and say so."""
    for text in ("", "\n\n", "hello\nworld\n"):
        path = tmp_path / "none.jsonl"
        path.write_text(text)
        done = specdiag("analyze", str(path))
        assert (done.returncode, done.stdout) == (2, "")
        assert "no event was read" in done.stderr


def test_narrow_and_ascii_terminals_get_a_report_they_can_show() -> None:
    """At 60 columns no line is longer; where output is ASCII, so is the report."""
    done = specdiag("analyze", SAMPLED, "-q", COLUMNS="60", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert max(map(len, done.stdout.splitlines())) <= 60


def test_version_and_completion() -> None:
    """`--version` prints name and version; completion for the shell can be shown."""
    assert specdiag("--version").stdout.split()[0] == "specdiag"
    assert "complete" in specdiag("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1").stdout


def test_a_closed_pipe_is_no_error() -> None:
    """A reader that goes away, as `head` does, ends the program quietly."""
    command = f"{sys.executable} -m specdiag analyze {SAMPLED} | head -1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.stdout.startswith("[NOT OBSERVED]")
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr
