"""ExLlama: the line of tabbyAPI's log.

Source: tabbyAPI e632af41 (the layout); exllamav2 da07facd and exllamav3 4f8ad012, whose counters it prints: drafted is accepted + rejected, and
rejected leaves out what stands behind the end of the output.
"""

from __future__ import annotations

from collections.abc import Iterator

from specdiag.importers.interface import DRAFTER, Found, Importer, Output, Trouble
from specdiag.importers.layout import layout, whole
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

MARKER = "Draft: "
LINE = layout("<accepted:int> / <proposed:int> tokens accepted (<rate:f2>%)")


def read(source: Source) -> Iterator[Output]:
    """One request a line."""
    for seen in source.sightings(MARKER):
        found = whole(LINE, seen.text)
        if found is None:
            if "tokens accepted" in seen.text:
                yield Trouble(seen.line, "report_unreadable", seen.text.partition("\n")[0])
            continue
        yield Found(
            seen.line,
            TallyEvent(
                drafter=DRAFTER,
                window="request",
                requests=1,
                accepted=int(found["accepted"]),
                proposed=int(found["proposed"]),
                definitions="exllama",
                printed={"accepted": f"{found['rate']}%"},
            ),
        )


IMPORTERS = (
    Importer(
        name="exllama/tabby-log",
        reads="the log of tabbyAPI (`Draft: A / D tokens accepted`)",
        carries="accepted and proposed tokens of each request",
        lacks="rounds, so no acceptance length; proposals behind the end of the output",
        recognise=lambda head: b"tokens accepted (" in head and MARKER.encode() in head,
        read=read,
    ),
)
