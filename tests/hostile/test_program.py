"""What the surroundings do to the program: pipes that close, disks that are full, signals, odd environments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import build
from tests.conftest import TRACES
from tests.hostile.program import GOOD, specdiag, write

SAMPLED = str(TRACES / "smollm2_six_drafters_sampled.jsonl")
PROGRAM = [sys.executable, "-m", "specdiag"]


def environment(**extra: str) -> dict[str, str]:
    """The environment without what changes the output."""
    return {k: v for k, v in os.environ.items() if k not in ("CI", "NO_COLOR", "COLUMNS", "PYTHONWARNINGS")} | extra


def shell(script: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which `$S` is the program and `$T` a trace."""
    names = {"S": " ".join(PROGRAM), "T": SAMPLED}
    return subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        env=environment(**names, **extra),
        timeout=30,
        check=False,
    )


COMMANDS = ["analyze $T", "analyze -f json $T", "validate $T", "schema report", "--help", "analyze -h", "--version"]
SUMMARY = "specdiag: 1 input, 873 events, 0 problems, 160 notes (lenient)\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_reader_of_the_output_goes_away(command: str) -> None:
    """A closed pipe, as behind `| head -1`, is nobody's fault: no message, and 0."""
    done = shell(f"($S {command}; echo code $? >&3) 3>&2 | true")
    assert done.stderr.replace(SUMMARY, "") == "code 0\n"


@pytest.mark.parametrize(("command", "code"), [("analyze $T", 0), ("analyze nothing", 2), ("", 2), ("analyze --no", 2)])
@pytest.mark.parametrize("where", ["2>&-", "2> >(true)", "2>/dev/full"])
def test_messages_that_nobody_takes(command: str, code: int, where: str) -> None:
    """Standard error that is closed or full loses the message, and changes no exit code."""
    if where == "2>/dev/full" and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    assert shell(f"$S {command} {where}").returncode == code


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_streams_that_are_closed(closed: str) -> None:
    """A standard stream that the parent closed is an error where it is needed, and no fault of the program."""
    done = shell(f"$S analyze {'-' if closed == '<&-' else '$T'} {closed}")
    assert done.returncode == (0 if closed == "2>&-" else 2)
    assert "internal error" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk() -> None:
    """A full disk is one error with 2."""
    for command in ("analyze $T", "--help"):
        done = shell(f"$S {command} > /dev/full")
        assert done.returncode == 2
        assert "No space left" in done.stderr
        assert len(done.stderr.splitlines()) <= 2


def listing(folder: Path) -> list[str]:
    """Every name in a folder."""
    return sorted(os.listdir(folder))


def test_output_into_nowhere(tmp_path: Path) -> None:
    """`-o` into a missing folder, onto a folder or to an empty name is an error, and leaves nothing behind."""
    file = write(tmp_path / "t.jsonl", GOOD)
    (tmp_path / "folder").mkdir()
    for output in (tmp_path / "no" / "x.txt", tmp_path / "folder"):
        done = specdiag("analyze", file, "-o", str(output))
        assert done.code == 2
        assert str(output) in done.err
    assert listing(tmp_path) == ["folder", "t.jsonl"]


def test_output_with_an_empty_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So is an empty name, as an unset variable gives it."""
    monkeypatch.chdir(tmp_path)
    assert specdiag("analyze", write(tmp_path / "t.jsonl", GOOD), "-o", "").code == 2
    assert listing(tmp_path) == ["t.jsonl"]


def test_output_to_a_full_disk(tmp_path: Path) -> None:
    """Where the disk is full there is no half-written report, under no name, and an older report stays."""
    (tmp_path / "report.txt").write_text("older")
    done = shell(f"trap '' XFSZ; ulimit -f 1; $S analyze $T -o {tmp_path}/report.txt")
    assert done.returncode == 2
    assert "report.txt" in done.stderr
    assert listing(tmp_path) == ["report.txt"]
    assert (tmp_path / "report.txt").read_text() == "older"


def test_output_to_what_is_no_file(tmp_path: Path) -> None:
    """A pipe or a device is written to, and not replaced by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True)
    try:
        specdiag("analyze", write(tmp_path / "t.jsonl", GOOD), "-o", str(pipe))
        assert pipe.is_fifo()
        assert reader.communicate(timeout=5)[0]
    finally:
        reader.kill()
        reader.communicate()
    assert listing(tmp_path) == ["pipe", "t.jsonl"]


def test_output_through_a_link(tmp_path: Path) -> None:
    """A link stays a link: the report goes to where it points."""
    (tmp_path / "link").symlink_to("target")
    assert specdiag("analyze", write(tmp_path / "t.jsonl", GOOD), "-o", str(tmp_path / "link")).code == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text()


