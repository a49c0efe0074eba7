"""Ollama: the record of its MLX runner, and the log of the llama-server that it starts for other models.

Source: Ollama fb307609, the record `speculative decode stats` at debug level, one for each request; its other runner hands the lines of llama-server
through as they are. Of the runner's iterations some may have had no draft: they count as rounds, since that is what it divides by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from specdiag.importers.fields import digits
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.layout import layout
from specdiag.importers.llama_log import MARKERS, OURS, SLOG, Log
from specdiag.importers.source import Sighting, Source
from specdiag.trace.events import TallyEvent

MARKER = 'msg="speculative decode stats"'
LINE = layout(
    " iterations=<rounds:int> drafted=<proposed:int> accepted=<accepted:int> acceptance=<rate:f2> avg_draft=<draft:f2>"
    "{? max_draft=<most:int> avg_accepted=<length:f2> depth_over_time=?}"
)


def read(source: Source) -> Iterator[Output]:
    """One request a record of the MLX runner; what llama-server wrote as it is read elsewhere."""
    log = Log()
    for seen in source.sightings(MARKER, *MARKERS):
        if seen.marker == MARKER:
            yield from log.end()
            yield from _record(seen)
        else:
            yield from log.take(seen)
    yield from log.end()


def _record(seen: Sighting) -> Iterator[Output]:
    found = LINE.match(seen.text)
    counts = [digits(found[name]) for name in ("rounds", "proposed", "accepted")] if found else [None]
    most = digits(found["most"] or "") if found else None
    if not found or None in counts:
        yield Trouble(seen.line, "report_unreadable", (seen.marker + seen.text).partition("\n")[0])
        return
    rounds, proposed, accepted = (number or 0 for number in counts)
    if most is not None and proposed > most * rounds:
        yield Trouble(seen.line, "not_counts", f"{proposed} drafted in {rounds} iterations of {most} at most")
        return
    event = TallyEvent(
        drafter=DRAFTER,
        window="request",
        request=f"line-{seen.line}",
        requests=1,
        rounds=rounds,
        proposed=proposed,
        accepted=accepted,
        definitions="ollama",
        printed={"acceptance": found["rate"]} | ({"avg_accepted": found["length"]} if found["length"] else {}),
    )
    yield from told(seen.line, event)


_MLX = re.compile(rb'msg="speculative decode stats"\s+iterations=')

IMPORTERS = (
    Importer(
        name="ollama/log",
        reads="the log of Ollama with OLLAMA_DEBUG=1 (`speculative decode stats` of the MLX runner), or with the lines of llama-server in it",
        carries="accepted and proposed tokens, and iterations, of each request; of llama-server what llama-cpp/log has",
        lacks="iterations without a draft, which count as rounds (MLX); output tokens (MLX)",
        recognise=lambda head: (
            _MLX.search(head) is not None or (OURS.search(head) is not None and SLOG.search(head) is not None)
        ),
        read=read,
    ),
)
