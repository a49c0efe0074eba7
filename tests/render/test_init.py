"""The registry of faces."""

from __future__ import annotations

import subprocess
import sys

import pytest

from specdiag.render import FACES, RENDERERS
from tests import sample_report


def test_importing_the_registry_loads_no_face() -> None:
    """A command that writes JSON does not import the terminal library."""
    code = "import sys, specdiag.render; print(sorted({'rich', 'specdiag.render.console'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("face", ["json", "markdown"])
def test_faces_for_files_do_without_the_terminal_library(face: str) -> None:
    """JSON and Markdown are rendered without rich."""
    code = (
        "import sys; from specdiag.render import RENDERERS; from tests.sample_report import incident; "
        f"RENDERERS[{face!r}](incident()); print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("variant", sample_report.VARIANTS)
@pytest.mark.parametrize("face", FACES)
def test_every_face_renders_every_report(face: str, variant: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A face returns the same text twice, ends it with one newline, and prints nothing."""
    report = sample_report.VARIANTS[variant]()
    text = RENDERERS[face](report)
    assert text == RENDERERS[face](report)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert capsys.readouterr() == ("", "")


def test_options_reach_the_face() -> None:
    """The registry passes a face's own options on."""
    report = sample_report.incident()
    assert RENDERERS["console"](report, ascii=True).isascii()
