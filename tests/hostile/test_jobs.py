"""One process and two give the same bytes, on odd inputs too."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from specdiag.trace import sources
from tests import build
from tests.hostile.program import GOOD, joined, specdiag, write

DATA = joined(GOOD)
LATE = [*GOOD[:1], *GOOD[2::2], *GOOD[1::2]]
ODD = {
    "good": DATA,
    "torn": DATA[:-30],
    "bad lines": DATA.replace(b'"round": 1', b'"round": "x"').replace(b"}\n", b"}\ngarbage\n", 5),
    "joined": DATA.replace(b"\n", b"", 7),
    "doubled": DATA + DATA[DATA.index(b"\n") + 1 :],
    "verdicts first": joined(LATE),
    "endless line": DATA + b"a" * 70_000 + b"\n" + DATA,
    "UTF-16": DATA.decode().encode("utf-16"),
    "cut gzip": gzip.compress(DATA)[:-20],
    "unknown fields": DATA.replace(b"{", b'{"new": 1, ').replace(b'"new": 1', b'"newer": 2', 9),
    "impossible": DATA.replace(b'"accepted": 2', b'"accepted": 9', 6),
    "headers": joined([e for event in GOOD for e in (build.header(), event)]),
    "one id": DATA.replace(b'"p1', b'"p2'),
    "NaN": DATA.replace(b'"round"', b'"ms": NaN, "round"'),
    "strange": DATA.replace(b"code", b"\\u001b[31m"),
}


@pytest.mark.parametrize("name", ODD)
def test_one_process_and_two_agree(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report, and the error of strict mode, do not depend on the number of processes."""
    monkeypatch.setattr(sources, "SEGMENT", 1500)
    monkeypatch.setattr(sources, "MAX_LINE", 20_000)
    file = write(tmp_path / "t.jsonl", ODD[name])
    for mode in ("--lenient", "--strict"):
        one, two = (
            specdiag(
                "analyze",
                mode,
                "--format",
                "json",
                "--by",
                "drafter,branch",
                "--replicates",
                "20",
                "--jobs",
                jobs,
                file,
            )
            for jobs in ("1", "2")
        )
        assert one == two
