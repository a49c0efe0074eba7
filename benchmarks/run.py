"""Runs specdiag and what it is held against side by side, in turn, as whole processes, and prints a table of ratios.

A machine is never quiet, and two machines are never alike: so every figure is the median of ratios of pairs that ran one after the other.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DATA = HERE / "data"
SPECDIAG = [sys.executable, "-m", "specdiag"]
WARM_UP = 1  # pairs that are not counted
VERIFY_MS = 20  # a verify pass, of a large model on one accelerator
RECORDING_SHARE = 0.01  # of it that recording may cost


@dataclass(frozen=True)
class Run:
    """What one process took. `peak`: megabytes of the largest process, itself or one that it started."""

    wall: float
    cpu: float
    peak: float


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    part: str
    what: str
    ratio: str
    target: str
    met: bool | None
    cpu_ratio: str = ""
    wall: str = ""
    cpu: str = ""
    peak: str = ""

    def cells(self) -> list[str]:
        """Its cells."""
        verdict = {True: "met", False: "**not met**", None: ""}[self.met]
        return [self.part, self.what, self.ratio, self.target, verdict, self.cpu_ratio, self.wall, self.cpu, self.peak]


HEADINGS = ["part", "what", "ratio (min to max)", "target", "", "CPU ratio", "wall s", "CPU s", "peak MB"]


@dataclass(frozen=True)
class Sizes:
    """How much to run."""

    rounds: int
    memory: tuple[int, int]
    pairs: int
    megabytes: int


def run(command: list[str], output: str = os.devnull) -> Run:
    """Run a process to its end; what it printed is thrown away, or kept in a file.

    The peak cannot be told where it is below that of this process, which the new one starts from: so nothing large is held here.
    """
    quiet = [
        (os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    began = time.perf_counter()
    child = os.posix_spawn(command[0], command, _environment(), file_actions=quiet)
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - began
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def _environment() -> dict[str, str]:
    """The own environment, with this checkout first, and with compiled modules as an installation has them."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": path}


def pairs(number: int, one: list[str], other: list[str]) -> list[tuple[Run, Run]]:
    """Run two commands in turn: one, other, one, other, …"""
    return [(run(one), run(other)) for _ in range(WARM_UP + number)][WARM_UP:]


def compared(part: str, what: str, target: float | None, number: int, one: list[str], other: list[str]) -> Line:
    """The line on two commands: how many times as long the one takes as the other."""
    both = pairs(number, one, other)
    wall, cpu = sorted(a.wall / b.wall for a, b in both), sorted(a.cpu / b.cpu for a, b in both)
    middle = statistics.median(wall)
    return Line(
        part,
        what,
        f"{middle:.2f} ({wall[0]:.2f} to {wall[-1]:.2f})",
        f"{target:g}" if target else "",
        middle <= target if target else None,
        f"{statistics.median(cpu):.2f}",
        _two(both, lambda r: r.wall, ".2f"),
        _two(both, lambda r: r.cpu, ".2f"),
        _two(both, lambda r: r.peak, ".0f"),
    )


def _two(both: list[tuple[Run, Run]], of: Callable[[Run], float], form: str) -> str:
    return " / ".join(format(statistics.median(map(of, side)), form) for side in zip(*both, strict=True))


def analyze(trace: Path, *options: str) -> list[str]:
    """The command that analyzes a trace."""
    return [*SPECDIAG, "analyze", "--lenient", "--quiet", "--format", "json", *options, str(trace)]


def script(name: str, *arguments: str) -> list[str]:
    """The command that runs another script of this folder."""
    return [sys.executable, str(HERE / name), *arguments]


def made(rounds: int) -> Path:
    """A trace of so many rounds, made if it is not there."""
    return _made(DATA / f"made-{rounds}.jsonl", "make_trace.py", "--rounds", str(rounds))


def logged(megabytes: int, every: int) -> Path:
    """A log of this size, one line of so many a report on speculative decoding; made if it is not there."""
    sizes = "--megabytes", str(megabytes), "--every", str(every)
    return _made(DATA / f"server-{megabytes}-{every}.log", "make_log.py", *sizes)


