"""Several processes: how they end."""

from __future__ import annotations

import multiprocessing
import time

import pytest

from specdiag.scale.pool import shards
from specdiag.scale.shard import Task
from specdiag.trace.sources import Piece
from tests import build

PIECES = [Piece(data=build.lines(build.rounds(3)).encode(), last=True)] * 20


def left(seconds: float = 3) -> int:
    """How many processes of ours are left once there was time to end."""
    deadline = time.monotonic() + seconds
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.01)
    return len(multiprocessing.active_children())


def test_all_pieces_in_order() -> None:
    """Every piece gives its shard, and no process is left."""
    assert [shard.lines for shard in shards(PIECES, Task(), 2)] == [7] * 20
    assert left() == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_an_interrupted_caller_leaves_no_process(error: type[BaseException]) -> None:
    """Whatever ends the reading of shards early ends the workers in the middle of what they do."""

    def endless(one: Piece) -> Piece:
        raise error

    with pytest.raises(error):
        list(shards((piece if i < 2 else endless(piece) for i, piece in enumerate(PIECES)), Task(), 2))
    assert left() == 0


def test_a_caller_that_stops_early_leaves_no_process() -> None:
    """So does a caller that wants no more."""
    reading = shards(iter(PIECES), Task(), 2)
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert left() == 0
