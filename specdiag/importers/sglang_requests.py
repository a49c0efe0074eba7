"""SGLang: what a response says of its request: `meta_info`, or `sglext.spec_tokens_details` of the endpoints of OpenAI's kind.

Source: managers/tokenizer_manager.py of 0.5.3, 0.5.5, 0.5.10, 0.5.12 and 0.5.23 (the names changed three times), entrypoints/openai/protocol.py of
0.5.23; threads sglang#13754, #24965, #33518. Every round verifies a full block, so D = R * K. Counts are not cut at a stop, output tokens are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from specdiag.importers.fields import count, counts, no_count, number_text, record, text
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.nested import Enclosed, enclosed
from specdiag.importers.sglang_rule import LONGEST, NEWER, OLDER
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

ROUNDS = "spec_verify_ct"
ACCEPTED = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num")  # the newest first
PROPOSED = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num")
HISTOGRAM = ("spec_correct_drafts_histogram", "spec_accept_histogram")
PRINTED = ("spec_accept_length", "spec_accept_rate")

_OURS = re.compile(rb'"spec_verify_ct"\s*:\s*\d')


def read(source: Source) -> Iterator[Output]:
    """A tally for each request."""
    for line, value in source.values():
        found = [*enclosed(value, ROUNDS)]
        own = [one for one in found if one.name == "meta_info"]
        for number, one in enumerate(own or found):
            alone = len(own or found) == 1
            yield from request(line, one, alone=alone, suffix="" if alone or one.name == "meta_info" else f"/{number}")


def request(line: int, found: Enclosed, *, alone: bool = True, suffix: str = "") -> Iterator[Output]:
    """The tally of one record, and what its counts say. `alone`: whether `usage` of the response is of this request only."""
    meta = found.record
    if "finish_reason" in meta and meta["finish_reason"] is None:
        return  # a part of a stream: the last one has it all
    rounds = count(meta.get(ROUNDS))
    output = count(meta.get("completion_tokens"))
    if output is None and alone:
        output = count(record(found.value("usage")).get("completion_tokens"))
    if rounds is None:
        yield Trouble(line, "no_count", no_count(meta, ROUNDS, within=f"{found.name}." if found.name else ""))
        return
    event = TallyEvent(
        drafter=DRAFTER,
        window="request",
        request=f"{text(found.value('id')) or text(found.value('rid')) or f'line-{line}'}{suffix}",
        requests=1,
        rounds=rounds,
        completion_tokens=output,
        definitions=OLDER if _older(meta) else NEWER,
    )
    replica = count(meta.get("dp_rank"))
    event.source = None if replica is None else f"DP{replica}"
    wrong = _counted(meta, event)
    if wrong:
        yield Trouble(line, "not_counts", wrong)
        return
    yield from told(line, event)


FEW = 4  # rounds, below which a token or two more than the counts give may have another reason


def _older(meta: dict[str, Any]) -> bool:
    return any(name in meta for name in ("spec_accept_token_num", "spec_draft_token_num")) or (
        PRINTED[1] in meta and not any(name in meta for name in (*ACCEPTED, *PROPOSED))
    )


def _counted(meta: dict[str, Any], event: TallyEvent) -> str:
    """Put the counts of a record into its event. What rules out what, where they cannot be."""
    rounds, output = event.rounds or 0, event.completion_tokens
    printed = {name: digits for name in PRINTED if (digits := number_text(meta.get(name)))}
    accepted, proposed = _first(meta, ACCEPTED), _first(meta, PROPOSED)
    if not rounds:
        return "" if not accepted else f"{accepted} accepted in no round"
    if proposed:
        event.accepted, event.proposed = accepted, proposed
        event.max_draft_tokens = None if proposed % rounds else proposed // rounds
    elif output is not None and number_text(meta.get(PRINTED[0])) not in (None, "0", "0.0"):
        wrong = _of_rate(meta.get(PRINTED[1]), rounds, output, event)
        if wrong:
            return wrong
        if event.accepted is not None:
            printed.pop(PRINTED[1], None)  # it was used up
    elif accepted:
        event.accepted = accepted
    else:  # 0, 0.0: what is filled in where nothing was counted
        printed = {}
    event.printed = printed or None
    return _histogram(meta, event) or _uncounted(event)


def _histogram(meta: dict[str, Any], event: TallyEvent) -> str:
    """Rounds by accepted drafts: the list ends with the most that a round accepted."""
    histogram = next((found for name in HISTOGRAM if (found := counts(meta.get(name)))), None)
    if not histogram:
        return ""
    rounds, accepted = sum(histogram), sum(number * length for length, number in enumerate(histogram))
    if rounds != event.rounds:
        return f"the histogram has {rounds} rounds, {ROUNDS} {event.rounds}"
    if event.accepted is not None and accepted != event.accepted:
        return f"the histogram has {accepted} accepted tokens, the record {event.accepted}"
    reached = [*accumulate(reversed(histogram[1:]))][::-1]
    event.accepted = accepted
    event.reached = reached + [0] * (min(event.max_draft_tokens or 0, LONGEST) - len(reached))
    return ""


def _uncounted(event: TallyEvent) -> str:
    """Accepted drafts that the engine did not count, which its output tokens show: a round without a draft there is none of in SGLang, so that output
    is at most 1 + A + R, and one token more for each time that the request was retracted."""
    rounds, accepted, output = event.rounds or 0, event.accepted, event.completion_tokens
    if accepted is None or output is None:
        return ""
    more = output - 1 - accepted - rounds
    formula = f"{output} output tokens, 1 + {accepted} + {rounds} = {1 + accepted + rounds} by the counts"
    if more >= 2 and more * 10 >= rounds and accepted == 0:
        return f"{formula}: accepted tokens were not counted (NGRAM in 0.5.4 and 0.5.5)"
    if rounds >= FEW and abs(more - rounds) <= (rounds >= 2 * FEW):
        return f"{formula}: one accepted token in each round was not counted (NGRAM up to 0.5.11)"
    return ""


def _of_rate(rate: Any, rounds: int, output: int, event: TallyEvent) -> str:
    """0.5.4 and 0.5.5 give A / (R * steps) with all its digits, and no A. Output is 1 + A + R, less what a stop cut off, which is less than a round:
    that leaves A and the number of steps, or nothing."""
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        return ""
    least = output - 1 - rounds
    if not rate:
        event.accepted = 0
        return ""
    fits = []
    for steps in range(1, LONGEST + 1):
        accepted = round(rate * rounds * steps)
        if abs(accepted / (rounds * steps) - rate) <= 1e-12 and 0 <= accepted - least <= steps:
            fits.append((accepted, steps))
    if len(fits) == 1:
        event.accepted, event.max_draft_tokens = fits[0]
    return ""


def _first(meta: dict[str, Any], names: tuple[str, ...]) -> int | None:
    return next((found for name in names if (found := count(meta.get(name))) is not None), None)


IMPORTERS = (
    Importer(
        name="sglang/response",
        reads="responses with `meta_info` or `sglext.spec_tokens_details` (0.5.3 to 0.5.23; JSON, JSONL, a list, a stream of "
        "events, lines of the JSON request log)",
        carries="rounds and output tokens of each request; from 0.5.6 on proposed and accepted tokens, from 0.5.9 on rounds by accepted tokens",
        lacks="order of rounds; accepted tokens up to 0.5.3 (in 0.5.4 and 0.5.5 they follow from rate and output)",
        recognise=lambda head: _OURS.search(head) is not None,
        read=read,
    ),
)
