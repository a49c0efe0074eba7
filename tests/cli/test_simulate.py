"""`specdiag simulate` from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_cli import specdiag

INCIDENT = ("simulate", "incident")


def test_standard_output_and_a_file_get_the_same_trace(tmp_path: Path) -> None:
    """What is written to a file is what a pipe gets, and `analyze` reads both."""
    path = tmp_path / "t.jsonl"
    told = specdiag(*INCIDENT, "--requests", "12", "--policy", "enforced")
    assert specdiag(*INCIDENT, "-n", "12", "--policy", "enforced", "-o", str(path)).stdout == ""
    assert told.stdout == path.read_text()
    assert specdiag("validate", str(path)).stdout == "no problems\n"


def test_a_measure_can_be_taken_from_a_policy() -> None:
    """naive with all three measures is enforced, enforced without them is naive."""
    few = (*INCIDENT, "-n", "3")
    on, off = (
        ("--partition", "--attribution", "--reproposal"),
        ("--no-partition", "--no-attribution", "--no-reproposal"),
    )
    naive, enforced = specdiag(*few).stdout, specdiag(*few, "--policy", "enforced").stdout
    assert specdiag(*few, "--policy", "naive", *on).stdout == enforced != naive
    assert specdiag(*few, "--policy", "enforced", *off).stdout == naive


def test_parameters_are_shown_changed_and_shown(tmp_path: Path) -> None:
    """A file overrides the defaults, and what is shown is what is used."""
    path = tmp_path / "p.yaml"
    path.write_text("steps: 2\n")
    shown = specdiag(*INCIDENT, "--parameters", str(path), "--show-parameters").stdout
    assert "\nsteps: 2\n" in shown
    path.write_text(shown)
    assert specdiag(*INCIDENT, "--parameters", str(path), "--show-parameters").stdout == shown
    trace = specdiag(*INCIDENT, "--parameters", str(path), "-n", "4").stdout
    assert '"step":"s01"' in trace
    assert '"step":"s02"' not in trace


@pytest.mark.parametrize(
    "arguments",
    [
        ("--policy", "alone", "--partition"),
        ("--block", "4"),
        ("--seeds", "2"),
        ("--ablation", "--check"),
        ("--check", "--policy", "naive"),
        ("--ablation", "--seeds", "0"),
        ("--parameters", "none.yaml"),
        ("-o", "none/such/t.jsonl"),
        ("-o", "t.jsonl.zst"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: tuple[str, ...]) -> None:
    """One line of error on standard error, exit code 2, nothing on standard output."""
    done = specdiag(*INCIDENT, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("specdiag: error: ")
    assert "internal" not in done.stderr


def test_a_figure_that_is_out_is_exit_code_1(tmp_path: Path) -> None:
    """`--check` prints all figures, and fails where one is not within its tolerance."""
    path = tmp_path / "p.yaml"
    path.write_text("steps: 2\nreproposals: 0\n")
    done = specdiag(*INCIDENT, "--check", "-n", "12", "--seeds", "1", "--parameters", str(path), "--quiet")
    assert done.returncode == 1
    assert "OUT" in done.stdout
    assert done.stderr == ""


def test_the_output_does_not_replace_the_parameters(tmp_path: Path) -> None:
    """The same file as input and output is a mistake."""
    path = tmp_path / "p.yaml"
    path.write_text("steps: 2\n")
    assert specdiag(*INCIDENT, "--parameters", str(path), "-o", str(path)).returncode == 2
    assert path.read_text() == "steps: 2\n"
