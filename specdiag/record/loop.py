"""The recording loop: requests, their rounds, and the steps that branches vote on. Seeded: the same plan writes the same proposals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specdiag.errors import UsageError
from specdiag.record import rounds, votes
from specdiag.record.lines import Line, Member, Prompt, Streams
from specdiag.record.logbook import Entry, Logbook
from specdiag.record.protocols import Verifier
from specdiag.record.topology import Topology, chains
from specdiag.record.verify import Judge, Rule, judge
from specdiag.record.votes import Voting


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run on each prompt. `max_tokens` bounds a request's output, `max_rounds` the rounds of each of its lines."""

    members: Sequence[Member]
    verifier: Verifier
    rule: Rule = Rule.rejection
    topology: Topology = Topology.chain
    partition: bool = False
    max_tokens: int = 64
    max_rounds: int | None = None
    voting: Voting | None = None
    seed: int = 0
    judge: Judge = judge


def record(plan: Plan, prompts: Sequence[Prompt], book: Logbook) -> list[Line]:
    """Run every prompt to its end and log it; the lines with their output, one for each request and branch that ended."""
    return [line for number, prompt in enumerate(prompts) for line in _request(plan, number, prompt, book)]


def _request(plan: Plan, number: int, prompt: Prompt, book: Logbook) -> list[Line]:
    trunk = _begun(plan, number, prompt)
    if plan.voting is not None:
        _voted(plan, plan.voting, trunk, book)
        return [trunk]
    if plan.topology is Topology.branches:
        lines = [votes.fork(trunk, m.drafter.name, m.number, "") for m in plan.members]
        for member, line in zip(plan.members, lines, strict=True):
            line.step = None
            while not _over(plan, line):
                book.write(_advanced(plan, line, [member]))
        return lines
    while not _over(plan, trunk):
        kept, *lost = chains(plan.topology, plan.members, trunk.round, plan.partition)
        shadows = [Entry.of(trunk, rounds.run(trunk, group, plan.verifier, plan.rule, plan.judge)) for group in lost]
        book.write(_advanced(plan, trunk, kept))
        for entry in shadows:
            book.write(entry, lost=True)
    return [trunk]


def _begun(plan: Plan, number: int, prompt: Prompt) -> Line:
    try:
        context = plan.verifier.tokenizer.encode(prompt.text)
    except ValueError as error:
        raise UsageError(
            f"prompt {prompt.id}: {error}", "Give a prompt that the verifier's tokenizer can split."
        ) from error
    if not context:
        raise UsageError(f"prompt {prompt.id} is empty", "Give some text to go on from.")
    return Line(prompt.id, context, prompt.text, plan.max_tokens, Streams(plan.seed, number))


def _over(plan: Plan, line: Line) -> bool:
    return line.stop is not None or line.room <= 0 or line.round == plan.max_rounds


def _advanced(plan: Plan, line: Line, members: Sequence[Member]) -> Entry:
    """Run a round and commit what it gave."""
    chain = rounds.run(line, members, plan.verifier, plan.rule, plan.judge)
    entry = Entry.of(line, chain)
    line.commit(chain.output, plan.verifier.tokenizer)
    line.stop = chain.stop
    line.round += 1
    return entry


def _voted(plan: Plan, voting: Voting, trunk: Line, book: Logbook) -> None:
    """Step by step: branches decode side by side, vote, and the request goes on from the winner's text or from the verifier's own."""
    step, played = 0, dict.fromkeys((m.number for m in plan.members), 0)
    branches: dict[int, Streams] = {}
    while not trunk.stop and trunk.room > 0 and (plan.max_rounds is None or max(played.values()) < plan.max_rounds):
        lines, entries = [], []
        for member in plan.members:
            line = votes.fork(trunk, member.drafter.name, member.number, f"s{step}")
            line.streams = branches.setdefault(member.number, line.streams)
            line.round = played[member.number]
            entries.append(_decoded(plan, voting, line, member))
            played[member.number] = line.round
            lines.append(line)
        _settled(plan, voting, trunk, lines, entries, book)
        step += 1


def _decoded(plan: Plan, voting: Voting, line: Line, member: Member) -> list[Entry]:
    """A branch's rounds up to the end of its step."""
    begin, before = len(line.data), len(line.context)
    entries = []
    while not line.stop and not voting.over(line.data[begin:], len(line.context) - before):
        entries.append(_advanced(plan, line, [member]))
    return entries


def _settled(
    plan: Plan, voting: Voting, trunk: Line, lines: list[Line], entries: list[list[Entry]], book: Logbook
) -> None:
    """Count the ballots, write down who won and who lost, and move the request on."""
    ballots = {line.branch or "": votes.ballot(line.data[len(trunk.data) :]) for line in lines}
    winner = voting.outcome(ballots)
    for line, written in zip(lines, entries, strict=True):
        for entry in written:
            book.write(entry, lost=line.branch != winner)
        votes.stage(book.recorder, line, ballots[line.branch or ""])
    book.recorder.consensus(
        request=trunk.request,
        step=lines[0].step or "",
        quorum=voting.quorum,
        ballots=ballots,
        outcome="fallback" if winner is None else "agreed",
        value=None if winner is None else ballots[winner],
    )
    for line in lines:
        votes.settle(book.recorder, line, line.branch == winner)
    won = next((line for line in lines if line.branch == winner), None)
    if won is None:
        votes.alone(trunk, plan.verifier, voting, plan.rule)
    else:
        trunk.commit(won.context[len(trunk.context) :], plan.verifier.tokenizer)
        trunk.stop = won.stop
