"""Golden files: what a face wrote when somebody last looked at it.

Set SPECDIAG_UPDATE_GOLDEN=1 to write them again, then read the difference before committing it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare a text with a golden file, or write the file where that was asked for."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("SPECDIAG_UPDATE_GOLDEN"):
            path.write_text(text, encoding="utf-8", newline="\n")
        assert text == path.read_bytes().decode("utf-8"), f"{name} differs; SPECDIAG_UPDATE_GOLDEN=1 writes it again"

    return check
