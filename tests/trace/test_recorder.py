"""Recording from one's own loop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from specdiag import Recorder, analyze, read
from specdiag.summary import Options
from specdiag.trace.events import Note

DRAFTERS = [{"id": "code", "tokenizer": "a", "temperature": 0.7}, {"id": "think", "tokenizer": "b", "temperature": 1.0}]


def record(path: Path, rounds: int = 3) -> None:
    """A shared chain of two blocks a round."""
    with Recorder(
        path, drafters=DRAFTERS, verifier={"id": "v", "tokenizer": "a"}, rule="rejection", labels={"build": "1"}
    ) as trace:
        for number in range(rounds):
            first = trace.propose(
                request="r", round=number, drafter="think", start=number * 4, tokens=[1, 2], q=[0.5, 0.25]
            )
            second = trace.propose(
                request="r", round=number, drafter="code", start=number * 4 + 2, tokens=[3], parent=first
            )
            trace.verdict(first, accepted=2, p=[0.5, 0.5], u=[0.25, 0.5])
            trace.verdict(second, accepted=0, next_token=9)
        trace.consensus(request="r", step="s", quorum=1, ballots={"main": {"answer": 42}}, outcome="agreed", value=[1])
        trace.effect(request="r", step="s", branch="main", key="k", action="commit")
        trace.note("done")


def test_what_is_recorded_is_what_is_analyzed(tmp_path: Path) -> None:
    """A recorded loop passes strict reading, with its chains, probabilities, vote and effect."""
    path = tmp_path / "t.jsonl"
    record(path)
    report = analyze(str(path), Options(strict=True))
    assert report.integrity == []
    assert report.shared is not None
    assert (report.shared.rounds, report.fates.accepted, report.fates.rejected) == (3, 6, 3)
    assert report.rates["verdicts_recomputed"].numerator == 6
    assert report.consensus is not None
    assert (report.consensus.agreed, report.consensus.effects["commit"]) == (1, 1)
    assert report.traces[0].labels == {"build": "1"}


def test_the_kind_of_the_verifiers_token_follows_from_the_verdict(tmp_path: Path) -> None:
    """Behind a refusal it is a correction, behind a block accepted whole a bonus, unless the caller says otherwise."""
    path = tmp_path / "t.jsonl"
    with Recorder(path) as trace:
        for accepted in (1, 2):
            block = trace.propose(request="r", round=accepted, drafter="d", start=0, tokens=[1, 2])
            trace.verdict(block, accepted=accepted, next_token=5)
    kinds = [json.loads(line)["next"]["kind"] for line in path.read_text().splitlines() if '"next"' in line]
    assert kinds == ["correction", "bonus"]


def test_arrays_and_missing_numbers(tmp_path: Path) -> None:
    """numpy arrays and scalars are written as numbers, NaN as null; a value without a JSON form is refused by name."""
    path = tmp_path / "t.jsonl"
    with Recorder(path) as trace:
        tokens, q = np.array([1, 2]), np.array([0.5, np.nan])
        trace.propose(request="r", round=0, drafter="d", start=0, tokens=tokens, q=q, ms=np.float64(1.5))  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="cannot hold a value of type object"):
            trace.propose(request="r", round=0, drafter="d", start=0, tokens=[object()], id="x")  # type: ignore[list-item]
    event = json.loads(path.read_text().splitlines()[1])
    assert (event["tokens"], event["q"], event["ms"]) == ([1, 2], [0.5, None], 1.5)


def test_a_second_recorder_begins_a_new_trace_behind_a_torn_line(tmp_path: Path) -> None:
    """A line that a killed process left open stays a line of its own; the header behind it is read."""
    path = tmp_path / "t.jsonl"
    record(path, 1)
    with path.open("ab") as file:
        file.write(b'{"type":"proposal","id":"x')
    record(path, 2)
    report = analyze(str(path))
    assert {item.code: item.count for item in report.integrity} == {"torn_line": 1}
    assert (len(report.traces), report.rounds) == (2, 3)


def test_a_killed_process_loses_at_most_its_last_line(tmp_path: Path) -> None:
    """Killed at any moment, the file holds whole lines of JSON, but for the last one at most."""
    path = tmp_path / "t.jsonl"
    script = (
        "import sys\nfrom specdiag import Recorder\nwith Recorder(sys.argv[1]) as t:\n  print('ready', flush=True)\n  i = 0\n"
        "  while True:\n    t.verdict(t.propose(request='r', round=i, drafter='d', start=i, tokens=[1]*50), accepted=0)\n    i += 1\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    while path.stat().st_size < 50_000:
        pass
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    lines = path.read_bytes().split(b"\n")
    assert all(json.loads(line) for line in lines[:-1])


def test_several_threads_write_whole_lines(tmp_path: Path) -> None:
    """Four threads on one recorder: every line is whole and none is missing."""
    path = tmp_path / "t.jsonl"
    with Recorder(path) as trace:

        def write(number: int) -> None:
            for i in range(200):
                trace.note(f"{number}/{i}" * 50)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(isinstance(line.event, Note) for line in read(str(path))) == 800


def test_a_closed_recorder_refuses(tmp_path: Path) -> None:
    """Outside of its `with` block a recorder raises and writes nothing."""
    trace = Recorder(tmp_path / "t.jsonl")
    with pytest.raises(ValueError, match="closed"):
        trace.note("x")
    with pytest.raises(KeyError):
        trace.verdict("p0", accepted=0)
