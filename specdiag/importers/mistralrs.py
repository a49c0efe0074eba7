"""mistral.rs: the line of its log, which has rates alone, and its counters.

Source: mistralrs-core/src/engine/logger.rs of 0.9.2 (`MTP accept`, `len`) and of a later commit, 0003cf35 (with `depth`, proposed tokens a
round). The counters grow as the engine verifies; the line gives what was counted since the line before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from specdiag.importers.counters import Counters
from specdiag.importers.interface import DRAFTER, Found, Importer, Output, Trouble
from specdiag.importers.layout import layout, whole
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

MARKER = "MTP accept "
LINE = layout("<rate:f1>% (len <length:f2>{?, depth <depth:f1>?}), <running:int> running, <waiting:int> waiting")


def read(source: Source) -> Iterator[Output]:
    """One interval a line. It has no counts: what it prints is kept, and nothing else is said of the interval."""
    for seen in source.sightings(MARKER):
        found = whole(LINE, seen.text)
        if found is None or not _fits(found):
            if "% (len" in seen.text:
                yield Trouble(seen.line, "report_unreadable", seen.text.partition("\n")[0])
            continue
        printed = {"MTP accept": f"{found['rate']}%", "len": found["length"]}
        if found["depth"]:
            printed["depth"] = found["depth"]
        yield Found(seen.line, TallyEvent(drafter=DRAFTER, window="interval", definitions="mistralrs", printed=printed))


def _fits(line: re.Match[str]) -> bool:
    """Whether its figures can be of one window: one of two lines that ran into each other has digits of both."""
    rate, length = Fraction(line["rate"]) / 100, Fraction(line["length"])
    if rate > 1 or length < 1:
        return False
    if not line["depth"]:
        return True
    depth = Fraction(line["depth"])  # len = 1 + rate · depth, each rounded
    return abs(length - 1 - rate * depth) <= Fraction("0.0051") + Fraction("0.00051") * depth + Fraction("0.051") * rate


COUNTERS = Counters(
    prefix="mistralrs_speculative_",
    definitions="mistralrs",
    rounds="mistralrs_speculative_drafts_total",
    proposed="mistralrs_speculative_draft_tokens_proposed_total",
    accepted="mistralrs_speculative_draft_tokens_accepted_total",
    by_position="mistralrs_speculative_draft_tokens_accepted_per_pos_total",
)

IMPORTERS = (
    Importer(
        name="mistralrs/log",
        reads="the log of mistral.rs from 0.9.2 on (`MTP accept P% (len L)`)",
        carries="the rates that it prints, of each interval",
        lacks="counts of any kind: they are in `mistralrs/metrics`",
        recognise=lambda head: b"MTP accept " in head and b"% (len " in head,
        read=read,
    ),
    Importer(
        name="mistralrs/metrics",
        reads="what `/metrics` of mistral.rs from 0.9.2 on gives (`mistralrs_speculative_…`), one scrape or many",
        carries="rounds, accepted and proposed tokens, rounds by position, since the start",
        lacks="output tokens of the same rounds; the length of a full block; rounds without a draft; requests",
        recognise=lambda head: b"mistralrs_speculative_draft" in head,
        read=COUNTERS.read,
    ),
)