def _made(path: Path, by: str, *arguments: str) -> Path:
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        print(f"making {path.name}", file=sys.stderr)
        subprocess.run(script(by, *arguments, "--output", str(path)), check=True)
    with open(path, "rb") as file:  # from the disk to memory, so that the first run does not pay for it
        while file.read(1 << 20):
            pass
    return path


def decoding(sizes: Sizes) -> Iterator[Line]:
    """(a) Everything, against decoding alone."""
    trace = made(sizes.rounds)
    one = analyze(trace, "--jobs", "1")
    yield compared(
        "a", "`--jobs 1` / decoding line by line", 1.5, sizes.pairs, one, script("bare_decode.py", str(trace))
    )


def against_duckdb(sizes: Sizes) -> Iterator[Line]:
    """(b) Everything, against three sums in DuckDB, both on two processors."""
    trace = made(sizes.rounds)
    one = analyze(trace, "--jobs", "2")
    yield compared(
        "b", "`--jobs 2` / three sums in DuckDB", 2.0, sizes.pairs, one, script("duckdb_sums.py", str(trace))
    )


def intervals(sizes: Sizes) -> Iterator[Line]:
    """(c) What the intervals cost."""
    trace = made(sizes.rounds)
    one, other = (analyze(trace, "--replicates", number) for number in ("200", "0"))
    yield compared("c", "`--replicates 200` / `--replicates 0`", 1.3, sizes.pairs, one, other)


def memory(sizes: Sizes) -> Iterator[Line]:
    """(d) Peak memory, on a trace and on one several times as long."""
    small, large = sizes.memory
    for jobs in ("1", "2"):
        peaks = [max(run(analyze(made(rounds), "--jobs", jobs)).peak for _ in range(2)) for rounds in (large, small)]
        ratio = peaks[0] / peaks[1]
        what = f"peak at {large:,} / at {small:,} rounds, `--jobs {jobs}`"
        shown = f"{peaks[0]:.0f} / {peaks[1]:.0f}"
        yield Line("d", what, f"{ratio:.2f}", "1.10", ratio <= 1.10, peak=shown)
        yield Line("d", f"peak at {large:,} rounds, `--jobs {jobs}`", f"{peaks[0]:.0f} MB", "200 MB", peaks[0] <= 200)


def startup(sizes: Sizes) -> Iterator[Line]:
    """(e) Answering at once, against importing what every command line of this kind imports."""
    imports = [sys.executable, "-c", "import typer, rich.console"]
    for option in ("--version", "--help"):
        number = 3 * sizes.pairs  # they are short
        yield compared("e", f"`{option}` / importing typer and rich", 1.2, number, [*SPECDIAG, option], imports)


def recorder(sizes: Sizes) -> Iterator[Line]:
    """(f) What logging costs the loop that logs: a proposal and a verdict of five tokens, with q, p and u, written to a file."""
    from specdiag import Recorder

    rounds, gamma = 20_000, 5
    tokens, q, p, u = (
        [11, 222, 3333, 44444, 5555],
        [0.91, 0.52, 0.33, 0.74, 0.15],
        [0.8, 0.6, 0.3, 0.1],
        [0.3, 0.7, 0.5, 0.9],
    )
    spent = []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(WARM_UP + sizes.pairs):
            with Recorder(Path(folder) / f"{turn}.jsonl", drafters=[{"id": "code"}], rule="rejection") as trace:
                began = time.perf_counter()
                for number in range(rounds):
                    block = trace.propose(
                        request="r1", round=number, drafter="code", start=4 * number, tokens=tokens, q=q, ms=3.1
                    )
                    trace.verdict(block, accepted=3, p=p, u=u, next_token=99, ms=21.5)
                spent.append((time.perf_counter() - began) * 1e6 / rounds)
    spent = sorted(spent[WARM_UP:])
    for what, each, target in (("a token logged", gamma, 5.0), ("an event logged", 2, None)):
        low, middle, high = (value / each for value in (spent[0], statistics.median(spent), spent[-1]))
        met = None if target is None else middle <= target
        yield Line(
            "f",
            f"`Recorder`, {what}",
            f"{middle:.2f} µs ({low:.2f} to {high:.2f})",
            f"{target:g} µs" if target else "",
            met,
        )
    share = statistics.median(spent) / (VERIFY_MS * 1000)
    yield Line(
        "f",
        f"`Recorder`, a round of {gamma} tokens, against a verify pass of {VERIFY_MS} ms",
        f"{share:.2%}",
        f"{RECORDING_SHARE:.0%}",
        share <= RECORDING_SHARE,
    )


