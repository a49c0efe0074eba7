"""TensorRT-LLM: the statistics of its iterations, from `llm.get_stats()` or the `/metrics` endpoint of its server, as a JSON list or one a line.

Source: `SpecDecodingStats` in cpp/include/tensorrt_llm/executor/types.h and its users in tensorrt_llm/_torch/pyexecutor, as of September 2026 (not
pinned to a release). Of an iteration: A and D of all its requests, and R, the requests with drafts. An iteration without drafts has a length of
0.0, or 1.0 in an older executor: it is passed over. Mean lengths of iterations are not averaged; sums are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from specdiag.importers.fields import count, number_text
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.nested import enclosed
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

PROPOSED, ACCEPTED, ROUNDS = "numDraftTokens", "numAcceptedTokens", "numRequestsWithDraftTokens"
LENGTH = "acceptanceLength"
LONGEST_TEXT = 1 << 20  # of an iteration that was written as JSON inside of JSON


def read(source: Source) -> Iterator[Output]:
    """A tally for each iteration with drafts."""
    for line, value in source.values():
        for one in enclosed(_unpacked(value), PROPOSED):
            if ACCEPTED in one.record:
                yield from _iteration(line, one.record)


def _unpacked(value: Any) -> Any:
    """`get_stats` of some releases gives each iteration as a text."""
    if not isinstance(value, str) or not value.startswith("{") or len(value) > LONGEST_TEXT:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _iteration(line: int, stats: dict[str, Any]) -> Iterator[Output]:
    proposed, accepted, rounds = (count(stats.get(name)) for name in (PROPOSED, ACCEPTED, ROUNDS))
    if proposed is None or accepted is None or (rounds is None and ROUNDS in stats):
        yield Trouble(line, "report_unreadable", f"{PROPOSED}, {ACCEPTED} or {ROUNDS} is no count")
        return
    if not proposed:
        if accepted:
            yield Trouble(line, "not_counts", f"{accepted} accepted of none")
        return
    if rounds == 0:
        yield Trouble(line, "not_counts", f"{proposed} proposed for no request")
        return
    length = number_text(stats.get(LENGTH))
    yield from told(
        line,
        TallyEvent(
            drafter=DRAFTER,
            window="interval",
            rounds=rounds,
            proposed=proposed,
            accepted=accepted,
            definitions="trtllm",
            printed={LENGTH: length} if length else None,
        ),
    )


IMPORTERS = (
    Importer(
        name="trtllm/stats",
        reads="iteration statistics with `specDecodingStats` (`llm.get_stats()`, `/metrics`; a JSON list, or one a line)",
        carries="rounds, proposed and accepted tokens of each iteration with drafts",
        lacks="output tokens, rounds by accepted tokens, the length of a full block; iterations that the bounded queue of the endpoint dropped",
        recognise=lambda head: b"specDecodingStats" in head and PROPOSED.encode() in head,
        read=read,
    ),
)
