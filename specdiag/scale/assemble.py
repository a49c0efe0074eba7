"""Putting shards together, in order: rounds that lie across segments are settled here.

What is held is the open rounds, the verdicts that wait for a proposal, and one line for each branch of late: what nothing has touched for
`PATIENCE` bytes of input is settled as it is.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from specdiag.errors import EmptyInput, InputError, TraceError, shown
from specdiag.measure.contributions import Held
from specdiag.measure.count import CountedEvent, count, count_events
from specdiag.measure.tally import Tally
from specdiag.scale.collected import LINE_BITS, Collected, InputCount, Slices
from specdiag.scale.engine import EngineCounts
from specdiag.scale.shard import Shard, Task, is_ratio_test, no_blocks
from specdiag.trace.blocks import UNKNOWN_PARENT, Blocks, Ints, key_of
from specdiag.trace.columns import Fields, Orphan, VerdictColumns
from specdiag.trace.consistency import differences
from specdiag.trace.events import Consensus, Effect, Trace
from specdiag.trace.ledger import Border, Ghosts, ledger_of
from specdiag.trace.lengths import note_overlong
from specdiag.trace.notes import CATALOGUE, END_OF_STREAM, Notes, Where

PATIENCE = 32 << 20  # bytes of input
EVIDENCE = ("proposal", "verdict", "tally", "consensus", "effect")  # types of events that a report can rest on
NAMED = 5  # inputs, and types of events, that a message lists
HELD_AT_MOST = 20_000  # contributions of border rounds, before they are added up: about a MB


class Assembler:
    """Takes the shards of all inputs in order; `finish` gives what was collected."""

    def __init__(self, task: Task, slices: Slices) -> None:
        self.task, self.slices = task, slices
        self.tally = Tally(task.resampling.replicates)
        self.notes = Notes()
        self.inputs: list[InputCount] = []
        self.headers: dict[int, Trace] = {}
        self.epochs: dict[str, int] = {}
        self.epoch = 0
        self.position = 0
        self.open = no_blocks()
        self.ghosts = Ghosts.none()
        self.waiting: list[tuple[int, Orphan]] = []
        self.counted: dict[tuple[object, ...], int] = {}  # votes and effects of late, by the bytes read when they came
        self.engine = EngineCounts(means=task.countings is not None)
        self.held = Held(task.resampling)

    def begin(self, name: str, format: str = "") -> None:
        """What follows is of this input."""
        self.inputs.append(InputCount(name, format))

    @property
    def base(self) -> int:
        """What to add to a line of the next shard to make it a place."""
        return (len(self.inputs) - 1 << LINE_BITS) + self.inputs[-1].lines

    def add(self, shard: Shard) -> None:
        """The next segment of the input."""
        base, current = self.base, self.inputs[-1]
        if shard.unreadable:
            line, what, advice = shard.unreadable
            raise InputError(f"{shown(current.name)}:{current.lines + line}: {what}", advice)
        for code, text in shard.trouble:
            self.notes.add(code, base + (max(shard.lines, 1) if code in END_OF_STREAM else 1), "$", text)
        self.notes.merge(shard.notes, base)
        epochs = np.array([self.epoch, *(self._epoch_of(h, base + line) for line, h in shard.headers)], np.int64)
        self.epoch = int(epochs[-1])
        for name, number in shard.events.items():
            current.events[name] = current.events.get(name, 0) + number
        current.bytes += shard.size
        current.digest = ((current.digest[0] + shard.digest[0]) % (1 << 64), current.digest[1] + shard.digest[1])
        current.lines += shard.lines
        self.position += shard.size
        self._merge(shard.tally, epochs)
        self._count_events(shard, epochs, base)
        self.waiting.extend(
            (self.position, Orphan(int(epochs[o.epoch]), o.line + base, o.verdict)) for o in shard.orphans
        )
        edges, ghosts = shard.edges, shard.ghosts
        self._settle(
            edges.with_columns(
                epoch=epochs[edges.epoch],
                born=np.full(len(edges), self.position, np.int64),
                line=edges.line + base,
                judged_by=np.where(edges.judged_by > 0, edges.judged_by + base, 0),
            ),
            Ghosts(
                ghosts.request,
                ghosts.branch,
                epochs[ghosts.epoch],
                ghosts.number,
                ghosts.start,
                ghosts.nothing,
                np.full(len(ghosts), self.position, np.int64),
            ),
            ending=self.task.strict and bool(self.notes.first_problem()),
        )
        self._strict()

    def finish(self) -> Collected:
        """Settle what is open. EmptyInput where no event was read that a report could rest on."""
        self._settle(no_blocks(), Ghosts.none(), flush=True)
        for text in self.engine.may_be_one_run():
            self.notes.add("lifetimes_added", 1, "$", text)
        self.engine.count(self.tally)
        if not any(name in EVIDENCE for i in self.inputs for name in i.events):
            raise EmptyInput(*self._nothing())
        self._strict()
        return Collected(self.tally, self.headers, self.inputs, self.notes, self.engine.printed)

    def _nothing(self) -> tuple[str, str]:
        """What was read instead of evidence, from which input, and the first line that could not be read; and what to do."""
        listed = [f"{shown(i.name)}: {_events_read(i)}" for i in self.inputs[:NAMED]]
        listed += [f"{len(self.inputs) - NAMED:,} more inputs alike"] if len(self.inputs) > NAMED else []
        if any(i.events for i in self.inputs):
            listed.append(f"a report needs one of {', '.join(EVIDENCE)}")
            advice = "Log proposals and verdicts, or the counters of the engine: docs/trace-format.md."
        else:
            advice = "A trace has one JSON event a line: docs/trace-format.md."
        for code, place in self.notes.first_problem()[:1]:
            advice = f"{_sentence(CATALOGUE[code].advice)}. {advice}"
            # Where a whole line is no event, there is no field to name.
            place = place._replace(path=place.path if place.path != "$" else "")
            listed.append(f"first problem: {self._place(code, place)}")
        return "; ".join(listed), advice

    def _strict(self) -> None:
        problems = self.notes.first_problem() if self.task.strict else []
        if problems:
            advice = "; ".join(dict.fromkeys(CATALOGUE[code].advice for code, _ in problems))
            raise TraceError(
                [self._place(code, place) for code, place in problems],
                f"{_sentence(advice)}. With --lenient it is noted, and the rest of the trace counts.",
            )

    def _place(self, code: str, place: Where) -> str:
        """Input, line, field and what is wrong there."""
        number, line = divmod(place.line, 1 << LINE_BITS)
        text = f" ({shown(place.text)})" if place.text else ""
        path = f"{shown(place.path)}: " if place.path else ""
        return f"{shown(self.inputs[number].name)}:{line}: {path}{CATALOGUE[code].message}{text}"

    def _epoch_of(self, header: Trace, line: int) -> int:
        """Traces are told apart by their id; a header without one begins a trace of its own, and of several with one the first stands."""
        name = header.trace_id if header.trace_id is not None else f"\0{len(self.headers)}"
        epoch = self.epochs.setdefault(name, len(self.epochs) + 1)
        first = self.headers.setdefault(epoch, header)
        self.notes.add_many("header_conflict", [Where(line, *found) for found in differences(first, header)])
        return epoch

    def _by_ratio(self, epoch: int) -> bool:
        header = self.headers.get(epoch)
        return header is None or is_ratio_test(header.rule)

    def _merge(self, tally: Tally, epochs: Ints | None = None) -> None:
        """Add a tally whose slices are in the numbers of its segment, or, without `epochs`, of the whole input."""
        if self.slices.wanted:
            tally = tally.renamed(lambda part: self._slice_of_part(part[0], part[1], epochs))
        self.tally += tally

    def _slice_of_part(self, branch: str, epoch: str, epochs: Ints | None) -> tuple[str, ...]:
        number = int(epoch or 0)
        return self.slices.of(branch, self.headers.get(int(epochs[number]) if epochs is not None else number))

    def _settle(self, edges: Blocks, ghosts: Ghosts, flush: bool = False, ending: bool = False) -> None:
        """Settle what can be. `flush`: the input is at its end; `ending`: strict mode stops here, and what stands open may hold the first
        problem."""
        self._seen_again(edges)
        blocks = self._parents(self._join(self._without_repeats(edges)))
        oldest = self.position - PATIENCE
        self.waiting = self._keep_waiting(oldest, flush)
        known = Ghosts.concat([self.ghosts, ghosts])
        ledger = ledger_of(blocks, known, Border(oldest=oldest, flush=flush or ending))
        tally, notes = count(
            ledger,
            self.task.resampling,
            self.task.slice_of(blocks.branches),
            self._by_ratio,
            self.held,
            self.task.countings,
        )
        self._merge(tally)
        if flush or self.held.size > HELD_AT_MOST:
            self._merge(self.held.release())
        self.notes.merge(notes)
        self.open = ledger.open_blocks()
        left = ledger.ghosts(known)
        self.ghosts = left.take(left.born >= oldest)

    def _seen_again(self, edges: Blocks) -> None:
        """Rounds that come back after they were settled: the same evidence twice, or a request id used again."""
        if not len(edges) or not len(self.ghosts):
            return
        last = dict(zip(_identity(self.ghosts), self.ghosts.number.tolist(), strict=True))
        for row, identity in enumerate(_identity(edges)):
            if last.get(identity, -1) >= edges.round[row]:
                self.notes.add("rounds_seen_again", int(edges.line[row]), "$.round")

    def _without_repeats(self, edges: Blocks) -> Blocks:
        """All open blocks; where a new one repeats an old one, the one that has its verdict stays."""
        both = (
            Blocks.concat([self.open, edges]) if len(self.open) and len(edges) else edges if len(edges) else self.open
        )
        twice = set(self.open.ids) & set(edges.ids)
        if not twice:
            return both
        keep = np.ones(len(both), bool)
        first: dict[tuple[object, ...], int] = {}
        for row in np.flatnonzero([name in twice for name in both.ids]).tolist():
            same = (
                both.ids[row],
                *(
                    int(c[row])
                    for c in (both.request, both.branch, both.epoch, both.round, both.drafter, both.size, both.start)
                ),
            )
            other = first.setdefault(same, row)
            if other != row:
                gone = row if both.judged_by[other] else other
                first[same] = row + other - gone
                keep[gone] = False
                self.notes.add(
                    "duplicate_line", int(both.line[row]), "$.id", both.ids[row], 1 + int(both.judged_by[gone] > 0)
                )
        return both.take(np.flatnonzero(keep))

    def _join(self, blocks: Blocks) -> Blocks:
        """Give waiting verdicts to the open blocks that they name."""
        if not self.waiting or not len(blocks):
            return blocks
        rows: dict[tuple[int, str], list[int]] = {}
        for row, name in enumerate(blocks.ids):
            rows.setdefault((int(blocks.epoch[row]), name), []).append(row)
        chosen: dict[int, Orphan] = {}
        left = []
        for born, orphan in self.waiting:
            candidates = rows.get((orphan.epoch, orphan.verdict.proposal), [])
            request = key_of(orphan.verdict.request)
            candidates = [r for r in candidates if int(blocks.request[r]) == request]
            free = [r for r in candidates if not blocks.judged_by[r] and r not in chosen]
            if free:
                chosen[free[0]] = orphan
                self._note_join(blocks, free[0], orphan)
            elif candidates:
                same = any(int(blocks.accepted[r]) == orphan.verdict.accepted for r in candidates)
                self.notes.add(
                    "duplicate_line" if same else "verdict_conflict", orphan.line, "$.proposal", orphan.verdict.proposal
                )
            else:
                left.append((born, orphan))
        self.waiting = left
        if not chosen:
            return blocks
        columns = VerdictColumns()
        columns.add(
            Fields([o.verdict for o in chosen.values()]),
            np.array([o.line for o in chosen.values()], np.int64),
            np.array([*chosen], np.int64),
        )
        verdicts = columns.finish(self.notes)
        note_overlong(verdicts, blocks.size, self.notes)
        return blocks.judge(verdicts)

    def _note_join(self, blocks: Blocks, row: int, orphan: Orphan) -> None:
        if orphan.line < blocks.line[row]:
            self.notes.add("verdict_before_proposal", orphan.line, "$.proposal", orphan.verdict.proposal)
        if orphan.verdict.round != blocks.round[row]:
            self.notes.add("verdict_disagrees", orphan.line, "$.round")

    def _parents(self, blocks: Blocks) -> Blocks:
        """Find parents that were in another segment."""
        unknown = np.flatnonzero(blocks.parent == UNKNOWN_PARENT)
        if not len(unknown):
            return blocks
        row_of = {(int(blocks.request[r]), int(blocks.round[r]), blocks.ids[r]): r for r in range(len(blocks))}
        parent, parent_ids = blocks.parent.copy(), dict(blocks.parent_ids)
        for row in unknown.tolist():
            found = row_of.get((int(blocks.request[row]), int(blocks.round[row]), parent_ids[row]))
            if found is not None:
                parent[row] = found
                del parent_ids[row]
        return blocks.with_columns(parent=parent, parent_ids=parent_ids)

    def _keep_waiting(self, oldest: int, flush: bool) -> list[tuple[int, Orphan]]:
        for born, orphan in self.waiting:
            if flush or born < oldest:
                self.notes.add("verdict_orphan", orphan.line, "$.proposal", orphan.verdict.proposal)
        return [] if flush else [(born, orphan) for born, orphan in self.waiting if born >= oldest]

    def _count_events(self, shard: Shard, epochs: Ints, base: int) -> None:
        """Count votes and effects, each step's vote and each effect once, in whatever segment it comes again."""
        events = [self._vote(int(epochs[e]), c) for e, c in shard.consensus] + [
            self._effect(int(epochs[e]), x) for e, x in shard.effects
        ]
        new = {event.identity: event for event in reversed(events) if event.identity not in self.counted}
        oldest = self.position - PATIENCE
        self.counted = {name: born for name, born in self.counted.items() if born >= oldest} | dict.fromkeys(
            new, self.position
        )
        if new:
            count_events(self.tally, list(new.values()), self.task.resampling)
        for epoch, line, event in shard.tallies:
            fallen = self.engine.add(event, int(epochs[epoch]))
            if fallen:
                self.notes.add("counter_reset", base + line, "$", fallen)

    def _vote(self, epoch: int, vote: Consensus) -> CountedEvent:
        identity = ("consensus", epoch, vote.request, vote.step)
        return CountedEvent(self._slice_of_event("", epoch), vote.request, "consensus", vote.outcome, identity)

    def _effect(self, epoch: int, effect: Effect) -> CountedEvent:
        identity = ("effect", epoch, effect.request, effect.step, effect.branch, effect.key, effect.action)
        return CountedEvent(
            self._slice_of_event(effect.branch, epoch), effect.request, "effect", effect.action, identity
        )

    def _slice_of_event(self, branch: str, epoch: int) -> tuple[str, ...]:
        return self.slices.of(branch, self.headers.get(epoch)) if self.slices.wanted else ()


def _events_read(item: InputCount) -> str:
    counts = sorted(item.events.items(), key=lambda count: (-count[1], count[0]))
    parts = [f"{number:,} {shown(name)}" for name, number in counts[:NAMED]]
    parts += [f"{len(counts) - NAMED:,} types more"] if len(counts) > NAMED else []
    return f"events read: {', '.join(parts)}" if parts else "no event was read"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _identity(rows: Blocks | Ghosts) -> Iterable[tuple[int, int, int]]:
    return zip(rows.request.tolist(), rows.branch.tolist(), rows.epoch.tolist(), strict=True)
