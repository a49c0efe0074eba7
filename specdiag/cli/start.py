"""Where the program starts: signals first, so that one that comes while modules are loaded ends it in silence too."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn


def main() -> NoReturn:
    """Run the program; a signal that ends it gives 128 and its number as exit code, after what is half done was put away."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, _end)
    from specdiag.cli.app import main as program  # under these handlers, since it takes most of the time of a short run

    program()


def _end(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)  # a second one does not wait
    sys.exit(128 + number)
