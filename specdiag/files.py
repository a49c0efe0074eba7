"""Files that are written whole or not at all, and what compresses them."""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from specdiag.errors import InputError, MissingExtra, shown

LEVEL = 6  # of gzip, where a program waits for it


@contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which gets this name at the end; where anything goes wrong, what stood there stays. Behind a link, what it leads to is
    replaced. A pipe or a device has no half of a file to hide, and is written to as it is."""
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(prefix=".specdiag-", dir=target.parent)
    try:
        with open(handle, "wb") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def written(path: Path, runs: Iterable[bytes]) -> None:
    """Write to a file, all of it or nothing, compressed where its name ends in `.gz` or `.zst`; a pipe or a device gets it plain. InputError
    where it cannot be written."""
    kind = Path(os.path.realpath(path)).suffix if not path.exists() or path.is_file() else ""
    try:
        with whole(path) as file:
            if kind == ".gz":
                with gzipped(file, LEVEL) as packed:
                    packed.writelines(runs)
            elif kind == ".zst":
                with zstd("writing").ZstdFile(file, "w") as packed:
                    packed.writelines(runs)
            else:
                file.writelines(runs)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(
            f"{shown(str(path))}: {error.strerror or error}", "Choose a place that exists and can be written to."
        ) from error


def gzipped(file: IO[bytes], level: int = 9) -> IO[bytes]:
    """A file that compresses into this one, without a name or a time, so that the same content gives the same bytes."""
    return cast(IO[bytes], gzip.GzipFile("", "wb", fileobj=file, compresslevel=level, mtime=0))


def zstd(what: str) -> Any:
    """The zstd module, which the standard library has from Python 3.14 on; MissingExtra where there is none. `what` needs it."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as error:
        raise MissingExtra(f"{what} .zst needs a zstd module", "pip install backports.zstd") from error
    return zstd
