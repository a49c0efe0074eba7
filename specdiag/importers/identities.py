"""What the counts of one tally say of each other: identities that hold where nothing was cut, padded, replayed or simulated.

Symbols: A accepted drafts, R rounds with a draft, D proposed drafts, G output tokens, n requests, γ drafts of a full block, S_i rounds that accepted
at least i drafts. Each round gives A_r drafts and one token of the verifier, and prefill gives one a request: G = n + A + R (without prefill's token
A + R). Source: these identities, and where engines break them, are in the reports named in docs/importers.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from specdiag.importers.interface import Found, Output, Trouble
from specdiag.trace.consistency import contradictions
from specdiag.trace.events import TallyEvent

PADDED = 3  # rounds of full length without one accepted draft, from which on they are worth a word
SIMULATED = 30  # rounds that step from always to never at one position, by no chance


def told(line: int, event: TallyEvent, *, prefill_token: bool = True) -> Iterator[Output]:
    """The event, and what its counts say; without the event where they contradict each other."""
    said = [*readings(line, event, prefill_token=prefill_token)]
    if not any(trouble.code == "not_counts" for trouble in said):
        yield Found(line, event)
    yield from said


def readings(line: int, event: TallyEvent, *, prefill_token: bool = True) -> Iterator[Trouble]:
    """What the counts of a tally say of each other. `not_counts`, and nothing else, where they rule each other out: it is to be left out.
    `prefill_token`: whether G holds the token that prefill samples for each request."""
    wrong = next(_ruled_out(event), None)
    if wrong:
        yield Trouble(line, "not_counts", wrong)
        return
    yield from _output(line, event, prefill_token)
    yield from _blocks(line, event)
    if _steps(event):
        yield Trouble(
            line, "simulated_acceptance", f"{event.rounds} rounds, of which {event.reached} came to each position"
        )


def _ruled_out(event: TallyEvent) -> Iterator[str]:
    """Sentences, each with two counts that cannot both be."""
    for _, text in contradictions(event):
        yield text
    accepted, rounds, proposed, most = event.accepted, event.rounds, event.proposed, event.max_draft_tokens
    reached, spread = event.reached or [], event.estimated or {}
    if rounds is not None and most is not None and "rounds" not in spread:
        for name, number in (("accepted", accepted), ("proposed", proposed)):
            if number is not None and number > most * rounds:
                yield f"{number} {name} in {rounds} rounds of {most} at most"
    whole = most is not None and len(reached) >= most
    if reached and whole and accepted is not None and "reached" not in spread and sum(reached) != accepted:
        yield f"{sum(reached)} accepted by position, {accepted} in all"
    if event.matched is not None and accepted is not None and accepted > event.matched:
        yield f"{accepted} accepted, {event.matched} matched"


def _output(line: int, event: TallyEvent, prefill_token: bool) -> Iterator[Trouble]:
    """Output tokens against what rounds gave. Without n, prefill's tokens are among the surplus, and the sentence says so."""
    accepted, rounds, output = event.accepted, event.rounds, event.completion_tokens
    if accepted is None or rounds is None or output is None:
        return
    requests = (event.requests or 0) if prefill_token else 0
    given = requests + accepted + rounds
    formula = f"{f'{requests} + ' if requests else ''}{accepted} + {rounds} = {given}"
    slack = sum((event.estimated or {}).get(name, 0) for name in ("accepted", "rounds"))
    if output < given - slack:
        yield Trouble(line, "output_below_counts", f"{output} tokens, {formula} by the counts: {given - output} fewer")
    elif output > given + slack:
        first = " (the first tokens of requests among them)" if prefill_token and event.requests is None else ""
        yield Trouble(
            line, "rounds_without_draft", f"{output} tokens, {formula} by the counts: {output - given} more{first}"
        )


def _blocks(line: int, event: TallyEvent) -> Iterator[Trouble]:
    """Proposed tokens against rounds of full length."""
    rounds, proposed, most = event.rounds, event.proposed, event.max_draft_tokens
    if rounds is None or proposed is None or not most or "proposed" in (event.estimated or {}):
        return
    slack = (event.estimated or {}).get("rounds", 0) * most
    if proposed < rounds * most - slack:
        yield Trouble(
            line, "blocks_cut_short", f"{proposed} proposed, {rounds} × {most} = {rounds * most} by full blocks"
        )
    elif event.accepted == 0 and rounds >= PADDED and proposed == rounds * most:
        yield Trouble(line, "padded_rounds", f"{rounds} rounds of {most}, 0 of {proposed} accepted")


def _steps(event: TallyEvent) -> bool:
    """Whether every round came to some position and none beyond the next one, in many rounds of full length."""
    rounds, reached = event.rounds, event.reached or []
    if rounds is None or rounds < SIMULATED or event.estimated or len(reached) < 2:
        return False
    between = sum(0 < number < rounds for number in reached)
    full = event.proposed is None or not event.max_draft_tokens or event.proposed == rounds * event.max_draft_tokens
    return full and reached[0] == rounds and reached[-1] == 0 and between <= 1
