"""Segments to shards, in order, by this process or by several.

Each worker has a pipe of its own and takes every nth segment. Nothing is shared between workers, neither a queue nor a lock, and no thread of
this process waits for them: so they can be ended at any point, and an interrupted program ends at once.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from specdiag.errors import SpecdiagError
from specdiag.scale.shard import Shard, Task, read_shard
from specdiag.trace.sources import Piece

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import BaseContext

AHEAD = 2  # segments that a worker has before it: one that it reads, and the next one
_ours: list[Connection] = []  # this process's ends of the pipes


def shards(pieces: Iterable[Piece], task: Task, jobs: int) -> Iterator[Shard]:
    """The shard of each piece, in the order of the pieces. No more than a few pieces a job are under way, so memory stays flat."""
    if jobs <= 1:
        for piece in pieces:
            yield read_shard(piece, task)
        return
    import multiprocessing  # here, since one process does not need it

    # A forked worker starts at once, with every module loaded; where the platform cannot fork, the default is used.
    context = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else None)
    workers: list[_Worker] = []
    under_way: deque[_Worker] = deque()
    try:
        for number, piece in enumerate(pieces):
            if len(workers) < jobs:  # a small input needs few
                workers.append(_Worker(context, task))
            worker = workers[number % jobs]
            worker.ask(piece)
            under_way.append(worker)
            if len(under_way) >= AHEAD * jobs:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """A process that reads pieces, and this process's end of its pipe."""

    def __init__(self, context: BaseContext, task: Task) -> None:
        self.pipe, theirs = context.Pipe()
        _ours.append(self.pipe)
        self.process = context.Process(target=_work, args=(theirs, task), daemon=True)  # type: ignore[attr-defined]
        with _uninterrupted():
            self.process.start()
        theirs.close()

    def ask(self, piece: Piece) -> None:
        """Give it one more piece to read."""
        with _lost():
            self.pipe.send(piece)

    def result(self) -> Shard:
        """The next shard, or the error that there was instead."""
        with _lost():
            answer = self.pipe.recv()
        if isinstance(answer, BaseException):
            raise answer
        shard: Shard = answer
        return shard

    def end(self) -> None:
        """End it in whatever it is doing."""
        self.process.kill()
        _ours.remove(self.pipe)
        self.pipe.close()
        self.process.join()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Interrupts wait: one that came to a worker before it ignores them would print its traceback."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _lost() -> Iterator[None]:
    """What a pipe says whose worker is gone."""
    try:
        yield
    except (EOFError, BrokenPipeError, ConnectionResetError) as error:
        raise SpecdiagError(
            "a process that read the input was ended from outside",
            "Give fewer --jobs; was there too little memory?",
        ) from error


def _work(pipe: Connection, task: Task) -> None:
    """In a worker: answer each piece with its shard, leave interrupts to the parent, and end with it, however it ends."""
    import queue
    import threading

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while _ours:  # where this process is a copy of its parent: the parent alone holds these ends open
        _ours.pop().close()
    waiting: queue.SimpleQueue[Piece] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, waiting), daemon=True).start()
    while True:
        pipe.send(_answer(waiting.get(), task))


def _receive(pipe: Connection, waiting: Any) -> None:
    # In a thread: a parent that sends must not wait for a worker that sends.
    with suppress(EOFError, OSError):
        while True:
            waiting.put(pipe.recv())
    os._exit(1)


def _answer(piece: Piece, task: Task) -> Shard | BaseException:
    try:
        return read_shard(piece, task)
    except Exception as error:  # whatever it is, it is for the parent to raise
        return error
