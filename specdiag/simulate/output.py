"""Writing a trace: all of it, or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from specdiag.files import gzipped, whole

LEVEL = 6  # of gzip


def write(path: Path, runs: Iterator[bytes]) -> None:
    """Write to a file, compressed where its name ends in `.gz`; a pipe or a device gets the plain events."""
    plain = path.exists() and not path.is_file()
    with whole(path) as file:
        if Path(os.path.realpath(path)).suffix == ".gz" and not plain:
            with gzipped(file, LEVEL) as packed:
                packed.writelines(runs)
        else:
            file.writelines(runs)
