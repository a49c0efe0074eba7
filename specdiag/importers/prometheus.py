"""The text that a Prometheus endpoint gives, one scrape or many behind each other.

Source: the exposition format of Prometheus, version 0.0.4, and OpenMetrics, which adds `_created` (left out: a time, not a count).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from specdiag.importers.source import Source

_SAMPLE = re.compile(r"([A-Za-z_:][\w:]*)\s*(?:\{(.*)\})?\s+([^\s]+)(?:\s+-?[\d.]+)?\s*(?:#.*)?")
_LABEL = re.compile(r'\s*([A-Za-z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?')
_UNESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


class Sample(NamedTuple):
    """One line: its number, the value, and its labels."""

    line: int
    value: float
    labels: dict[str, str]


@dataclass(slots=True)
class Scrape:
    """The samples of one scrape that were asked for, by name."""

    samples: dict[str, list[Sample]] = field(default_factory=dict)

    def by(self, *labels: str) -> dict[tuple[str, ...], dict[str, list[Sample]]]:
        """The samples, apart by the values of these labels."""
        parts: dict[tuple[str, ...], dict[str, list[Sample]]] = {}
        for name, samples in self.samples.items():
            for sample in samples:
                key = tuple(sample.labels.get(label, "") for label in labels)
                parts.setdefault(key, {}).setdefault(name, []).append(sample)
        return parts


def scrapes(source: Source, prefix: str) -> Iterator[Scrape]:
    """Every scrape, with its samples whose names begin with `prefix`: a sample that comes again begins the next one."""
    current = Scrape()
    seen: set[tuple[object, ...]] = set()
    for number, line in source.rows():
        line = line.strip()
        if not line.startswith(prefix):
            continue
        found = _SAMPLE.fullmatch(line)
        if not found or found[1].endswith("_created"):
            continue
        if source.cut and number == source.lines and not found[3].endswith(".0"):
            continue  # the file ends within a line, and the number may go on
        labels = {
            name: re.sub(r"\\.", lambda m: _UNESCAPED.get(m[0], m[0]), value)
            for name, value in _LABEL.findall(found[2] or "")
        }
        try:
            value = float(found[3])
        except ValueError:
            continue
        if found[1].endswith("_total") and whole_number(value) is None:
            text = f"{found[1]}: expected a whole number from 0 on, got {found[3]}"
            source.notes.add("no_count", number, "$", text)
        key = (found[1], *sorted(labels.items()))
        if key in seen:
            yield current
            current, seen = Scrape(), set()
        seen.add(key)
        current.samples.setdefault(found[1], []).append(Sample(number, value, labels))
    if current.samples:
        yield current


def whole_number(value: float) -> int | None:
    """A counter; None where it is no count (NaN, negative, or a fraction)."""
    return int(value) if math.isfinite(value) and value >= 0 and value == int(value) else None