def same(sizes: Sizes) -> Iterator[Line]:
    """(g) The report does not depend on the number of processes."""
    trace = made(sizes.rounds)
    digests = set()
    with tempfile.TemporaryDirectory() as folder:
        for jobs in ("1", "2", "3"):
            report = Path(folder) / f"{jobs}.json"
            run(analyze(trace, "--jobs", jobs), str(report))
            digests.add(hashlib.sha256(report.read_bytes()).digest())
    told = "identical" if len(digests) == 1 else "different"
    yield Line("g", "reports of `--jobs 1`, `2` and `3`", told, "identical", len(digests) == 1)


def importing(sizes: Sizes) -> Iterator[Line]:
    """(h) What the log of a server costs, against counting its lines of interest with grep; and its memory."""
    for every in (1000, 20):
        log = logged(sizes.megabytes, every)
        # Into a pipe, since grep stops at the first line where nobody reads its count.
        grep = ["/bin/sh", "-c", 'grep -c "SpecDecoding metrics" "$0" | cat', str(log)]
        what = f"log of {sizes.megabytes} MB, one line of {every:,} a report / `grep -c`"
        yield compared("h", what, None, sizes.pairs, analyze(log), grep)
    few = sizes.megabytes * 3 // 10
    peaks = [run(analyze(logged(megabytes, 20))).peak for megabytes in (sizes.megabytes, few)]
    what = f"peak at {sizes.megabytes} / at {few} MB of log, one line of 20 a report"
    yield Line(
        "h",
        what,
        f"{peaks[0] / peaks[1]:.2f}",
        "1.10",
        peaks[0] <= 1.10 * peaks[1],
        peak="{:.0f} / {:.0f}".format(*peaks),
    )


PARTS: dict[str, Callable[[Sizes], Iterator[Line]]] = {
    "a": decoding,
    "b": against_duckdb,
    "c": intervals,
    "d": memory,
    "e": startup,
    "f": recorder,
    "g": same,
    "h": importing,
}


def table(lines: list[Line]) -> str:
    """The lines as a Markdown table."""
    rows = [HEADINGS, ["---"] * len(HEADINGS), *(line.cells() for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="".join(PARTS), metavar="PARTS", help="such as a,b; default: all")
    parser.add_argument("--rounds", type=int, default=400_000, help="of the trace that is timed")
    parser.add_argument("--memory-rounds", type=int, nargs=2, default=(100_000, 1_000_000), metavar="N")
    parser.add_argument("--log-megabytes", type=int, default=1000, help="of the log that is timed")
    parser.add_argument("--pairs", type=int, default=7, help="pairs of runs, after a warm-up; at least 5")
    parser.add_argument("--remove-data", action="store_true", help="remove the traces afterwards")
    chosen = parser.parse_args()
    wanted = sorted(set(chosen.only) - {",", " "})
    if not set(wanted) <= PARTS.keys():
        parser.error(f"--only {chosen.only}: parts are {', '.join(PARTS)}")
    if chosen.pairs < 5:
        parser.error("--pairs: at least 5")
    sizes = Sizes(chosen.rounds, tuple(chosen.memory_rounds), chosen.pairs, chosen.log_megabytes)
    compileall.compile_dir(str(ROOT / "specdiag"), quiet=2)
    lines = []
    for part in wanted:
        print(PARTS[part].__doc__, file=sys.stderr)
        lines += list(PARTS[part](sizes))
    print(table(lines))
    if chosen.remove_data:
        shutil.rmtree(DATA, ignore_errors=True)


if __name__ == "__main__":
    main()
