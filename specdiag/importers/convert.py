"""From a log or a result file of an engine to a trace: the header, then its events, in segments as the analysis reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from specdiag.errors import InputError, shown
from specdiag.importers.interface import DRAFTER, Importer, Trouble
from specdiag.importers.source import Source
from specdiag.trace.events import SCHEMA, DrafterInfo, Event, Proposal, Software, TallyEvent, Trace, Verdict
from specdiag.trace.notes import CATALOGUE, Notes
from specdiag.trace.sources import Origin, Piece
from specdiag.version import __version__

SEGMENT = 1 << 20  # bytes of trace that are put out at a time
_encode = msgspec.json.Encoder().encode
HALF = "half of a surrogate pair"


def converted(name: str, importer: Importer, pieces: Iterable[Piece], drafter: str | None = None) -> Iterator[Piece]:
    """The segments of the trace that this input gives. InputError where it holds nothing that the importer reads. `drafter`: a name for the
    drafter, where the engine gives none."""
    source = Source(name, pieces)
    batch = _Batch(source)
    evidence = 0
    for item in importer.read(source):
        if isinstance(item, Trouble):
            source.notes.add(item.code, item.line, "$", _whole(item.text))
            continue
        if not batch.begun and not isinstance(item.event, Trace):
            batch.add(1, header(importer, drafter or _drafter(item.event)))
        event = item.event if drafter is None else _renamed(item.event, drafter)
        if isinstance(event, Trace):
            event = _signed(event, importer)
        elif isinstance(event, TallyEvent):
            event.line = item.line
        evidence += isinstance(event, TallyEvent | Verdict)
        batch.add(item.line, event)
        if batch.size >= SEGMENT:
            yield batch.piece()
    if not evidence:
        raise _nothing(source, importer)
    yield batch.piece(last=True)


def header(importer: Importer, drafter: str | None = None) -> Trace:
    """The header of a trace of this importer, where the input says nothing of itself."""
    return _signed(Trace(schema=SCHEMA, drafters=[DrafterInfo(drafter or DRAFTER)]), importer)


def _drafter(event: Event) -> str:
    return event.drafter if isinstance(event, TallyEvent | Proposal) else DRAFTER


def _signed(trace: Trace, importer: Importer) -> Trace:
    trace.engine = trace.engine or Software(importer.engine)
    trace.recorder = Software("specdiag convert", __version__)
    trace.labels = {**(trace.labels or {}), "imported": importer.name}
    return trace


def _renamed(event: Event, drafter: str) -> Event:
    if isinstance(event, TallyEvent | Proposal) and event.drafter == DRAFTER:
        event.drafter = drafter
    elif isinstance(event, Trace):
        for info in event.drafters or []:
            info.id = drafter if info.id == DRAFTER else info.id
    return event


class _Batch:
    """Events on their way out, with the lines that they come from."""

    def __init__(self, source: Source) -> None:
        self.source, self.begun = source, False
        self._lines: list[int] = []
        self._texts: list[bytes] = []
        self.size = self._counted = self._read = 0

    def add(self, line: int, event: Event) -> None:
        try:
            text = _encode(event)
        except UnicodeEncodeError:
            text = _encode(_whole(msgspec.to_builtins(event)))
            self.source.notes.add("invalid_utf8", line, "$", HALF)
        self.begun = True
        self._lines.append(line)
        self._texts.append(text)
        self.size += len(text) + 1

    def piece(self, last: bool = False) -> Piece:
        """What was added since the last piece."""
        source = self.source
        origin = Origin(
            line_of=tuple(self._lines),
            before=self._counted,
            lines=source.lines - self._counted,
            size=source.size - self._read,
            notes=source.notes,
        )
        self._counted, self._read, source.notes = source.lines, source.size, Notes()
        data = b"".join(text + b"\n" for text in self._texts)
        self._lines, self._texts, self.size = [], [], 0
        return Piece(data=data, last=last, origin=origin)


def _whole(value: Any) -> Any:
    """The value with halves of surrogate pairs, which are no characters, replaced."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(inner) for key, inner in value.items()}
    return [_whole(inner) for inner in value] if isinstance(value, list) else value


def _nothing(source: Source, importer: Importer) -> InputError:
    if not source.size:
        return InputError(f"{shown(source.name)}: empty", "Nothing was written to it.")
    said = f"; it begins: {shown(source.opening)}" if source.opening else ""
    trouble = [(place.line, code, place.text) for code, places in source.notes.places.items() for place in places[:1]]
    bad = ""
    if trouble:
        line, code, text = min(trouble)
        bad = f"; at line {line}: {CATALOGUE[code].message}{f' ({shown(text)})' if text else ''}"
    return InputError(
        f"{shown(source.name)}: no figure of {importer.name} in {source.lines:,} lines{bad}{said}",
        f"It reads {importer.reads}. A run that failed leaves no figures; for another format give another --from.",
    )