def test_output_onto_the_input(tmp_path: Path) -> None:
    """A report never takes the place of the trace it is about."""
    file = write(tmp_path / "t.jsonl", GOOD)
    assert specdiag("analyze", file, "-o", file).code == 2
    assert Path(file).read_bytes() == build.lines(GOOD).encode()


def test_output_with_a_long_name(tmp_path: Path) -> None:
    """Any name that the file system allows may be written to."""
    output = tmp_path / ("n" * 250)
    assert specdiag("analyze", write(tmp_path / "t.jsonl", GOOD), "-o", str(output)).code == 0
    assert output.read_text()


def waiting(jobs: int) -> tuple[subprocess.Popen[bytes], list[int]]:
    """The program, waiting for more on its standard input; and its workers."""
    started = subprocess.Popen(
        [*PROGRAM, "analyze", "-", "--jobs", str(jobs)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    )
    assert started.stdin
    note = b'{"type": "note", "text": "%s"}\n' % (b"x" * 10_000)
    started.stdin.write(note * 2000)  # segments for each worker
    started.stdin.flush()
    workers: list[int] = []
    for _ in range(100):
        time.sleep(0.05)
        found = subprocess.run(["pgrep", "-P", str(started.pid)], capture_output=True, text=True, check=False).stdout
        workers = [int(pid) for pid in found.split()]
        if jobs == 1 or len(workers) == jobs:
            break
    return started, workers


def gone(pid: int) -> bool:
    """Whether this process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    ("jobs", "number"),
    [(1, signal.SIGINT), (1, signal.SIGHUP), (2, signal.SIGINT), (2, signal.SIGTERM), (2, signal.SIGKILL)],
)
def test_signals(jobs: int, number: signal.Signals) -> None:
    """Interrupted, terminated or killed, the program ends at once and in silence, and takes its workers with it."""
    started, workers = waiting(jobs)
    try:
        if number == signal.SIGINT:
            os.killpg(started.pid, number)  # as a terminal does
        else:
            started.send_signal(number)
        out, err = started.communicate(timeout=5)
        assert out == b""
        assert err == b""
        assert started.returncode == (-number if number == signal.SIGKILL else 128 + number)
        assert len(workers) == (0 if jobs == 1 else jobs)
        deadline = time.monotonic() + 3
        while not all(map(gone, workers)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert all(map(gone, workers))
    finally:
        for pid in (started.pid, *workers):
            if not gone(pid):
                os.kill(pid, signal.SIGKILL)
        started.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_while_modules_are_loaded(number: signal.Signals, tmp_path: Path) -> None:
    """Before the command is known, a signal ends the program in silence too."""
    (tmp_path / "typer.py").write_text(f"import os, time\nos.kill(os.getpid(), {int(number)})\ntime.sleep(9)\n")
    done = shell("$S --help", PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "")


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    """Under nohup, or in the background of a script, the program goes on."""
    (tmp_path / "typer.py").write_text(
        "import os\nos.kill(os.getpid(), 1)\nos.kill(os.getpid(), 2)\nraise SystemExit(7)\n"
    )
    done = shell("trap '' INT HUP; $S --help", PYTHONPATH=f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    assert done.returncode == 7


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_workers_are_killed() -> None:
    """Workers that the system kills, as it does when memory is short, are an error that says so."""
    started, workers = waiting(2)
    try:
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        _, err = started.communicate(timeout=5)
        assert started.returncode == 2
        assert b"internal error" not in err
        assert b"memory" in err
    finally:
        for pid in (started.pid, *workers):
            if not gone(pid):
                os.kill(pid, signal.SIGKILL)


def test_warnings_as_errors_and_no_utf8() -> None:
    """Neither warnings that are errors nor a terminal of another encoding change how the program ends."""
    done = shell("$S analyze $T --jobs 2", PYTHONWARNINGS="error", LC_ALL="C", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert done.stderr == SUMMARY


@pytest.mark.parametrize("columns", ["20", "0", "-5", "many", "999999"])
def test_odd_widths(columns: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No width of the terminal breaks the report; one that is too narrow gives lines of 60 cells."""
    monkeypatch.setenv("COLUMNS", columns)
    done = specdiag("analyze", write(tmp_path / "t.jsonl", GOOD))
    assert done.code == 0
    if columns == "20":
        assert max(map(len, done.out.splitlines())) <= 60


def test_usage_errors(tmp_path: Path) -> None:
    """An unknown command, option, format or dimension ends with 2."""
    file = write(tmp_path / "t.jsonl", GOOD)
    for arguments in (
        ("analyse", file),
        ("analyze", "--nope", file),
        ("analyze", "-f", "xml", file),
        ("analyze", "--by", "x\x1b[31m\ny", file),
        ("analyze",),
    ):
        assert specdiag(*arguments).code == 2
