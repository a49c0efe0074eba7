"""`specdiag convert`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from specdiag.cli import terminal
from specdiag.errors import TraceError, UsageError, shown
from specdiag.files import written
from specdiag.importers.registry import begins_native, importers, nobodys, opened
from specdiag.render.figures import counted
from specdiag.render.text import inert, json_lines
from specdiag.report import NATIVE
from specdiag.trace.notes import CATALOGUE, Notes
from specdiag.trace.sources import STDIN, Piece, expand


def run(
    inputs: list[str],
    source: str | None,
    output: Path | None,
    drafter: str | None,
    strict: bool | None,
    formats: bool,
    quiet: bool,
) -> None:
    """Convert every input into one trace."""
    if formats:
        terminal.write("".join(f"{name:24} {importer.reads}\n" for name, importer in importers().items()), None)
        return
    if not inputs:
        raise UsageError("no input", "Give a log or a result file, or - for standard input.")
    if drafter is not None and not drafter.strip():
        raise UsageError("--drafter: an empty name", "Give the drafter a name, or leave the option out.")
    names = expand(inputs)
    if output is not None and output.exists() and any(Path(name).exists() and output.samefile(name) for name in names):
        raise UsageError(f"{shown(str(output))}: the trace would replace its own input", "Give --output another name.")
    said = _Said(terminal.in_ci() if strict is None else strict)
    runs = (data for name in names for data in _of(name, source, drafter, said))
    if output is None:
        for data in runs:
            terminal.write(json_lines(data.decode()), None)
    else:
        written(output, runs)
    if not quiet:
        terminal.say("\n".join(said.lines()))


def _of(name: str, source: str | None, drafter: str | None, said: _Said) -> Iterator[bytes]:
    format, stream = opened(name, source, drafter)
    if format == NATIVE:
        first: list[Piece] = []
        if source is None and not begins_native(stream, first):
            raise nobodys(name, first)
        raise UsageError(f"{shown(name)}: a trace already", "There is nothing to convert: `specdiag analyze` reads it.")
    for piece in stream:
        said.add(name, format, piece)
        yield piece.data


class _Said:
    """What is to be said of each input."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.of: dict[tuple[str, str], tuple[int, Notes]] = {}

    def add(self, name: str, format: str, piece: Piece) -> None:
        """One more segment of an input."""
        events, notes = self.of.get((name, format), (0, Notes()))
        assert piece.origin is not None
        notes.merge(piece.origin.notes)
        problems = notes.first_problem() if self.strict else []
        if problems:
            places = [
                f"{shown(name)}:{place.line}: {CATALOGUE[code].message} ({shown(place.text)})"
                for code, place in problems
            ]
            raise TraceError(places, "With --lenient it is noted, and the rest of the input counts.")
        self.of[name, format] = events + len(piece.origin.line_of), notes

    def lines(self) -> Iterator[str]:
        """One line for each input, and one for each kind of trouble with it."""
        for (name, format), (events, notes) in self.of.items():
            yield f"specdiag: {inert(shown('standard input' if name == STDIN else name))}: {format}, {counted(events, 'event')}"
            for code, number in notes.counts.items():
                place = notes.places[code][0]
                text = f" ({inert(shown(place.text))})" if place.text else ""
                yield f"  {CATALOGUE[code].severity}: {CATALOGUE[code].message} ({number:,}), line {place.line}{text}"
