"""What the terminal and the environment are like, and writing to them. The only place that looks."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from specdiag.errors import InputError, shown

PROGRESS_FROM = 32 << 20  # bytes of input


def in_ci() -> bool:
    """Whether this runs in CI."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def wants_color() -> bool:
    """Whether standard output is a terminal that wants colour (https://no-color.org)."""
    return (
        sys.stdout is not None
        and sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


def width() -> int:
    """Columns of the terminal; 80 in a pipe."""
    return max(40, shutil.get_terminal_size((80, 24)).columns)


def is_ascii() -> bool:
    """Whether standard output cannot show what lies outside of ASCII."""
    return (
        not (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "").startswith(("utf", "cp65001"))
    )


def write(text: str, output: Path | None) -> None:
    """Write a report to standard output, or to a file: all of it or none."""
    try:
        if output is None:
            _to_stdout(text)
        else:
            from specdiag.files import whole  # here, since most runs write no file

            with whole(output) as file:
                file.write(text.encode())
    except BrokenPipeError:  # the reader of our output went away: nothing is wrong
        _let_go(1)
    except OSError as error:
        raise InputError(
            f"{shown(str(output or 'standard output'))}: {error.strerror or error}",
            "Choose a place that exists and can be written to.",
        ) from error


def _to_stdout(text: str) -> None:
    if sys.stdout is None:
        raise InputError("standard output is closed", "Open it, or give --output.")
    sys.stdout.write(text if not is_ascii() else text.encode("ascii", "backslashreplace").decode())
    sys.stdout.flush()


def say(text: str) -> None:
    """Text on standard error. Where that takes nothing, the text is lost, and no more: how the program ends does not hang on it."""
    if sys.stderr is None:
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _let_go(2)


def finish() -> int:
    """Write out what standard output and standard error still hold, since Python ends with codes of its own where it cannot. The exit
    code that this asks for: 0, also if the reader went away."""
    code = 0
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            if stream is not None:
                stream.flush()
        except BrokenPipeError:
            _let_go(number)
        except OSError:
            _let_go(number)
            code = 2 if number == 1 else code
    return code


def _let_go(number: int) -> None:
    """Send to nowhere what this stream still holds and gets."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


@contextmanager
def progress(inputs: list[str], quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """A bar of bytes read, for long input on a terminal; None elsewhere."""
    total = sum(Path(name).stat().st_size for name in inputs if Path(name).is_file())
    if (
        quiet
        or total < PROGRESS_FROM
        or sys.stderr is None
        or not sys.stderr.isatty()
        or any(name.endswith((".gz", ".zst")) for name in inputs)
    ):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    with Progress(
        BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task("reading", total=total)
        yield lambda size: bar.advance(task, size)
