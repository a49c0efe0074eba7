"""Segments to shards, in order, by this process or by several."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from specdiag.errors import SpecdiagError
from specdiag.scale.shard import Shard, Task, read_shard
from specdiag.trace.sources import Piece

if TYPE_CHECKING:
    from concurrent.futures import Future


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
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
    with ProcessPoolExecutor(jobs, multiprocessing.get_context(method)) as pool:
        under_way: deque[Future[Shard]] = deque()
        try:
            for piece in pieces:
                under_way.append(pool.submit(read_shard, piece, task))
                if len(under_way) >= 2 * jobs:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        except BrokenProcessPool as error:
            raise SpecdiagError(
                "a process that read the input was ended from outside",
                "Give fewer --jobs; was there too little memory?",
            ) from error
        finally:
            for future in under_way:
                future.cancel()
