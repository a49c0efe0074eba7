"""Segments to shards, in order, by this process or by several."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from specdiag.errors import SpecdiagError
from specdiag.scale.shard import Shard, Task, read_shard
from specdiag.trace.sources import Piece

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing.connection import Connection


def shards(pieces: Iterable[Piece], task: Task, jobs: int) -> Iterator[Shard]:
    """The shard of each piece, in the order of the pieces. No more than a few pieces a job are under way, so memory stays flat."""
    if jobs <= 1:
        for piece in pieces:
            yield read_shard(piece, task)
        return
    import multiprocessing  # here, since one process does not need it
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    # A forked worker starts at once, with every module loaded; where the platform cannot fork, the default is used.
    context = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else None)
    ended, alive = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(jobs, context, _begin_worker, (ended, alive))
    try:
        yield from _in_order(pieces, task, pool, 2 * jobs)
        pool.shutdown()
    except BrokenProcessPool as error:
        raise SpecdiagError(
            "a process that read the input was ended from outside",
            "Give fewer --jobs; was there too little memory?",
        ) from error
    finally:
        alive.close()  # where something went wrong, or we were interrupted: workers end in the middle of what they do
        ended.close()
        pool.shutdown(wait=False, cancel_futures=True)


def _in_order(pieces: Iterable[Piece], task: Task, pool: ProcessPoolExecutor, most: int) -> Iterator[Shard]:
    under_way: deque[Future[Shard]] = deque()
    for piece in pieces:
        under_way.append(pool.submit(read_shard, piece, task))
        if len(under_way) >= most:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()


def _begin_worker(ended: Connection, alive: Connection) -> None:
    """In a worker: leave interrupts to the parent, and end with it, however it ends."""
    import threading

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    alive.close()  # the parent alone holds that end open
    threading.Thread(target=_end_with_parent, args=(ended,), daemon=True).start()


def _end_with_parent(ended: Connection) -> None:
    try:
        ended.recv_bytes()
    except (EOFError, OSError):
        os._exit(1)
