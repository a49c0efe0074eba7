"""FastDeploy: the `speculate_metrics` of an answer.

Source: fastdeploy/output/token_processor.py, of a stored copy without a release, and FastDeploy#5947 (`accepted_tokens_per_head`, with a
sample). `accepted_tokens` holds the verifier's own tokens: it is A + R. Head 0 counts the steps that gave a token, of which one is prefill
where one node does prefill and decode, so R may hold one round that judged nothing. `rejected_tokens` is steps · (K + 1) -
`accepted_tokens`: blocks are taken to be full.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from specdiag.importers.fields import count, counts, number_text, record, text
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.nested import holders
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

EXACT = Fraction(1, 10**9)  # of a ratio that was written with all its digits


def read(source: Source) -> Iterator[Output]:
    """One request for each `speculate_metrics`; of a streamed answer only its last piece has them."""
    for line, value in source.values():
        answer = record(value)
        choices = answer.get("choices")
        usage = record(answer.get("usage")) if isinstance(choices, list) and len(choices) == 1 else {}
        for metrics in holders(value, "accepted_tokens", "rejected_tokens", "accept_ratio"):
            yield from _request(line, metrics, text(answer.get("id")), count(usage.get("completion_tokens")))


def _request(line: int, metrics: dict[str, Any], request: str | None, output: int | None) -> Iterator[Output]:
    event = _tally(metrics)
    if event is None:
        yield Trouble(line, "not_counts", repr(metrics)[:160])
        return
    event.request, event.completion_tokens = request, output
    yield from told(line, event, prefill_token=False)


def _tally(metrics: dict[str, Any]) -> TallyEvent | None:
    """None where the numbers do not fit each other."""
    emitted, rejected = count(metrics.get("accepted_tokens")), count(metrics.get("rejected_tokens"))
    heads = counts(metrics.get("accepted_tokens_per_head"))
    derived = heads is None
    if not emitted or rejected is None:
        return None
    steps = _whole(emitted, metrics.get("average_accept_length"), divide=True) or (heads[0] if heads else 0)
    if not steps or (emitted + rejected) % steps or emitted + rejected < steps:
        return None
    most = (emitted + rejected) // steps - 1
    if heads is None:
        heads = _heads(steps, most, metrics.get("accept_ratio_per_head"))
    if heads is not None and (len(heads) > most + 1 or sum(heads) != emitted):
        return None
    rounds = heads[0] if heads else steps
    hazards = metrics.get("accept_ratio_per_head")
    printed = {
        "accept_ratio": metrics.get("accept_ratio"),
        "average_accept_length": None if derived else metrics.get("average_accept_length"),
    }
    if not derived and isinstance(hazards, list):
        # Behind the last head that anything reached it writes 0 for 0 / 0.
        printed |= {f"accept_ratio_per_head[{i}]": hazard for i, hazard in enumerate(hazards[:most], 1)}
    return TallyEvent(
        drafter=DRAFTER,
        window="request",
        requests=1,
        rounds=rounds,
        proposed=rounds * most,
        accepted=emitted - rounds,
        reached=[*heads[1:], *[0] * (most + 1 - len(heads))] if heads else None,
        max_draft_tokens=most,
        definitions="fastdeploy",
        printed={name: said for name, rate in printed.items() if (said := number_text(rate)) is not None} or None,
    )


def _whole(base: int, ratio: Any, divide: bool = False) -> int | None:
    """The whole number that this ratio makes of `base`, or that `base` is divided by to give it; None where there is none."""
    said = number_text(ratio)
    if said is None or (divide and float(said) <= 0) or float(said) < 0:
        return None
    exact = Fraction(said)
    found = round(base / exact if divide else base * exact)
    back = Fraction(base, found) if divide and found else Fraction(found, base) if not divide and base else None
    return found if back is not None and abs(back - exact) <= EXACT * max(exact, Fraction(1)) else None


def _heads(steps: int, most: int, hazards: Any) -> list[int] | None:
    """Steps by head, from the ratios of each to the one before: of releases that do not give them."""
    heads = [steps]
    for hazard in hazards if isinstance(hazards, list) and len(hazards) == most else [None]:
        found = _whole(heads[-1], hazard) if heads[-1] else 0
        if found is None:
            return None
        heads.append(found)
    return heads


IMPORTERS = (
    Importer(
        name="fastdeploy/response",
        reads="answers of FastDeploy (`speculate_metrics`)",
        carries="rounds, accepted tokens, rounds by position of each request; proposed tokens, if every block was full",
        lacks="whether prefill is one of its rounds, and whether blocks were full (those of n-gram are not)",
        recognise=lambda head: b'"speculate_metrics"' in head or b'"accepted_tokens_per_head"' in head,
        read=read,
    ),
)
