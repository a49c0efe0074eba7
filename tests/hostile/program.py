"""Running the program on hostile input, and looking at what it says."""

from __future__ import annotations

import io
import json
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from specdiag.cli.app import main
from tests import build

ACTS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Characters that a terminal, a log or an editor acts on; a line feed ends our own lines."""

FACES = ("console", "json", "markdown")
GOOD = build.rounds(40)
"""A trace without a fault: one header, 40 proposals, 40 verdicts."""


@dataclass(frozen=True)
class Done:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """The report of `--format json`."""
        assert self.code == 0, self.err
        report: dict[str, Any] = json.loads(self.out)
        return report

    @property
    def notes(self) -> dict[str, dict[str, Any]]:
        """The integrity notes of the report, by code."""
        return {note["code"]: note for note in self.report["integrity"]}


class _Out(io.TextIOWrapper):
    """A stream of text over bytes in memory."""

    def __init__(self) -> None:
        self.memory = io.BytesIO()
        super().__init__(self.memory, encoding="utf-8", errors="backslashreplace", newline="\n", write_through=True)

    def text(self) -> str:
        return self.memory.getvalue().decode()


def specdiag(*arguments: str, stdin: bytes = b"") -> Done:
    """Run the program in this process. No run may end with a traceback or call itself faulty, and none may end with 1."""
    out, err = _Out(), _Out()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["specdiag", *arguments])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as ended:
            main()
    done = Done(int(ended.value.code or 0), out.text(), err.text())
    assert "Traceback" not in done.err
    assert "internal error" not in done.err, done.err
    assert done.code in (0, 2), done
    assert not ACTS.search(done.out + done.err), ACTS.search(done.out + done.err)
    return done


def analyze(*arguments: str, stdin: bytes = b"") -> Done:
    """`specdiag analyze --format json`, leniently; the identities of the ledger hold in every report, and no count is negative."""
    done = specdiag("analyze", "--format", "json", *arguments, stdin=stdin)
    if done.code == 0:
        report = done.report
        assert all(identity["holds"] for identity in report["identities"]), report["identities"]
        assert min(report["fates"].values()) >= 0, report["fates"]
        assert sum(sum(item["events"].values()) for item in report["inputs"]) > 0
    return done


def fates(done: Done) -> dict[str, int]:
    """The fates of the tokens, without those that are 0."""
    counts: dict[str, int] = done.report["fates"]
    return {name: number for name, number in counts.items() if number}


def write(path: Path, *parts: bytes | build.Events) -> str:
    """A file of these parts: bytes as they are, events as lines."""
    path.write_bytes(joined(*parts))
    return str(path)


def joined(*parts: bytes | build.Events) -> bytes:
    """Bytes as they are, events as lines."""
    return b"".join(part if isinstance(part, bytes) else build.lines(part).encode() for part in parts)


def line(event: dict[str, Any]) -> bytes:
    """One event without its newline."""
    return json.dumps(event).encode()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail what takes longer: it hangs, or its time grows faster than its input."""

    def late(number: int, frame: FrameType | None) -> None:
        pytest.fail(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
