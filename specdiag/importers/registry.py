"""Every importer by name, and which of them an input is for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice

from specdiag.errors import InputError, UsageError, shown
from specdiag.importers.convert import converted
from specdiag.importers.interface import Importer
from specdiag.importers.source import plain
from specdiag.report import NATIVE
from specdiag.trace.events import EVENT_TYPES
from specdiag.trace.sources import SUFFIXES, Piece, pieces

LOOKED_AT = 4  # segments of an input that are searched for what tells its format
HEAD = 1 << 16
_EVENT = re.compile(rb'"type"\s*:\s*"(?:%s)"' % "|".join(EVENT_TYPES).encode())


def importers() -> dict[str, Importer]:
    """Every importer, by name, in order."""
    from specdiag.importers import catalogue

    return {importer.name: importer for importer in sorted(catalogue.ALL, key=lambda importer: importer.name)}


def named(name: str) -> list[Importer]:
    """The importers of this name, or of this engine; none for the native format. UsageError where there are none."""
    if name == NATIVE:
        return []
    every = importers()
    chosen = [importer for importer in every.values() if name in (importer.name, importer.engine)]
    if not chosen:
        engines = ", ".join(dict.fromkeys(importer.engine for importer in every.values()))
        raise UsageError(
            f"--from {shown(name)}: no such format", f"Choose from {NATIVE}, {engines}; or {', '.join(every)}."
        )
    return chosen


def opened(name: str, given: str | None = None, drafter: str | None = None) -> tuple[str, Iterator[Piece]]:
    """The format of an input, and its segments as a trace. `given`: an importer, an engine, or the native format; without it the input tells.
    InputError where nothing tells it, or several do."""
    stream = pieces(name)
    candidates = [*importers().values()] if given is None else named(given)
    if not candidates:
        return NATIVE, stream
    if given is not None and len(candidates) == 1:
        return candidates[0].name, converted(name, candidates[0], stream, drafter)
    looked_at: list[Piece] = []
    native = given is None and begins_native(stream, looked_at)
    found = [] if native else _recognised(candidates, stream, looked_at)
    stream = chain(looked_at, stream)
    if len(found) == 1:
        return found[0].name, converted(name, found[0], stream, drafter)
    if found:
        raise InputError(
            f"{shown(name)}: may be {' or '.join(importer.name for importer in found)}",
            f"Say which it is: --from {found[0].name}, for instance.",
        )
    if given is not None and not (looked_at and looked_at[0].head(1)):
        raise InputError(f"{shown(name)}: empty", "Nothing was written to it.")
    if given is not None:
        known = ", ".join(importer.name for importer in candidates)
        others = [
            *dict.fromkeys(i.name for p in looked_at for i in importers().values() if i.recognise(plain(p.read())))
        ]
        advice = f"It looks like {' or '.join(others)}: --from {others[0]}." if others else "Say which: --from NAME."
        raise InputError(f"{shown(name)}: nothing in it tells which of {known} it is{_opening(looked_at)}", advice)
    if native or name.endswith(SUFFIXES) or _may_be_native(looked_at):
        return NATIVE, stream
    raise nobodys(name, looked_at)


def nobodys(name: str, looked_at: list[Piece]) -> InputError:
    """The error for an input that no importer knows, and that is no trace."""
    return InputError(
        f"{shown(name)}: no event was read: neither a trace nor a log or result file that an importer recognises{_opening(looked_at)}",
        "A run that failed leaves no figures. Where it did not, say what it is: --from NAME (`specdiag convert --formats` lists them).",
    )


def begins_native(stream: Iterator[Piece], looked_at: list[Piece]) -> bool:
    """Whether the first line is one of our events: then it is a trace, whatever its texts say. `looked_at`: takes the segment that was read."""
    looked_at.extend(islice(stream, 1))
    head = looked_at[0].head(HEAD).lstrip() if looked_at else b""
    return head.startswith(b"{") and _EVENT.search(head.partition(b"\n")[0]) is not None


def _recognised(candidates: list[Importer], stream: Iterator[Piece], looked_at: list[Piece]) -> list[Importer]:
    """The importers that know the first segment that any of them knows."""
    for number in range(LOOKED_AT):
        if number >= len(looked_at):
            looked_at.extend(islice(stream, 1))
        if number < len(looked_at):
            data = plain(looked_at[number].read())
            found = [importer for importer in candidates if importer.recognise(data)]
            if found:
                return found
    return []


def _may_be_native(looked_at: list[Piece]) -> bool:
    """Whether a trace could begin like this: broken as it may be, its own errors say more than that nobody knows it."""
    head = looked_at[0].read().lstrip() if looked_at else b""
    return not head or head.startswith(b"{") or _EVENT.search(head) is not None


def _opening(looked_at: list[Piece]) -> str:
    head = plain(looked_at[0].head(HEAD)).strip() if looked_at else b""
    line = head.partition(b"\n")[0].decode(errors="replace").strip()
    return f"; it begins: {shown(line)}" if line else ""
