"""What an importer is: a name, what it reads, how its input is recognised, and a function from an input to events.

An importer stores counts, never rates: what the engine printed goes into `printed` of the tally, and is compared with what the counts give. A
count that the input does not hold stays absent; one that follows from rounded figures only is in `estimated`, with how much it may be off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from specdiag.trace.events import Event

if TYPE_CHECKING:
    from specdiag.importers.source import Source

DRAFTER = "draft"  # where the engine does not name its only drafter


class Found(NamedTuple):
    """An event, and the line of the input that it was read from. A `Trace` event, if there is one, comes first, and only once."""

    line: int
    event: Event


class Trouble(NamedTuple):
    """What could not be read, or is worth knowing of what was: a code of the catalogue of notes, its line, and a word on it."""

    line: int
    code: str
    text: str = ""


Output = Found | Trouble


@dataclass(frozen=True, slots=True)
class Importer:
    """One kind of input of one engine.

    `name`: `engine/layout`, for `--from`, which also takes the engine alone. `reads`: the input, with the versions whose layout is known.
    `carries`, `lacks`: what it can and cannot tell, for the docs. `recognise`: whether this beginning of an input (up to a few MB, without
    escape sequences) is one; no input of another importer may pass, so it looks for what nobody else writes.
    """

    name: str
    reads: str
    carries: str
    lacks: str
    recognise: Callable[[bytes], bool]
    read: Callable[[Source], Iterator[Output]]

    @property
    def engine(self) -> str:
        """The part of the name before the slash."""
        return self.name.partition("/")[0]
