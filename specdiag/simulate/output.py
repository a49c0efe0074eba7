"""Writing a trace: all of it, or nothing."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

LEVEL = 6  # of gzip


def write(path: Path, runs: Iterator[bytes]) -> None:
    """Write to a file of another name and then give it this one. `.gz` is compressed, without the time, so that the same events give the same
    bytes. A pipe or a device is written to as it is."""
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            file.writelines(runs)
        return
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(prefix=".specdiag-", dir=target.parent)
    try:
        with open(handle, "wb") as file:
            _fill(file, runs, target.suffix == ".gz")
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _fill(file: IO[bytes], runs: Iterator[bytes], compress: bool) -> None:
    if not compress:
        file.writelines(runs)
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=LEVEL, mtime=0) as packed:
        cast(IO[bytes], packed).writelines(runs)
