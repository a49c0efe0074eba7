"""ExLlama and tabbyAPI: a line of tabbyAPI's log, its answers, and the last result of a job.

Source: tabbyAPI e632af41 (the line, and the keys of its metrics) and tabbyAPI#452 (usage of answers); exllamav2 da07facd and exllamav3
4f8ad012, whose counters all of these are: drafted is accepted + rejected, and rejected leaves out what stands behind the end of the output.
exllamav3 with `record_draft_stats` keeps (position, drafts, accepted, …) of each round in the job (generator.py); a dump of it is read
under `draft_stats`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from specdiag.importers.fields import count, counts, digits, record, text
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Found, Importer, Output, Trouble
from specdiag.importers.layout import layout, whole
from specdiag.importers.nested import holders
from specdiag.importers.rounded import bounds, may_be
from specdiag.importers.source import Source
from specdiag.trace.events import Next, Proposal, TallyEvent, Verdict

MARKER = "Draft: "
LINE = layout("<accepted:int> / <proposed:int> tokens accepted (<rate:f2>%)")
NAMES = (("accepted_draft_tokens", "rejected_draft_tokens"), ("draft_accept", "draft_reject"))
PREDICTED = ("accepted_prediction_tokens", "rejected_prediction_tokens")
LARGEST = 1024  # drafts of one round; a number beyond it is none


class Round(NamedTuple):
    """Where the block of a round starts in the output, its drafts, and how many were accepted."""

    start: int
    drafts: int
    accepted: int


def read(source: Source) -> Iterator[Output]:
    """One request a line."""
    for seen in source.sightings(MARKER):
        found = whole(LINE, seen.text)
        accepted, proposed = (digits(found["accepted"]), digits(found["proposed"])) if found else (None, None)
        rate = f"{found['rate']}%" if found else ""
        if accepted is None or proposed is None or (proposed and not may_be(accepted, proposed, bounds(rate))):
            if "tokens accepted" in seen.text:
                yield Trouble(seen.line, "report_unreadable", seen.text.partition("\n")[0])
            continue
        event = _tally(accepted, proposed - accepted)
        event.printed = {"accepted": rate} if proposed else None
        yield from told(seen.line, event)


def read_jobs(source: Source) -> Iterator[Output]:
    """One request for each object with the two counters; its rounds, where they were recorded."""
    for line, value in source.values():
        jobs = ((names, job) for names in NAMES for job in holders(value, *names))
        seen: set[int] = set()
        for names, job in jobs:
            if id(job) not in seen:  # with both spellings
                seen.add(id(job))
                yield from _job(line, job, *names)


def _job(line: int, job: dict[str, Any], accepting: str, rejecting: str) -> Iterator[Output]:
    accepted, rejected = count(job[accepting]), count(job[rejecting])
    if accepted is None or rejected is None:
        yield Trouble(line, "not_counts", f"{accepting} {job[accepting]!r:.40}, {rejecting} {job[rejecting]!r:.40}")
        return
    event = _tally(accepted, rejected)
    event.completion_tokens = count(job.get("new_tokens", job.get("gen_tokens")))
    event.request = _name(job.get("identifier")) or _name(job.get("serial"))
    if event.completion_tokens is not None and event.completion_tokens < accepted:
        # Tokens that a banned string took back are among the accepted ones, not in the output.
        yield Trouble(line, "output_below_counts", f"{event.completion_tokens} tokens, {accepted} of them drafts")
    rounds = _rounds(job.get("draft_stats"))
    if rounds is None or sum(each.accepted for each in rounds) > accepted:
        yield Trouble(line, "report_unreadable", "draft_stats")
        rounds = []
    event.request = event.request or (f"line-{line}" if rounds else None)
    yield from _events(line, event.request or "", rounds)
    yield from told(line, event)


def _rounds(stats: Any) -> list[Round] | None:
    """The rounds of a job, empty where it has none recorded; None where they cannot be."""
    if stats is None:
        return []
    listed = (
        [counts(entry[:3]) if isinstance(entry, list) else None for entry in stats] if isinstance(stats, list) else []
    )
    entries = [entry for entry in listed if entry is not None and len(entry) == 3]
    if not listed or len(entries) < len(listed) or any(not a <= n <= LARGEST or not n for _, n, a in entries):
        return None
    if any(after[0] <= before[0] for before, after in pairwise(entries)):
        return None
    # The position is that behind the round, with the verifier's own token; where the first one is too small for that, that before it.
    behind = entries[0][0] > entries[0][2]
    return [Round(at - (accepted + 1 if behind else 0), drafts, accepted) for at, drafts, accepted in entries]


def _events(line: int, request: str, rounds: list[Round]) -> Iterator[Output]:
    for number, (start, drafts, accepted) in enumerate(rounds):
        name = f"{request}-{number}"
        yield Found(
            line,
            Proposal(id=name, request=request, round=number, drafter=DRAFTER, start=start, tokens=[-1] * drafts),
        )
        own = Next(token=-1, kind="bonus" if accepted == drafts else "correction")
        yield Found(line, Verdict(proposal=name, request=request, round=number, accepted=accepted, next=own))


def read_answers(source: Source) -> Iterator[Output]:
    """One request for each answer whose usage has the counters. Zeros where nothing was drafted say nothing."""
    for line, value in source.values():
        for answer in holders(value, "usage"):
            usage = record(answer["usage"])
            details = record(usage.get("completion_tokens_details"))
            accepted, rejected = (count(details.get(name)) for name in PREDICTED)
            if (
                "completion_tokens_per_sec" in usage
                and accepted is not None
                and rejected is not None
                and accepted + rejected
            ):
                event = _tally(accepted, rejected)
                event.completion_tokens, event.request = count(usage.get("completion_tokens")), text(answer.get("id"))
                yield from told(line, event)


def _tally(accepted: int, rejected: int) -> TallyEvent:
    return TallyEvent(
        drafter=DRAFTER,
        window="request",
        requests=1,
        accepted=accepted,
        proposed=accepted + rejected,
        definitions="exllama",
    )


def _name(value: Any) -> str | None:
    number = count(value)
    return text(value) if number is None else str(number)


_CARRIES, _LACKS = (
    "accepted and proposed tokens of each request",
    "rounds, so no acceptance length; proposals behind the end of the output",
)

IMPORTERS = (
    Importer(
        name="exllama/tabby-log",
        reads="the log of tabbyAPI (`Draft: A / D tokens accepted`)",
        carries=_CARRIES,
        lacks=_LACKS,
        recognise=lambda head: b"tokens accepted (" in head and MARKER.encode() in head,
        read=read,
    ),
    Importer(
        name="exllama/job",
        reads="last results of jobs of exllamav2 and exllamav3 as JSON (`accepted_draft_tokens`), or tabbyAPI's metrics (`draft_accept`)",
        carries=f"{_CARRIES}, and its output tokens; every round, where `draft_stats` of exllamav3 is in it",
        lacks=_LACKS,
        recognise=lambda head: b'"rejected_draft_tokens"' in head or b'"draft_reject"' in head,
        read=read_jobs,
    ),
    Importer(
        name="exllama/response",
        reads="answers of tabbyAPI (`usage.completion_tokens_details.accepted_prediction_tokens`)",
        carries=f"{_CARRIES}, and its output tokens",
        lacks=_LACKS,
        recognise=lambda head: b'"accepted_prediction_tokens"' in head and b'"completion_tokens_per_sec"' in head,
        read=read_answers,
    ),
)
