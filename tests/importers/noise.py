"""What noise must not do to an importer: raise anything but InputError, or give a tally that the clean input does not give."""

from __future__ import annotations

import contextlib

import msgspec

from specdiag.errors import InputError
from specdiag.trace.events import TallyEvent
from tests.importers.common import damaged, imported, interleaved, known, said, tallies, truncated


def hold(name: str, text: str, seed: int, *, mixes: bool = True) -> None:
    """Cut, mixed with itself, and with random bytes in it. `mixes`: whether two writers at once are to be told apart; the bytes of two JSON objects
    can be a third one."""
    clean = {_counted(event) for event in tallies(text, name)}
    for noisy in [*truncated(text, seed), *([interleaved(text, seed)] if mixes else [])]:
        found = {_counted(event) for event in tallies(noisy, name)}
        assert found <= clean, (noisy, found - clean)
    with contextlib.suppress(InputError):
        imported(damaged(text, seed), name)
    known(name).recognise(damaged(text, seed))


def _counted(event: TallyEvent) -> bytes:
    """What it says, without who said it: that stands at the beginning of a line, which another writer may have broken."""
    return said(msgspec.structs.replace(event, source=None))
