"""`specdiag record` from outside."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if k not in ("CI", "PYTHONWARNINGS")}
    return subprocess.run(
        [sys.executable, "-m", "specdiag", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=clean | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        check=False,
    )


def test_the_example_of_the_help_runs(tmp_path: Path) -> None:
    """It writes a trace that `validate` has nothing to say against."""
    example = re.search(r"Example: specdiag (.*)", _run(tmp_path, "record", "--help").stdout, re.DOTALL)
    assert example
    done = _run(tmp_path, *shlex.split(example[1]))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "specdiag: 4 requests, 256 tokens, written to trace.jsonl\n"
    assert _run(tmp_path, "validate", "trace.jsonl").returncode == 0


@pytest.mark.parametrize(
    ("verifier", "said"),
    [
        ("ngram:order=0", "order=0"),
        ("magic", "no backend 'magic'"),
        ("ngram:tokenizer=\x1b[2J", "\\x1b[2J"),
    ],
)
def test_errors_are_one_message_and_no_traceback(tmp_path: Path, verifier: str, said: str) -> None:
    """Exit code 2, what is wrong and what to do about it on standard error, and no file."""
    arguments = ("-d", "a=lookup", "--verifier", verifier, "--prompts", "corpus:1", "-o", "t.jsonl")
    done = _run(tmp_path, "record", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("specdiag: error: ")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_show_prints_the_texts(tmp_path: Path) -> None:
    """Prompts with their output on standard output, and what could act on a terminal as an escape."""
    (tmp_path / "p.txt").write_text("import \x1b[2Jos\n")
    arguments = ("-d", "a=lookup", "--verifier", "ngram:order=2,tokenizer=bpe:300,corpus=0/9", "--prompts", "p.txt")
    done = _run(tmp_path, "record", *arguments, "-o", "t.jsonl", "--max-tokens", "5", "--show", "-q")
    assert done.returncode == 0
    assert done.stdout.startswith("== r0\nimport \\x1b[2Jos")
    assert done.stderr == ""
