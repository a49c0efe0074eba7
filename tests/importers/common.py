"""What the tests of all importers use: from text to events, and what noise makes of a text."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator
from pathlib import Path

import msgspec

from specdiag.errors import InputError
from specdiag.importers.convert import converted
from specdiag.importers.interface import Importer
from specdiag.importers.registry import importers
from specdiag.trace.codec import Codec
from specdiag.trace.events import Event, TallyEvent
from specdiag.trace.notes import Notes
from specdiag.trace.sources import Piece

FIXTURES: dict[str, list[str]] = {}
"""By importer: clean inputs, one of each layout. Every test module registers its own."""


def register(name: str, *texts: str) -> None:
    """Add clean inputs of an importer: the tests that go over all importers use them."""
    FIXTURES.setdefault(name, []).extend(texts)


REFUSED: dict[str, list[str]] = {}
"""By importer: inputs that it knows, and knows to hold nothing; reading them is an error that says so."""


def refuse(name: str, *texts: str) -> None:
    """Add inputs that an importer refuses."""
    REFUSED.setdefault(name, []).extend(texts)


def imported(text: str | bytes, name: str) -> tuple[list[Event], Notes]:
    """Events of an input, header first, and what was noted of it."""
    data = text.encode() if isinstance(text, str) else text
    events: list[Event] = []
    notes = Notes()
    codec = Codec()
    for piece in converted("input", importers()[name], [Piece(data=data, last=True)]):
        assert piece.origin is not None
        notes.merge(piece.origin.notes)
        events += codec.decode_lines(piece.data) if piece.data else []
    return events, notes


def tallies(text: str | bytes, name: str) -> list[TallyEvent]:
    """The tallies of an input; none where it holds nothing."""
    try:
        return [event for event in imported(text, name)[0] if isinstance(event, TallyEvent)]
    except InputError:
        return []


def part_of(event: TallyEvent, whole: TallyEvent) -> bool:
    """Whether a tally says nothing that the other one does not say, apart from the line it stood on."""
    said, known = (
        {name: value for name, value in msgspec.structs.asdict(item).items() if value is not None and name != "line"}
        for item in (event, whole)
    )
    printed, could = (fields.pop("printed", {}) for fields in (said, known))
    return all(known.get(name) == value for name, value in said.items()) and printed.items() <= could.items()


def noted(notes: Notes, code: str) -> list[str]:
    """The texts noted under a code."""
    return [place.text for place in notes.places.get(code, [])]


def truncated(text: str, seed: int, number: int = 20) -> Iterator[str]:
    """The text, cut off at random places."""
    chance = random.Random(seed)
    yield from (text[: chance.randrange(len(text) + 1)] for _ in range(number))


def interleaved(text: str, seed: int) -> str:
    """Two workers that write the text at once, in parts of random length."""
    chance = random.Random(seed)
    parts, at = [], [0, 0]
    while min(at) < len(text):
        which = chance.randrange(2)
        length = chance.randrange(1, 200)
        parts.append(text[at[which] : at[which] + length])
        at[which] += length
    return "".join(parts)


def damaged(text: str, seed: int) -> bytes:
    """The text with random bytes in random places."""
    chance = random.Random(seed)
    data = bytearray(text.encode())
    for _ in range(chance.randrange(1, 20)):
        if data:
            data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def known(name: str) -> Importer:
    """The importer of this name."""
    return importers()[name]


def all_fixtures() -> list[tuple[str, str]]:
    """(importer, clean input) of every importer, from the test modules of this folder."""
    folder = Path(__file__).parent
    for module in sorted(folder.glob("test_*.py")):
        if "register(" in module.read_text(encoding="utf-8") or "refuse(" in module.read_text(encoding="utf-8"):
            importlib.import_module(f"tests.importers.{module.stem}")
    return [(name, text) for name, texts in sorted(FIXTURES.items()) for text in texts]


def said(event: TallyEvent) -> bytes:
    """What a tally says, without the line it stood on."""
    return msgspec.json.encode(msgspec.structs.replace(event, line=None))
