"""Figures of intervals that have no counts beside them: nothing adds them up; what is said is how many there were, and between what they lay."""

from __future__ import annotations

from dataclasses import dataclass, field

from specdiag.importers.interface import Trouble


@dataclass(slots=True)
class Ratios:
    """How many intervals had figures alone, the line of the first, and the least and the greatest of each figure, as printed."""

    line: int = 0
    number: int = 0
    between: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add(self, line: int, printed: dict[str, str]) -> None:
        """The figures of one more interval: numbers as printed."""
        self.line = self.line or line
        self.number += 1
        for name, text in printed.items():
            low, high = self.between.get(name, (text, text))
            self.between[name] = (min(low, text, key=float), max(high, text, key=float))

    def said(self) -> list[Trouble]:
        """The note on them; none where there were none."""
        if not self.number:
            return []
        figures = ", ".join(
            f"{name} {low} to {high}" if low != high else f"{name} {low}" for name, (low, high) in self.between.items()
        )
        intervals = "1 interval" if self.number == 1 else f"{self.number:,} intervals"
        return [Trouble(self.line, "ratios_alone", f"{intervals}: {figures}")]
