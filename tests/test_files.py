"""A trace is written whole, or not at all."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from specdiag.files import written


def test_a_broken_run_leaves_the_old_file(tmp_path: Path) -> None:
    """What was there stays, and nothing else is left."""

    def broken() -> Iterator[bytes]:
        yield b"half\n"
        raise RuntimeError

    path = tmp_path / "t.jsonl"
    path.write_bytes(b"old\n")
    with pytest.raises(RuntimeError):
        written(path, broken())
    assert path.read_bytes() == b"old\n"
    assert list(tmp_path.iterdir()) == [path]


def test_compressed_output_has_no_time_in_it(tmp_path: Path) -> None:
    """The same events give the same bytes, under any name."""
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        written(tmp_path / name, iter([b"one\n", b"two\n"]))
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()) == b"one\ntwo\n"
