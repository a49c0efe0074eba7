"""Hypothesis strategies for traces: clean ones, and odd ones as a crashed or careless logger would leave them.

Both produce a trace as a list of JSON objects in file order. Probabilities and draws are multiples of 1/64, so that the
product of two of them is exact in floating point and a tie is a tie in every arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Event = dict[str, Any]
Mutation = Callable[[st.DrawFn, list[Event]], None]

GRID = 64
SHAPES = ("single", "chain", "tree", "parallel", "abstain")
ROUND_STOPS = (None, None, None, None, "eos", "length", "grammar", "aborted", "padding", "branch_lost")
PROBABILITIES = ("none", "p and q", "p, q and u")


@dataclass(frozen=True)
class Cast:
    """What the requests of one trace have in common."""

    drafters: list[str]
    branches: int
    longest: int  # the most tokens that a block drafts
    lenient: bool  # whether the verifier accepts most of what it sees


def rarely(draw: st.DrawFn, one_in: int = 5) -> bool:
    """True now and then; shrinks to False."""
    return draw(st.integers(0, one_in - 1)) == one_in - 1


def plan_round(draw: st.DrawFn, drafters: list[str]) -> list[tuple[int | None, str, bool]]:
    """The blocks of one round, each (index of its parent, drafter, whether it abstains), parents first."""
    shape = draw(st.sampled_from(SHAPES))
    who = st.sampled_from(drafters)
    if shape == "single":
        return [(None, draw(who), False)]
    if shape == "chain":
        length = draw(st.integers(2, 4))
        names = [draw(who) for _ in range(length)]
        if draw(st.booleans()):  # each drafter in its turn
            first = drafters.index(names[0])
            names = [drafters[(first + i) % len(drafters)] for i in range(length)]
        return [(i - 1 if i else None, name, i > 0 and rarely(draw, 8)) for i, name in enumerate(names)]
    if shape == "tree":
        size = draw(st.integers(2, 4))
        return [(draw(st.integers(0, i - 1)) if i else None, draw(who), False) for i in range(size)]
    if shape == "parallel":
        roots = draw(st.integers(2, 3))
        plan: list[tuple[int | None, str, bool]] = [(None, draw(who), False) for _ in range(roots)]
        if draw(st.booleans()):
            plan.append((draw(st.integers(0, roots - 1)), draw(who), False))
        return plan
    abstaining: tuple[int | None, str, bool] = (None, draw(who), True)
    company = draw(st.sampled_from(("nobody", "behind it", "beside it")))
    if company == "nobody":
        return [abstaining]
    return [abstaining, (0 if company == "behind it" else None, draw(who), False)]


def draw_proposal(draw: st.DrawFn, longest: int, probabilities: str) -> Event:
    """The fields of a proposal that do not depend on where it hangs."""
    drafted = draw(st.integers(1, longest)) if longest else 0
    event: Event = {"type": "proposal", "tokens": [draw(st.integers(0, 7)) for _ in range(drafted)]}
    extras = draw(st.sampled_from(("plain", "plain", "bytes", "translated", "translated with bytes")))
    n = drafted
    if extras.startswith("translated") and drafted:
        n = draw(st.integers(1, longest + 1))
        event["submitted"] = [100 + i for i in range(n)]
    if extras.endswith("bytes"):
        event["bytes"] = [draw(st.integers(0, 4)) for _ in range(drafted)]
        if "submitted" in event:
            event["submitted_bytes"] = [draw(st.integers(1, 4)) for _ in range(n)]
    if probabilities != "none" and drafted:
        event["q"] = [draw(st.integers(1, GRID)) / GRID for _ in range(drafted)]
    if rarely(draw):
        event["gated"] = draw(st.integers(0, 3))
    if rarely(draw):
        event["ms"] = draw(st.integers(0, 40)) / 4
    if rarely(draw):
        event["source"] = "rank-0"
    return event


def size(proposal: Event) -> int:
    """The submitted tokens of a proposal."""
    return len(proposal["submitted"] if "submitted" in proposal else proposal["tokens"])


def judge(
    draw: st.DrawFn, proposal: Event, verdict: Event, stop: str | None, probabilities: str, lenient: bool
) -> tuple[int, bool]:
    """Fill in the verdict of a block that was reached; returns its accepted tokens and whether it refused one."""
    n = size(proposal)
    q = proposal.get("q")
    p: list[float] = []
    u: list[float] = []
    if q is not None and len(q) == n:
        accepted = n
        for i in range(n):
            p.append(draw(st.integers(GRID // 2 if lenient else 0, GRID)) / GRID)
            u.append(draw(st.integers(0, GRID - 1)) / GRID)
            if u[i] * q[i] > p[i]:
                accepted = i
                break
    else:
        accepted = n if lenient and not rarely(draw, 3) else draw(st.integers(0, n))
    refused = accepted < n
    if stop in ("aborted", "padding"):
        accepted = draw(st.integers(0, accepted))
        refused = False
    verdict["accepted"] = accepted
    if draw(st.booleans()):
        verdict["judged"] = accepted + refused
    if p:
        scored = n if draw(st.booleans()) else min(len(p), accepted + refused)
        verdict["p"] = (p + [0.5] * n)[:scored]
        if probabilities == "p, q and u":
            verdict["u"] = u[: accepted + refused]
    if stop is not None:
        verdict["stop"] = stop
    elif refused and draw(st.booleans()):
        verdict["stop"] = "rejected"
    if stop in ("eos", "length", "grammar"):
        verdict["committed"] = draw(st.integers(0, accepted))
    elif stop == "branch_lost":
        if draw(st.booleans()):
            verdict["committed"] = 0
    elif draw(st.booleans()):
        verdict["committed"] = accepted
    return accepted, refused


def draw_round(
    draw: st.DrawFn, cast: Cast, common: Event, branch: Event, start: int, named: Callable[[], str]
) -> tuple[list[Event], list[Event], int]:
    """The proposals and the verdicts of one round, and by how many tokens it moved its branch."""
    probabilities = draw(st.sampled_from(PROBABILITIES))
    stop = draw(st.sampled_from(ROUND_STOPS))
    proposals: list[Event] = []
    verdicts: list[Event] = []
    alive: list[bool] = []
    reached: list[int] = []  # tokens accepted on the path up to and including the block
    for parent, drafter, abstains in plan_round(draw, cast.drafters):
        proposal = draw_proposal(draw, 0 if abstains else cast.longest, probabilities)
        proposal |= common | branch | {"id": named(), "drafter": drafter, "parent": None, "start": start}
        verdict: Event = {"type": "verdict", "proposal": proposal["id"]} | common
        live, base = True, 0
        if parent is not None:
            above = proposals[parent]
            offset = size(above)
            if offset > 1 and draw(st.booleans()):
                offset = draw(st.integers(1, offset))
            proposal["parent"] = above["id"]
            proposal["start"] = above["start"] + offset
            live = alive[parent] and verdicts[parent]["accepted"] >= offset
            base = above["start"] - start + offset
        if live:
            accepted, refused = judge(draw, proposal, verdict, stop, probabilities, cast.lenient)
            if (refused or accepted == size(proposal)) and draw(st.booleans()):
                verdict["next"] = {"token": draw(st.integers(0, 7)), "kind": "correction" if refused else "bonus"}
            reached.append(base + accepted)
        else:
            verdict["accepted"] = 0
            if draw(st.booleans()):
                verdict["judged"] = 0
            if stop is not None and draw(st.booleans()):
                verdict["stop"] = stop
            if "q" in proposal and draw(st.booleans()):
                verdict["p"] = [0.25] * size(proposal)
        if rarely(draw):
            verdict["ms"] = draw(st.integers(0, 40)) / 4
        proposals.append(proposal)
        verdicts.append(verdict)
        alive.append(live)
    moved = max(reached) + any("next" in verdict for verdict in verdicts)
    return proposals, verdicts, moved


def draw_request(draw: st.DrawFn, request: str, cast: Cast) -> list[Event]:
    """All events of one request, in the order in which they were logged."""
    events: list[Event] = []
    due: list[int] = []  # where each event would like to stand: a late verdict further down than it was made
    starts = [draw(st.integers(0, 3))] * cast.branches
    rounds = [0] * cast.branches
    blocks = 0

    def named() -> str:
        nonlocal blocks
        blocks += 1
        return f"{request}-b{blocks - 1}"

    def log(event: Event, delay: int = 0) -> None:
        due.append(len(events) + delay)
        events.append(event)

    for step in range(draw(st.integers(1, 2))):
        for _ in range(draw(st.integers(1, 2))):
            at = draw(st.integers(0, cast.branches - 1))
            branch: Event = {} if at == 0 and draw(st.booleans()) else {"branch": ("main", "left", "right")[at]}
            if draw(st.booleans()):
                branch["step"] = f"s{step}"
            common = {"request": request, "round": rounds[at]}
            rounds[at] += 1
            proposals, verdicts, moved = draw_round(draw, cast, common, branch, starts[at], named)
            late = rarely(draw, 3)
            for proposal in proposals:
                log(proposal)
            for verdict in verdicts:
                log(verdict, draw(st.integers(0, 5)) if late else 0)
            if not rarely(draw, 4):
                starts[at] += moved
        if rarely(draw, 3):
            log_step(draw, log, request, f"s{step}", cast.branches)
    return [events[i] for i in sorted(range(len(events)), key=lambda i: due[i])]


def log_step(draw: st.DrawFn, log: Callable[[Event], None], request: str, step: str, branches: int) -> None:
    """Side effects of a step and the vote that ends it."""
    names = ("main", "left", "right")[:branches]
    about: Event = {"request": request, "step": step}
    effect: Event = {"type": "effect", "branch": names[0], "key": f"{request}-{step}", "target": "mail"} | about
    if draw(st.booleans()):
        log(effect | {"action": "stage"})
    agreed = draw(st.booleans())
    ballots = [{"branch": name, "value": "yes" if agreed else name} for name in names]
    vote: Event = {"type": "consensus", "quorum": branches, "ballots": ballots} | about
    log(vote | ({"outcome": "agreed", "value": "yes"} if agreed else {"outcome": "fallback"}))
    if draw(st.booleans()):
        log(effect | {"action": "commit" if agreed else "discard"})


def draw_header(draw: st.DrawFn, drafters: list[str]) -> Event:
    """The first line of a trace."""
    tokenizers = [f"t{i}" for i in range(draw(st.integers(1, 3)))]
    return {
        "type": "trace",
        "schema": "specdiag/1",
        "trace_id": "drawn",
        "engine": {"name": "toy", "version": "0"},
        "recorder": {"name": "strategies", "version": "0"},
        "verification": {"rule": "rejection"},
        "drafters": [{"id": d, "kind": "model", "tokenizer": draw(st.sampled_from(tokenizers))} for d in drafters],
        "verifier": {"id": "verifier", "tokenizer": tokenizers[0]},
        "tokenizers": {name: {"vocab_size": 256, "fingerprint": f"print of {name}"} for name in tokenizers},
        "labels": {"build": "drawn"},
    }


def draw_counts(draw: st.DrawFn, drafters: list[str]) -> Event:
    """What an engine counted, as far as it logged it: the counts agree with each other."""
    lengths = draw(st.lists(st.integers(0, 3), max_size=6))
    reached = [sum(length >= i for length in lengths) for i in range(1, max(lengths, default=0) + 1)]
    counts: Event = {
        "rounds": len(lengths),
        "proposed": sum(lengths) + draw(st.integers(0, 4)),
        "accepted": sum(lengths),
        "completion_tokens": sum(lengths) + len(lengths),
        "requests": draw(st.integers(1, 2)),
        "reached": reached,
        "max_draft_tokens": draw(st.sampled_from((3, 3, 4))),
    }
    event: Event = {
        "type": "tally",
        "drafter": draw(st.sampled_from([*drafters, "counted"])),
        "window": draw(st.sampled_from(("interval", "interval", "lifetime", "request"))),
    }
    event |= {name: number for name, number in counts.items() if not rarely(draw, 4)}
    if rarely(draw, 4):
        event["estimated"] = {name: 1 for name in ("rounds", "accepted") if name in event}
    if draw(st.booleans()):
        event["source"] = draw(st.sampled_from(("s0", "s1")))
    return event


@st.composite
def traces(draw: st.DrawFn) -> list[Event]:
    """Traces in which every line says what it should."""
    drafters = [f"d{i}" for i in range(draw(st.integers(1, 4)))]
    cast = Cast(
        drafters,
        branches=draw(st.integers(1, 3)),
        longest=draw(st.sampled_from((1, 2, 4))),
        lenient=draw(st.booleans()),
    )
    requests = [draw_request(draw, f"r{i}", cast) for i in range(draw(st.integers(1, 6)))]
    turns = [i for i, events in enumerate(requests) for _ in events]
    if len(requests) > 1 and draw(st.booleans()):
        turns = draw(st.permutations(turns))
    queues = [iter(events) for events in requests]
    events = [draw_header(draw, drafters)] + [next(queues[turn]) for turn in turns]
    if rarely(draw):
        events.insert(draw(st.integers(1, len(events))), {"type": "note", "text": "a remark"})
    for _ in range(draw(st.integers(0, 6)) if rarely(draw, 3) else 0):
        events.insert(draw(st.integers(1, len(events))), draw_counts(draw, drafters))
    return events


# What can go wrong with a trace. Each mutation changes the list, or leaves it when it finds nothing to change.


def pick(draw: st.DrawFn, events: list[Event], wanted: Callable[[Event], bool]) -> Event | None:
    """One of the events that are wanted."""
    candidates = [event for event in events if wanted(event)]
    return draw(st.sampled_from(candidates)) if candidates else None


def place(events: list[Event], event: Event) -> int:
    """The index of this very object, not of an equal one."""
    return next(i for i, other in enumerate(events) if other is event)


def is_proposal(event: Event) -> bool:
    return bool(event["type"] == "proposal")


def is_verdict(event: Event) -> bool:
    return bool(event["type"] == "verdict")


def block_of(events: list[Event], verdict: Event) -> Event:
    """The proposal of a verdict, while ids are still unique."""
    return next(e for e in events if is_proposal(e) and e["id"] == verdict["proposal"])


def sound(events: list[Event], verdict: Event) -> bool:
    """Whether a verdict is possible so far: one that is impossible twice over would have two names."""
    n: int = size(block_of(events, verdict))
    accepted: int = verdict["accepted"]
    judged: int = verdict.get("judged", accepted)
    committed: int = verdict.get("committed", accepted)
    return 0 <= committed <= accepted <= judged <= n


def same_round(one: Event, other: Event) -> bool:
    return all(one.get(key, "main") == other.get(key, "main") for key in ("request", "branch", "round"))


def reword(event: Event, **fields: Any) -> None:
    """Set some fields of a line; None removes one."""
    for key, value in fields.items():
        event.pop(key, None)
        if value is not None:
            event[key] = value


def accepted_above_submitted(draw: st.DrawFn, events: list[Event]) -> None:
    verdict = pick(draw, events, is_verdict)
    if verdict is not None:
        too_many = size(block_of(events, verdict)) + draw(st.integers(1, 2))
        reword(verdict, accepted=draw(st.sampled_from((too_many, -1))), judged=None, committed=None)


def committed_above_accepted(draw: st.DrawFn, events: list[Event]) -> None:
    verdict = pick(draw, events, lambda e: is_verdict(e) and sound(events, e))
    if verdict is not None:
        reword(verdict, committed=draw(st.sampled_from((verdict["accepted"] + 1, -1))))


def judged_out_of_range(draw: st.DrawFn, events: list[Event]) -> None:
    verdict = pick(draw, events, lambda e: is_verdict(e) and sound(events, e))
    if verdict is not None:
        too_many = size(block_of(events, verdict)) + 1
        reword(verdict, judged=draw(st.sampled_from((too_many, verdict["accepted"] - 1))))


def judged_past_refusal(draw: st.DrawFn, events: list[Event]) -> None:
    verdict = pick(
        draw, events, lambda e: is_verdict(e) and sound(events, e) and e["accepted"] < size(block_of(events, e)) - 1
    )
    if verdict is not None:
        reword(verdict, judged=size(block_of(events, verdict)))


def accepted_where_none_was(draw: st.DrawFn, events: list[Event]) -> None:
    verdict = pick(draw, events, lambda e: is_verdict(e) and e["accepted"] == 0 and size(block_of(events, e)) > 0)
    if verdict is not None:
        reword(verdict, accepted=1, judged=None, committed=None)


def parent_missing(draw: st.DrawFn, events: list[Event]) -> None:
    block = pick(draw, events, is_proposal)
    if block is not None:
        strangers = [e["id"] for e in events if is_proposal(e) and not same_round(e, block)]
        reword(block, parent=draw(st.sampled_from(["nowhere", *strangers])))


def parent_cycle(draw: st.DrawFn, events: list[Event]) -> None:
    block = pick(draw, events, lambda e: is_proposal(e) and e["parent"] is None)
    if block is not None:
        kin = [e["id"] for e in events if is_proposal(e) and same_round(e, block)]
        reword(block, parent=draw(st.sampled_from(kin)))


def parent_gap(draw: st.DrawFn, events: list[Event]) -> None:
    block = pick(draw, events, lambda e: is_proposal(e) and e["parent"] is not None)
    if block is not None:
        reword(block, start=block["start"] + draw(st.sampled_from((-5, -1, 1, 5))))


def scored(events: list[Event], verdict: Event) -> bool:
    """Whether p and q stand beside each other at the first positions that a verdict judged."""
    block = block_of(events, verdict)
    return bool(block.get("q") and verdict.get("p")) and len(block["q"]) == size(block)


def probability_odd(draw: st.DrawFn, events: list[Event]) -> None:
    for _ in range(draw(st.integers(1, 3))):
        verdict = pick(draw, events, lambda e: is_verdict(e) and scored(events, e))
        if verdict is None:
            return
        key = draw(st.sampled_from(("p", "q")))
        line = verdict if key == "p" else block_of(events, verdict)
        at = draw(st.integers(0, min(len(line[key]) - 1, max(verdict["accepted"], 0))))
        line[key][at] = draw(st.sampled_from((1.5, -0.25, 0.0, None)))
        if rarely(draw, 8):
            line[key] = None


def draw_contradicted(draw: st.DrawFn, events: list[Event]) -> None:
    for _ in range(draw(st.integers(1, 3))):
        verdict = pick(draw, events, lambda e: is_verdict(e) and bool(e.get("u")))
        if verdict is not None:
            at = draw(st.integers(0, len(verdict["u"]) - 1))
            verdict["u"][at] = draw(st.sampled_from((0.0, 1 - 1 / GRID, None)))


def list_too_short(draw: st.DrawFn, events: list[Event]) -> None:
    event = pick(draw, events, lambda e: any(e.get(key) for key in ("p", "q", "u", "bytes", "submitted_bytes")))
    if event is not None:
        key = draw(st.sampled_from([k for k in ("p", "q", "u", "bytes", "submitted_bytes") if event.get(k)]))
        event[key] = event[key][:-1]


def reused_in_other_requests(draw: st.DrawFn, events: list[Event]) -> None:
    """Let every request count its blocks from zero."""
    for event in events:
        for key in ("id", "proposal", "parent"):
            if isinstance(event.get(key), str):
                event[key] = event[key].split("-")[-1]


def reused_in_same_request(draw: st.DrawFn, events: list[Event]) -> None:
    """Give a block the id of a block of another round of its request, whose verdict was already there."""
    pairs: list[tuple[Event, Event]] = []
    for i, event in enumerate(events):
        if not is_verdict(event):
            continue
        for old in events[:i]:
            if is_proposal(old) and (old["id"], old["request"]) == (event["proposal"], event["request"]):
                later = [e for e in events[i:] if is_proposal(e) and e["request"] == old["request"]]
                pairs += [(old, new) for new in later if not same_round(old, new)]
    if not pairs:
        return
    old, new = draw(st.sampled_from(pairs))
    if any(is_proposal(e) and e["id"] == old["id"] and same_round(e, new) for e in events):
        return
    was = new["id"]
    for event in events:
        if event.get("request") != old["request"]:
            continue
        for key in ("id", "proposal"):
            if event.get(key) == was:
                event[key] = old["id"]
        if event.get("parent") == was and same_round(event, new):
            event["parent"] = old["id"]


def verdict_missing(draw: st.DrawFn, events: list[Event]) -> None:
    for _ in range(draw(st.integers(1, 3))):
        verdict = pick(draw, events, is_verdict)
        if verdict is not None:
            del events[place(events, verdict)]


def verdict_before_proposal(draw: st.DrawFn, events: list[Event]) -> None:
    verdict = pick(draw, events, is_verdict)
    if verdict is None:
        return
    about = (verdict["request"], verdict["proposal"])
    at = next(i for i, e in enumerate(events) if is_proposal(e) and (e["request"], e["id"]) == about)
    del events[place(events, verdict)]
    events.insert(draw(st.integers(1, at)), verdict)


def duplicate_line(draw: st.DrawFn, events: list[Event]) -> None:
    for _ in range(draw(st.integers(1, 2))):
        line = pick(draw, events, lambda e: e["type"] in ("proposal", "verdict", "consensus"))
        if line is None:
            return
        again = dict(line)
        if draw(st.booleans()):
            again |= {"ts": 12.5, "source": "rank-1"}
        if draw(st.booleans()) and again["type"] != "consensus":
            again["ms"] = 7.25
        events.insert(draw(st.integers(place(events, line) + 1, len(events))), again)


def verdict_conflict(draw: st.DrawFn, events: list[Event]) -> None:
    verdict = pick(draw, events, is_verdict)
    if verdict is not None:
        accepted = verdict["accepted"]
        other = verdict | {"accepted": accepted - 1 if accepted > 0 else accepted + 1}
        events.insert(draw(st.integers(place(events, verdict) + 1, len(events))), other)


def verdict_orphan(draw: st.DrawFn, events: list[Event]) -> None:
    verdict = pick(draw, events, is_verdict)
    if verdict is not None:
        events.insert(draw(st.integers(1, len(events))), verdict | {"proposal": "ghost"})


def unknown_lines(draw: st.DrawFn, events: list[Event]) -> None:
    events.insert(draw(st.integers(1, len(events))), {"type": "weather", "request": "r0", "sky": [1, None, "blue"]})
    block = pick(draw, events, is_proposal)
    if block is not None:
        block["mood"] = {"good": True}


# In this order: fields first while ids are unique, then ids, then lines that go, move, or come twice.
MUTATIONS: tuple[Mutation, ...] = (
    accepted_above_submitted,
    committed_above_accepted,
    judged_out_of_range,
    judged_past_refusal,
    accepted_where_none_was,
    parent_missing,
    parent_cycle,
    parent_gap,
    probability_odd,
    draw_contradicted,
    list_too_short,
    unknown_lines,
    reused_in_other_requests,
    reused_in_same_request,
    verdict_missing,
    verdict_before_proposal,
    duplicate_line,
    verdict_conflict,
    verdict_orphan,
)

# Lines that move or come twice are not mixed with an id that two blocks of one request share: which block such a line
# means is then anybody's guess.
AMBIGUOUS_WITH_REUSE: tuple[Mutation, ...] = (
    verdict_missing,
    verdict_before_proposal,
    duplicate_line,
    verdict_conflict,
)


@st.composite
def odd_traces(draw: st.DrawFn) -> list[Event]:
    """Traces with some faults in them, each kind now and then."""
    events = draw(traces())
    chosen = [mutation for mutation in MUTATIONS if rarely(draw, 4)]
    if reused_in_same_request in chosen:
        chosen = [mutation for mutation in chosen if mutation not in AMBIGUOUS_WITH_REUSE]
    for mutation in chosen:
        mutation(draw, events)
    return events
