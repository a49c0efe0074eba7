"""What reading gives: one tally, the headers, the inputs and the notes; and how the tally is kept apart by slices."""

from __future__ import annotations

from dataclasses import dataclass, field

from specdiag.measure.engine_printed import PrintedFigures
from specdiag.measure.tally import Tally
from specdiag.trace.events import Trace
from specdiag.trace.notes import Notes

LINE_BITS = 40  # a place holds (input << LINE_BITS) + line


@dataclass(slots=True)
class InputCount:
    """One input as far as it was read."""

    name: str
    format: str = ""
    bytes: int = 0
    lines: int = 0
    events: dict[str, int] = field(default_factory=dict)
    digest: tuple[int, int] = (0, 0)  # of everything counted, and how many blocks that was


@dataclass(slots=True)
class Collected:
    """Everything that was read: one tally, the headers by epoch, the inputs, the notes, and the figures that engines printed without counts."""

    tally: Tally
    headers: dict[int, Trace]
    inputs: list[InputCount]
    notes: Notes
    printed: PrintedFigures

    def same_evidence(self) -> list[int]:
        """Inputs that hold exactly what an earlier one held: their requests and counts are the same."""
        seen: set[tuple[int, int]] = set()
        out = []
        for number, item in enumerate(self.inputs):
            if item.digest[1]:
                if item.digest in seen:
                    out.append(number)
                seen.add(item.digest)
        return out


@dataclass(frozen=True, slots=True)
class Slices:
    """The dimensions of `--by` that the tally must keep apart: `branch`, `label` (all labels of the trace) or `label:NAME`."""

    wanted: tuple[str, ...] = ()

    def of(self, branch: str, header: Trace | None) -> tuple[str, ...]:
        """The slice of a block of this branch under this header."""
        labels = header.slices if header else {}
        return tuple(self._value(dimension, branch, labels) for dimension in self.wanted)

    def _value(self, dimension: str, branch: str, labels: dict[str, str]) -> str:
        if dimension == "branch":
            return branch
        if dimension == "label":
            return ", ".join(f"{name}={value}" for name, value in sorted(labels.items())) or "(no label)"
        return labels.get(dimension.partition(":")[2], "(no such label)")
