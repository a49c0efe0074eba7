"""The table of figures that SpecForge publishes (spec bundle): lengths and throughputs of many verifiers, benchmarks, settings and drafters.

Source: sgl-project/SpecForge, the data behind its page. There are no counts, so nothing of it adds up. Names stand as they are written: the runs
without a drafter are "Wihtout EAGLE3", and one drafter has two spellings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from specdiag.importers.fields import number_text, record, text
from specdiag.importers.interface import Found, Importer, Output, Trouble
from specdiag.importers.ratios import Ratios
from specdiag.importers.source import Source
from specdiag.importers.specforge import TABLE, Setting, alone_told, has_lengths
from specdiag.trace.events import SCHEMA, DrafterInfo, TallyEvent, Trace, VerifierInfo

_WITHOUT = re.compile(r"wi(?:th|ht)out\b", re.IGNORECASE)


def read(source: Source) -> Iterator[Output]:
    """A tally for each printed length. There are no counts: what it says is what was printed."""
    begun = False
    for line, value in source.values():
        rows = [*_rows(record(value))]
        names: dict[str, list[str]] = {}
        for _, _, _, name, _ in rows:
            alike = names.setdefault(re.sub(r"[\s_-]+", "", name).casefold(), [])
            if name not in alike:
                alike.append(name)
        verifiers = list(dict.fromkeys(verifier for verifier, *_ in rows))
        if rows and not begun:
            only = VerifierInfo(model=verifiers[0]) if len(verifiers) == 1 else None
            drafters = [DrafterInfo(name, model=name) for spellings in names.values() for name in spellings]
            yield Found(line, Trace(schema=SCHEMA, drafters=drafters, verifier=only))
            begun = True
        alone: dict[str, Ratios] = {}
        for verifier, benchmark, setting, name, length in rows:
            printed = {"accept_length": length}
            alone.setdefault(name, Ratios()).add(line, printed)
            yield Found(
                line,
                TallyEvent(
                    source=", ".join((verifier, benchmark, setting.name)),
                    drafter=name,
                    window="interval",
                    max_draft_tokens=setting.most,
                    definitions="specforge",
                    printed=printed,
                ),
            )
        yield from alone_told(alone)
        for spellings in names.values():
            if len(spellings) > 1:
                yield Trouble(line, "drafter_respelled", " and ".join(spellings))


def _rows(whole: dict[str, Any]) -> Iterator[tuple[str, str, Setting, str, str]]:
    """(verifier, benchmark, setting, drafter, length) of every run with a drafter."""
    for verifier, benchmarks in whole.items():
        for benchmark, table in record(benchmarks).items():
            runs = record(table).get("results")
            for run in runs if isinstance(runs, list) else []:
                metrics = record(run).get("metrics")
                for metric in map(record, metrics if isinstance(metrics, list) else []):
                    name, length = text(metric.get("Name")), number_text(metric.get("accept_length"))
                    if name and length and not _WITHOUT.match(name):
                        yield verifier, benchmark, Setting.of(record(run)), name, length


IMPORTERS = (
    Importer(
        name="specforge/bundle",
        reads="the table of acceptance lengths and throughputs that SpecForge publishes (spec bundle)",
        carries="printed acceptance lengths of each verifier, benchmark, setting and drafter",
        lacks="all counts; the runs without a drafter are left out",
        recognise=lambda head: has_lengths(head) and TABLE.search(head) is not None,
        read=read,
    ),
)
