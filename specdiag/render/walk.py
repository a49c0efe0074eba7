"""Every rate of a report, wherever it stands: so that no face forgets to say why a figure is missing.

A face shows a missing figure as a dash; the reason belongs in its list of what was not observed. Collecting the reasons
here, from the whole report, means that a new section cannot lose them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from specdiag.errors import IN_A_SENTENCE, cut
from specdiag.report import Drafter, Marginal, Rate, Report, Skipped, Slice, View

_SHOWN = 3
_JSON_ONLY = frozenset({"position_reach", "accepted_per_round", "committed_drafted_per_round"})


class Found(NamedTuple):
    """A rate, what it is a rate of (a drafter or a row of `--by`, empty for the pool), and over which view."""

    owner: str
    view: str
    rate: Rate


def rates(value: object, owner: str = "", view: str = "") -> Iterator[Found]:
    """All rates below `value`. Of a view without blocks only the first: the others are missing for the same reason."""
    if isinstance(value, Rate):
        yield Found(owner, view, value)
    elif isinstance(value, View) and not value.blocks:
        yield from (Found(owner, view, rate) for rate in list(value.rates.values())[:1])
    elif isinstance(value, Drafter):
        for name, part in value.views.items() if not value.engine_counts or value.views["all"].blocks else ():
            yield from rates(part, value.id, "" if name == "all" else name)
        yield from rates(value.engine_counts, value.id)
    elif isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            yield from rates(getattr(value, field), _owner(value) or owner, view)
    elif isinstance(value, (Mapping, list)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from rates(item, owner, view)


def _owner(value: msgspec.Struct) -> str:
    if isinstance(value, Marginal):
        return value.drafter
    if isinstance(value, Slice):
        return ", ".join(f"{key}={item}" for key, item in value.by.items())
    return ""


def not_observed(report: Report) -> list[Skipped]:
    """What the report skipped, then every rate without a value: its name, for whom it is missing, and why."""
    said = {(skipped.what, skipped.reason) for skipped in report.skipped}
    whose: dict[tuple[str, str], dict[str, None]] = {}
    whole = report if report.has_rounds else [*report.drafters, report.consensus]
    for owner, view, rate in rates(whole):
        if rate.value is None and (rate.name, rate.absent) not in said:
            name = f"{rate.name}, {view}" if view else rate.name
            whose.setdefault((name, rate.absent or "no reason given"), {})[owner] = None
    together: dict[tuple[str, str], list[str]] = {}
    for (name, reason), owners in whose.items():
        together.setdefault((_few([cut(owner, IN_A_SENTENCE) for owner in owners if owner]), reason), []).append(name)
    listed = [Skipped(_few(names) + (f" ({of})" if of else ""), why) for (of, why), names in together.items()]
    return [*report.skipped, *listed]


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return "; ".join(names[:_SHOWN]) + more


def explained(report: Report) -> list[tuple[str, str]]:
    """Name and definition of every rate that has a value and is shown to people, in the order of the report."""
    present = {found.rate.name for found in rates(report) if found.rate.value is not None}
    # One definition serves a family of rates, such as tokens_per_second_of_<drafter>.
    families = present - report.definitions.keys()
    return [
        (name, text)
        for name, text in report.definitions.items()
        if name not in _JSON_ONLY and (name in present or any(each.startswith(f"{name}_") for each in families))
    ]
