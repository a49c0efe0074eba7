"""ATOM: two lines of its log, of an interval and of all since the start.

Source: the scheduler's statistics in ATOM ffdf3bb5, and lines that a user pasted in ATOM#560. Every round proposes the same number of
drafts, the largest key of the distribution, and `Total Draft tokens` grows by it, so rounds are exact. The distribution is of rounds by
accepted tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from specdiag.importers.fields import digits
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.layout import layout, whole
from specdiag.importers.rounded import MOST_POSITIONS, Bounds, Rounds, bounds, fitted, may_be
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

MARKER = "[MTP Stats"
LINE = layout(
    " {?<interval:word> ?}] Average toks/fwd: <length:f2>, Accepted/Total Draft tokens: <accepted:int>/<proposed:int>, "
    "Acceptance rate: <rate:f2>%, Accepted tokens distribution: {<shares:shares>}"
)
_SHARE = re.compile(r"(\d+)\s*:\s*'([\d.]+%)'")


def read(source: Source) -> Iterator[Output]:
    """One tally a line."""
    for seen in source.sightings(MARKER):
        found = whole(LINE, seen.text)
        event = _tally(found) if found else None
        if event is None:
            yield Trouble(seen.line, "report_unreadable", seen.text.partition("\n")[0])
            continue
        yield from told(seen.line, event)


def _tally(line: re.Match[str]) -> TallyEvent | None:
    """None where the figures do not fit each other, as where two lines ran into one."""
    accepted, proposed, rate = digits(line["accepted"]), digits(line["proposed"]), f"{line['rate']}%"
    shares = _SHARE.findall(line["shares"])
    most = len(shares) - 1
    if line["interval"] not in (None, "Interval") or [key for key, _ in shares] != [
        str(key) for key in range(most + 1)
    ]:
        return None
    if accepted is None or not proposed or not 0 < most <= MOST_POSITIONS or proposed % most:
        return None
    if not may_be(accepted, proposed, bounds(rate)):
        return None
    found = _rounds(accepted, proposed, [bounds(share) for _, share in shares], bounds(line["length"]))
    return found and TallyEvent(
        drafter=DRAFTER,
        window="interval" if line["interval"] else "lifetime",
        rounds=proposed // most,
        proposed=proposed,
        accepted=accepted,
        reached=[*found.reached],
        max_draft_tokens=most,
        definitions="atom",
        printed={"Average toks/fwd": line["length"], "Acceptance rate": rate},
        estimated={"reached": found.reached_spread} if found.reached_spread else None,
    )


def _rounds(accepted: int, proposed: int, shares: list[Bounds], length: Bounds) -> Rounds | None:
    """Rounds by position, as the shares leave them: of i accepted tokens or more it is the sum of those of i, i + 1, …"""
    tails = [
        Bounds(low, high, shares[0].scale)
        for low, high in accumulate(
            ((share.low, share.high) for share in reversed(shares[1:])), lambda a, b: (a[0] + b[0], a[1] + b[1])
        )
    ]
    found = fitted(accepted, proposed, tails[::-1], length.less(1))
    return found if found and abs(found.rounds - proposed // len(tails)) <= found.spread else None


IMPORTERS = (
    Importer(
        name="atom/log",
        reads="the log of ATOM (`[MTP Stats Interval]`, `[MTP Stats         ]`)",
        carries="rounds, accepted and proposed tokens of each interval and since the start; rounds by position, as the shares leave them",
        lacks="output tokens; requests",
        recognise=lambda head: b"[MTP Stats" in head and b"toks/fwd" in head,
        read=read,
    ),
)
