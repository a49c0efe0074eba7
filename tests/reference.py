"""The figures of a trace, computed the slow and obvious way.

This module is the yardstick that the fast implementation is held against. It shares no code with it: the standard
library only, integers and exact fractions only, one loop for each sentence of the definitions. It takes the events of a
trace as JSON objects, in file order, and returns plain dictionaries.

Words used throughout:

* a *block* is one proposal of one drafter, n its submitted tokens;
* a *round* is the group of blocks with the same (request, branch, round);
* a *path* is the list of (drafter, tokens) that leads to a block: each ancestor that has tokens with the offset at
  which the path leaves it, then the block itself with all of its n tokens;
* a *hazard* h[d, k] is the share of the judged k-th tokens of drafter d's blocks that was accepted.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from fractions import Fraction
from itertools import combinations
from typing import Any

Event = dict[str, Any]
Path = list[tuple[str, int]]
Hazards = dict[tuple[str, int], Fraction]

ALIVE = "alive"
BEHIND = "behind refusal"
STOPPED = "stopped"

# Fields that say when and by whom a line was logged; two lines that differ in nothing else are one line logged twice.
ENVELOPE = ("source", "ts", "ms")

FATES = (
    "proposed",
    "submitted",
    "gated",
    "accepted",
    "rejected",
    "discarded_own",
    "discarded_collateral",
    "unjudged",
    "judged",
    "committed",
)
ROLES = ("solo", "shared", "independent")
ROLE_COUNTS = ("submitted", "accepted", "rejected", "judged", "committed")

MAX_SHAPLEY_DRAFTERS = 6
LISTED = 64  # positions with a figure of their own; those behind them share one hazard, under the number after the last
FOLLOWED = 64  # ancestors with tokens over which a chain is followed


class Block:
    """One proposal, with everything that the definitions say about it, filled in stage by stage."""

    def __init__(self, line: int, event: Event) -> None:
        # What the proposal says.
        self.line = line
        self.event = event
        self.id: str = event["id"]
        self.request: str = event["request"]
        self.branch: str = event["branch"] if event.get("branch") is not None else "main"
        self.round: int = event["round"]
        self.drafter: str = event["drafter"]
        self.start: int = event["start"]
        self.translated: bool = event.get("submitted") is not None
        self.n: int = len(event["submitted"]) if self.translated else len(event["tokens"])
        self.gated: int = event.get("gated") or 0
        # What the verifier says: the line that stands, and its (accepted, judged, committed) when that is possible.
        self.verdict: Event | None = None
        self.judgement: tuple[int, int, int] | None = None
        # Where it hangs.
        self.parent: Block | None = None
        self.offset = 0
        # What became of it.
        self.state = ALIVE
        self.culprit: str | None = None
        self.fates: dict[str, int] = {}
        self.roles: set[str] = set()

    @property
    def group(self) -> tuple[str, str, int]:
        """The round that this block belongs to."""
        return (self.request, self.branch, self.round)

    def ancestors(self) -> list[tuple[Block, int]]:
        """Each block above this one, the root first, with the offset at which the path leaves it."""
        found: list[tuple[Block, int]] = []
        here = self
        while here.parent is not None:
            found.append((here.parent, here.offset))
            here = here.parent
        found.reverse()
        return found

    def token_ancestors(self) -> list[tuple[Block, int]]:
        """The ancestors that have tokens: an abstaining drafter lends nothing to a chain."""
        return [(block, offset) for block, offset in self.ancestors() if block.n > 0]

    def path(self) -> Path:
        """The tokens that must be accepted for this block to be accepted as a whole."""
        return [(block.drafter, offset) for block, offset in self.token_ancestors()] + [(self.drafter, self.n)]


class Notes:
    """How many blocks or lines each remark concerns."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add(self, code: str) -> None:
        self.counts[code] = self.counts.get(code, 0) + 1


def content(event: Event) -> Event:
    """A line without the fields that say when and by whom it was logged."""
    return {key: value for key, value in event.items() if key not in ENVELOPE}


# Stage 1: which blocks there are, and which verdict belongs to which.


def collect_blocks(events: list[Event], notes: Notes) -> list[Block]:
    """The proposals in file order: a repeated line counts once, an id with other content is another block."""
    blocks: list[Block] = []
    for line, event in enumerate(events):
        if event["type"] != "proposal":
            continue
        namesakes = [b for b in blocks if (b.request, b.id) == (event["request"], event["id"])]
        if any(content(b.event) == content(event) for b in namesakes):
            notes.add("duplicate_line")
            continue
        if namesakes:
            notes.add("id_reused")
        blocks.append(Block(line, event))
    return blocks


def join_verdicts(events: list[Event], blocks: list[Block], notes: Notes) -> None:
    """Give each verdict to its block, by (request, id)."""
    for line, event in enumerate(events):
        if event["type"] != "verdict":
            continue
        namesakes = [b for b in blocks if (b.request, b.id) == (event["request"], event["proposal"])]
        open_earlier = [b for b in namesakes if b.line < line and b.verdict is None]
        open_later = [b for b in namesakes if b.line > line and b.verdict is None]
        standing = [b.verdict for b in namesakes if b.verdict is not None]
        if open_earlier:
            open_earlier[-1].verdict = event
        elif any(content(verdict) == content(event) for verdict in standing):
            notes.add("duplicate_line")
        elif open_later:
            open_later[0].verdict = event
            notes.add("verdict_before_proposal")
        elif namesakes:
            notes.add("verdict_conflict")
        else:
            notes.add("verdict_orphan")
    for block in blocks:
        if block.verdict is None:
            notes.add("proposal_orphan")


def read_verdict(block: Block, notes: Notes) -> tuple[int, int, int] | None:
    """(accepted, judged, committed) of a block's verdict with its defaults; None without a possible one."""
    verdict = block.verdict
    if verdict is None:
        return None
    accepted: int = verdict["accepted"]
    stop = verdict.get("stop")

    judged: int
    if verdict.get("judged") is not None:
        judged = verdict["judged"]
    elif stop in ("aborted", "padding"):
        judged = accepted
    else:
        judged = min(accepted + 1, block.n)

    committed: int
    if verdict.get("committed") is not None:
        committed = verdict["committed"]
    elif stop == "branch_lost":
        committed = 0
    else:
        committed = accepted

    if accepted < 0 or accepted > block.n:
        notes.add("accepted_above_submitted")
        return None
    if committed < 0 or committed > accepted:
        notes.add("committed_above_accepted")
        return None
    if judged < accepted or judged > block.n:
        notes.add("judged_out_of_range")
        return None
    if judged > accepted + 1:
        notes.add("judged_past_refusal")
        judged = accepted + 1
    return (accepted, judged, committed)


def check_lengths(blocks: list[Block], notes: Notes) -> None:
    """Note each list that does not fit its block; an empty list says nothing."""
    for block in blocks:
        drafted, verdict = len(block.event["tokens"]), block.verdict or {}
        fits = {
            "q": (drafted, block.n),
            "bytes": (drafted,),
            "submitted_bytes": (block.n,),
            "p": range(block.n + 1),
            "u": range(block.n + 1),
        }
        for name, lengths in fits.items():
            found = (verdict if name in ("p", "u") else block.event).get(name)
            if found and len(found) not in lengths:
                notes.add("wrong_length")


# Stage 2: how the blocks of a round hang together.


def link_parents(blocks: list[Block], notes: Notes) -> None:
    """Find each block's parent in its own round, cut cycles, and find the offset at which it joins."""
    for block in blocks:
        wanted = block.event.get("parent")
        if wanted is None:
            continue
        candidates = [b for b in blocks if b.group == block.group and b.id == wanted]
        earlier = [b for b in candidates if b.line < block.line]
        if earlier:
            block.parent = earlier[-1]
        elif candidates:
            block.parent = candidates[0]
        else:
            notes.add("parent_missing")

    endless = [block for block in blocks if on_or_behind_cycle(block)]
    for block in endless:
        notes.add("parent_cycle")
        block.parent = None

    for block in blocks:
        if block.parent is None:
            continue
        offset = block.start - block.parent.start
        if 1 <= offset <= block.parent.n:
            block.offset = offset
        else:
            block.offset = block.parent.n
            if offset != block.parent.n:
                notes.add("parent_gap")


def on_or_behind_cycle(block: Block) -> bool:
    """Whether the walk up from a block never ends."""
    seen: list[Block] = []
    here: Block | None = block
    while here is not None:
        if here in seen:
            return True
        seen.append(here)
        here = here.parent
    return False


# Stage 3: what became of each token.


def settle_state(block: Block) -> None:
    """Say whether the verifier could come as far as this block, walking down from its root."""
    state, culprit = ALIVE, None
    for above, offset in block.ancestors():
        if state != ALIVE or above.n == 0:
            continue
        if above.judgement is None:
            state = STOPPED
            continue
        accepted, judged, _ = above.judgement
        if accepted >= offset:
            continue
        if judged > accepted:
            state, culprit = BEHIND, above.drafter
        else:
            state = STOPPED
    block.state, block.culprit = state, culprit


def settle_fates(block: Block, notes: Notes) -> None:
    """Give each of the block's tokens its one fate."""
    fates = dict.fromkeys(FATES, 0)
    n = block.n
    fates["gated"] = block.gated
    fates["submitted"] = n
    fates["proposed"] = block.gated + n
    claims_accepted = block.judgement is not None and block.judgement[0] > 0

    if block.state == ALIVE and block.judgement is not None:
        accepted, judged, committed = block.judgement
        fates["accepted"] = accepted
        fates["committed"] = committed
        if judged > accepted:
            fates["rejected"] = 1
            fates["discarded_own"] = n - accepted - 1
        else:
            fates["unjudged"] = n - accepted
    elif block.state == ALIVE:
        fates["unjudged"] = n
    elif block.state == BEHIND and not claims_accepted:
        if block.culprit == block.drafter:
            fates["discarded_own"] = n
        else:
            fates["discarded_collateral"] = n
    else:
        fates["unjudged"] = n
        if claims_accepted and block.state == BEHIND:
            notes.add("accepted_behind_refusal")
        elif claims_accepted:
            notes.add("accepted_behind_stop")

    fates["judged"] = fates["accepted"] + fates["rejected"]
    block.fates = fates


def settle_roles(blocks: list[Block]) -> None:
    """Say for each block with tokens whose company it keeps."""
    for block in blocks:
        if block.n == 0:
            continue
        above = [a for a, _ in block.token_ancestors()]
        below = [b for b in blocks if b.n > 0 and block in [a for a, _ in b.ancestors()]]
        beside = [b for b in blocks if b.n > 0 and b.group == block.group]
        if any(b.drafter != block.drafter for b in above + below):
            block.roles.add("shared")
        if all(b.drafter == block.drafter for b in above):
            block.roles.add("solo")
        if all(b.drafter == block.drafter for b in beside):
            block.roles.add("independent")


def read(events: list[Event]) -> tuple[list[Block], Notes]:
    """All blocks of a trace with their fates and roles, and the remarks made on the way."""
    notes = Notes()
    blocks = collect_blocks(events, notes)
    join_verdicts(events, blocks, notes)
    check_lengths(blocks, notes)
    for block in blocks:
        block.judgement = read_verdict(block, notes)
    link_parents(blocks, notes)
    for block in blocks:
        settle_state(block)
        settle_fates(block, notes)
    for _ in too_deep(blocks):
        notes.add("chain_too_deep")
    settle_roles(blocks)
    return blocks, notes


# Stage 4: the figures.


def add_up(blocks: Iterable[Block], fate: str) -> int:
    """The tokens of some blocks that met one fate."""
    return sum(block.fates[fate] for block in blocks)


def by_round(blocks: Iterable[Block]) -> dict[tuple[str, str, int], list[Block]]:
    """The blocks of each round."""
    rounds: dict[tuple[str, str, int], list[Block]] = {}
    for block in blocks:
        rounds.setdefault(block.group, []).append(block)
    return rounds


def drafters_of(blocks: Iterable[Block]) -> list[str]:
    """The drafters that proposed anything, abstentions included."""
    return sorted({block.drafter for block in blocks})


def with_role(blocks: Iterable[Block], role: str) -> list[Block]:
    """The blocks with tokens that play one role, or all of them."""
    return [block for block in blocks if block.n > 0 and (role == "all" or role in block.roles)]


def is_judged(members: list[Block]) -> bool:
    """Whether a round has a possible verdict that is not of an aborted or padded round."""
    judged = [b.verdict for b in members if b.verdict is not None and b.judgement is not None]
    return any(verdict.get("stop") not in ("aborted", "padding") for verdict in judged)


def total_figures(blocks: list[Block]) -> dict[str, int]:
    totals = {fate: add_up(blocks, fate) for fate in FATES}
    rounds = 0
    verifier_tokens = 0
    for members in by_round(blocks).values():
        judged = [(b.verdict, b.judgement) for b in members if b.verdict is not None and b.judgement is not None]
        rounds += is_judged(members)
        # Behind an accepted token that did not reach the output, the verifier's own token did not reach it either.
        if any(
            v.get("next") is not None
            and v.get("stop") not in ("branch_lost", "aborted", "padding")
            and accepted == committed
            for v, (accepted, _, committed) in judged
        ):
            verifier_tokens += 1
    totals["rounds"] = rounds
    totals["verifier_tokens"] = verifier_tokens
    totals["requests"] = len({block.request for block in blocks})
    return totals


def position_figures(blocks: list[Block]) -> dict[int, tuple[int, int, int]]:
    """For each within-block position from 1: blocks that accepted it, that judged it, and all blocks."""
    longest = min(max((block.n for block in blocks), default=0), LISTED)
    figures_at: dict[int, tuple[int, int, int]] = {}
    for i in range(1, longest + 1):
        accepted = sum(1 for block in blocks if block.fates["accepted"] >= i)
        at_risk = sum(1 for block in blocks if block.fates["judged"] >= i)
        figures_at[i] = (accepted, at_risk, len(blocks))
    return figures_at


def drafter_figures(blocks: list[Block]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for drafter in drafters_of(blocks):
        own = [block for block in blocks if block.drafter == drafter]
        figure: dict[str, Any] = {fate: add_up(own, fate) for fate in FATES}
        figure["blocks"] = len(with_role(own, "all"))
        figure["abstained"] = sum(1 for block in own if block.n == 0)
        figure["rounds"] = len(by_round(with_role(own, "all")))
        for role in ROLES:
            cast = with_role(own, role)
            figure[role] = {"blocks": len(cast)} | {fate: add_up(cast, fate) for fate in ROLE_COUNTS}
        figure["positions"] = {role: position_figures(with_role(own, role)) for role in ("all", *ROLES)}
        found[drafter] = figure
    return found


def shared_figures(blocks: list[Block]) -> dict[str, int]:
    shared = with_role(blocks, "shared")
    whole = by_round(blocks)
    rounds = {key: members for key, members in by_round(shared).items() if is_judged(whole[key])}
    return {
        "rounds": len(rounds),
        "truncating_rounds": sum(1 for members in rounds.values() if add_up(members, "rejected") > 0),
        "depth": add_up(shared, "discarded_own") + add_up(shared, "discarded_collateral"),
        "submitted": add_up(shared, "submitted"),
        "accepted": add_up(shared, "accepted"),
        "rejected": add_up(shared, "rejected"),
        "unjudged": add_up(shared, "unjudged"),
    }


def blame_figures(blocks: list[Block]) -> dict[tuple[str, str], int]:
    """(culprit, victim) -> the victim's tokens that a refusal of the culprit's token discarded."""
    blame: dict[tuple[str, str], int] = {}
    for block in blocks:
        tokens = block.fates["discarded_own"] + block.fates["discarded_collateral"]
        if tokens == 0:
            continue
        culprit = block.culprit if block.culprit is not None else block.drafter
        blame[culprit, block.drafter] = blame.get((culprit, block.drafter), 0) + tokens
    return blame


def hazards(blocks: list[Block], role: str) -> Hazards:
    """h[d, k] over the blocks of one role; a position that was never judged has none."""
    found: Hazards = {}
    for drafter in drafters_of(blocks):
        cast = with_role([block for block in blocks if block.drafter == drafter], role)
        for i, (accepted, at_risk, _) in position_figures(cast).items():
            if at_risk > 0:
                found[drafter, i] = Fraction(accepted, at_risk)
        behind = sum(max(block.fates["judged"] - LISTED, 0) for block in cast)
        if behind > 0:
            kept = sum(max(block.fates["accepted"] - LISTED, 0) for block in cast)
            found[drafter, LISTED + 1] = Fraction(kept, behind)
    return found


def survival(path: Path, h: Hazards, players: Collection[str]) -> list[Fraction] | None:
    """The chance that each token of the last block of a path is reached and kept, if only the players' tokens can fail.

    Behind a token that is certain to fail no hazard is needed any more. None when a needed hazard is not known.
    """
    chance = Fraction(1)
    chances: list[Fraction] = []
    for step, (drafter, length) in enumerate(path):
        for k in range(1, length + 1):
            if drafter in players and chance != 0:
                place = (drafter, min(k, LISTED + 1))
                if place not in h:
                    return None
                chance *= h[place]
            if step == len(path) - 1:
                chances.append(chance)
    return chances


def expected_accepted(paths: list[Path], h: Hazards, players: Collection[str]) -> Fraction | None:
    """The expected accepted tokens of the blocks at the ends of some paths."""
    total = Fraction(0)
    for path in paths:
        chances = survival(path, h, players)
        if chances is None:
            return None
        total += sum(chances, Fraction(0))
    return total


def shared_paths(blocks: list[Block]) -> list[Path]:
    """The path of each shared block."""
    return [block.path() for block in with_role(blocks, "shared")]


def composition_figure(blocks: list[Block]) -> Fraction | None:
    """The joint acceptance if each drafter kept the per-position acceptance it has alone.

    None when a needed hazard is not known, and where nothing is shared.
    """
    submitted = add_up(with_role(blocks, "shared"), "submitted")
    accepted = expected_accepted(shared_paths(blocks), hazards(blocks, "solo"), drafters_of(blocks))
    if submitted == 0 or accepted is None or too_deep(blocks):
        return None
    return accepted / submitted


def inherited_figure(blocks: list[Block]) -> Fraction | None:
    """The joint acceptance if each drafter's tokens on shared chains were accepted as often as those of its blocks alone; None where one of
    them has no block alone, and where nothing is shared."""
    shared, alone = with_role(blocks, "shared"), with_role(blocks, "solo")
    expected = Fraction(0)
    for name in drafters_of(shared):
        seen = [block for block in alone if block.drafter == name]
        if add_up(seen, "submitted") == 0:
            return None
        here = add_up([block for block in shared if block.drafter == name], "submitted")
        expected += Fraction(here * add_up(seen, "accepted"), add_up(seen, "submitted"))
    submitted = add_up(shared, "submitted")
    return expected / submitted if submitted else None


def too_deep(blocks: list[Block]) -> list[Block]:
    """The blocks with tokens that stand behind so many others that nothing is computed from their paths."""
    return [block for block in blocks if block.n > 0 and len(block.token_ancestors()) > FOLLOWED]


def shapley_figures(blocks: list[Block]) -> dict[str, Fraction] | None:
    """Each drafter's share of the expected loss on shared chains, averaged over the coalitions it may join.

    The players are the drafters that have a block on a shared chain. None when a needed hazard is not known.
    """
    if too_deep(blocks):
        return None
    paths = shared_paths(blocks)
    h = hazards(blocks, "shared")
    players = drafters_of(with_role(blocks, "shared"))
    m = len(players)
    if m > MAX_SHAPLEY_DRAFTERS:
        raise ValueError(f"{m} drafters are too many for brute force over coalitions")

    value: dict[frozenset[str], Fraction] = {}
    for size in range(m + 1):
        for coalition in combinations(players, size):
            worth = expected_accepted(paths, h, coalition)
            if worth is None:
                return None
            value[frozenset(coalition)] = worth

    shares: dict[str, Fraction] = {}
    for player in players:
        share = Fraction(0)
        for coalition_set, worth in value.items():
            if player in coalition_set:
                continue
            s = len(coalition_set)
            weight = Fraction(math.factorial(s) * math.factorial(m - s - 1), math.factorial(m))
            share += weight * (value[coalition_set | {player}] - worth)
        shares[player] = share
    return shares


def marginal_figures(blocks: list[Block]) -> dict[str, tuple[int, int, Fraction | None, int]]:
    """The joint acceptance without each drafter: decided accepted and submitted, estimated accepted and submitted."""
    h = hazards(blocks, "shared")
    everyone = drafters_of(blocks)
    if too_deep(blocks):
        return dict.fromkeys(everyone, (0, 0, None, 0))
    found: dict[str, tuple[int, int, Fraction | None, int]] = {}
    for removed in everyone:
        decided_accepted = decided_submitted = estimated_submitted = 0
        estimated: list[Path] = []
        for block in with_role(blocks, "shared"):
            if block.drafter == removed:
                continue
            above = block.token_ancestors()
            where = [step for step, (ancestor, _) in enumerate(above) if ancestor.drafter == removed]
            if not where:
                decided_accepted += block.fates["accepted"]
                decided_submitted += block.n
            elif above[where[0]][0].state != ALIVE:
                decided_submitted += block.n
            else:
                rest = [(a.drafter, offset) for a, offset in above[where[0] + 1 :] if a.drafter != removed]
                estimated.append([*rest, (block.drafter, block.n)])
                estimated_submitted += block.n
        estimated_accepted = expected_accepted(estimated, h, everyone)
        found[removed] = (decided_accepted, decided_submitted, estimated_accepted, estimated_submitted)
    return found


def entry(values: Any, i: int) -> Fraction | None:
    """The i-th number of a list that may be absent, too short, or hold nulls; exact, None where there is no number."""
    if values is None or i >= len(values) or values[i] is None or not math.isfinite(values[i]):
        return None
    return Fraction(values[i])


def logged(values: Any, i: int) -> bool:
    """Whether a list that may be absent or too short says anything about position i."""
    return values is not None and i < len(values) and values[i] is not None


def probability_figures(blocks: list[Block], notes: Notes) -> tuple[dict[str, tuple[int, Fraction]], tuple[int, int]]:
    """The expected acceptance of each drafter's judged positions, and the verdicts that the logged draws contradict."""
    expected: dict[str, tuple[int, Fraction]] = {}
    positions = misses = 0
    for block in blocks:
        verdict, proposal = block.verdict, block.event
        if block.fates["judged"] == 0 or verdict is None:
            continue
        q_list = proposal.get("q")
        if q_list is None or len(q_list) != block.n:
            continue
        unusable = False
        for i in range(block.fates["judged"]):
            if not (logged(verdict.get("p"), i) and logged(q_list, i)):
                continue
            p, q = entry(verdict.get("p"), i), entry(q_list, i)
            if p is None or q is None or not 0 <= p <= 1 or not 0 < q <= 1:
                unusable = True
                continue
            count, total = expected.get(block.drafter, (0, Fraction(0)))
            expected[block.drafter] = (count + 1, total + min(Fraction(1), p / q))
            u = entry(verdict.get("u"), i)
            if u is not None:
                positions += 1
                if (u * q <= p) != (i < block.fates["accepted"]):
                    misses += 1
        if unusable:
            notes.add("probability_out_of_range")
    return expected, (positions, misses)


def byte_figures(blocks: list[Block]) -> dict[str, tuple[int, int]]:
    """The bytes submitted and accepted, over the blocks that have a byte length for each submitted token."""
    found: dict[str, tuple[int, int]] = {}
    for block in blocks:
        lengths = block.event.get("submitted_bytes")
        if lengths is None and not block.translated:
            lengths = block.event.get("bytes")
        if block.n == 0 or lengths is None or len(lengths) != block.n or None in lengths:
            continue
        submitted, accepted = found.get(block.drafter, (0, 0))
        found[block.drafter] = (submitted + sum(lengths), accepted + sum(lengths[: block.fates["accepted"]]))
    return found


def thrash_figures(blocks: list[Block]) -> dict[str, int]:
    """Rounds that start where the round before them on their branch started, and pairs of rounds that won nothing."""
    branches: dict[tuple[str, str], dict[int, list[Block]]] = {}
    for (request, branch, number), members in by_round(blocks).items():
        branches.setdefault((request, branch), {})[number] = members

    reproposal_rounds = no_progress_rounds = reproposed_tokens = 0
    for rounds in branches.values():
        before: list[Block] | None = None
        for number in sorted(rounds):
            now = rounds[number]
            if before is not None:
                if first_start(now) == first_start(before):
                    reproposal_rounds += 1
                    reproposed_tokens += add_up(now, "submitted")
                if won_nothing(now) and won_nothing(before):
                    no_progress_rounds += 1
            before = now
    return {
        "reproposal_rounds": reproposal_rounds,
        "no_progress_rounds": no_progress_rounds,
        "reproposed_tokens": reproposed_tokens,
    }


def first_start(members: list[Block]) -> int:
    """Where a round starts: the smallest start of its roots."""
    return min(block.start for block in members if block.parent is None)


def won_nothing(members: list[Block]) -> bool:
    """Whether a round refused a token and accepted none."""
    return add_up(members, "rejected") > 0 and add_up(members, "accepted") == 0


def consensus_figures(events: list[Event]) -> tuple[int, int]:
    """(fallback, asked): the steps that fell back, of those that asked. The first word on a step stands."""
    outcomes: dict[tuple[str, str], str] = {}
    for event in events:
        if event["type"] == "consensus":
            outcomes.setdefault((event["request"], event["step"]), event["outcome"])
    return (sum(1 for outcome in outcomes.values() if outcome == "fallback"), len(outcomes))


Shape = dict[str, Any]


def path_to(block: Block) -> tuple[int, int, int]:
    """The drafts before a block on its path; those on the path to its end that were accepted, and that reached the output."""
    depth = kept = 0
    for above, offset in block.ancestors():
        depth += offset
        kept += min(on_output(above), offset)
    return depth, depth + block.fates["accepted"], kept + on_output(block)


def on_output(block: Block) -> int:
    """The accepted drafts of a block that reached the output, unless its branch lost."""
    lost = block.verdict is not None and block.verdict.get("stop") == "branch_lost"
    return 0 if lost else block.fates["committed"]


def shape_of(members: list[Block]) -> Shape | None:
    """A round as an engine sees it; None where no engine would have."""
    verdicts = [b.verdict for b in members if b.verdict is not None and b.judgement is not None]
    stops = [verdict.get("stop") for verdict in verdicts]
    padding = not is_judged(members) and "padding" in stops
    if not is_judged(members) and not padding:
        return None
    ends = [path_to(b) for b in members if b.state == ALIVE and b.judgement is not None]
    kept, accepted = max([(kept, accepted) for _, accepted, kept in ends], default=(0, 0))
    if stops and all(stop == "branch_lost" for stop in stops):
        kept = accepted
    own_logged = any(b.verdict is not None and b.verdict.get("next") is not None for b in members if b.judgement)
    at_end = any(stop in ("eos", "length", "grammar") for stop in stops)
    if kept < accepted:
        own = 0
    elif own_logged:
        own = 1
    else:
        own = int(is_judged(members) and (accepted == 0 or not at_end))
    drafts = sum(b.n for b in members)
    chain = drafts == max(path_to(b)[0] + b.n for b in members)
    return {
        "drafts": drafts,
        "accepted": accepted,
        "kept": kept,
        "own": own,
        "ended": kept < accepted or (at_end and not own),
        "matched": matched(members, drafts, accepted) if chain else None,
        "padding": padding,
    }


def matched(members: list[Block], drafts: int, accepted: int) -> int | None:
    """The drafts that the verifier would have drawn, wherever they stand; None where the log does not tell."""
    if accepted + 1 >= drafts:
        return accepted
    total = 0
    for block in members:
        hits = [hit(block, i) for i in range(block.n)]
        if any(found is None for found in hits):
            return None
        total += sum(map(bool, hits))
    return max(total, accepted)


def hit(block: Block, i: int) -> bool | None:
    """Whether the verifier would have drawn one draft."""
    verdict, q_list = block.verdict or {}, block.event.get("q")
    p, u, gap = (entry(verdict.get(name), i) for name in ("p", "u", "gap"))
    q = entry(q_list, i) if q_list is not None and len(q_list) == block.n else None
    if p is not None and q is not None and u is not None and p >= 0 and q > 0 and 0 <= u <= 1:
        return u * q <= p
    return None if gap is None else gap <= 0


def counts_of(shapes: Iterable[Shape], stop: str, padding: bool, draftless: bool) -> dict[str, int | None]:
    """What an engine that counts so makes of rounds."""
    a = r = d = g = 0
    m: int | None = 0
    for shape in shapes:
        g += shape["kept"] + shape["own"]
        empty = not shape["drafts"]
        if (not padding or empty) if shape["padding"] else (empty and not draftless):
            continue
        r += 1
        m = None if m is None or shape["matched"] is None else m + shape["matched"]
        if shape["ended"] and stop in ("less_one", "exllama"):
            a += max(shape["kept"] - 1, 0)
            d += max(shape["kept"] - 1, 0) if stop == "exllama" else shape["drafts"]
        else:
            a += shape["kept"] if stop == "kept" else shape["accepted"]
            d += shape["drafts"]
    return {"A": a, "R": r, "D": d, "G": g, "M": m}


def counted_by_engines(blocks: list[Block]) -> dict[str, dict[str, int | None]]:
    """The counts of a few engines, which between them count in every way that there is; empty where no round was seen."""
    by_request: dict[str, list[Shape]] = {}
    for members in by_round(blocks).values():
        shape = shape_of(members)
        if shape is not None:
            by_request.setdefault(members[0].request, []).append(shape)
    if not by_request:
        return {}
    shapes = [shape for of_request in by_request.values() for shape in of_request]
    plain = [counts_of(of_request, "before", False, False) for of_request in by_request.values()]
    n = sum(1 for counts in plain if counts["R"] or counts["G"])
    out = {}
    for engine, (stop, padding, draftless, prefill) in ENGINE_WAYS.items():
        counts = counts_of(shapes, stop, padding, draftless)
        out[engine] = counts | {"G": (counts["G"] or 0) + (n if prefill else 0), "n": n}
    return out


ENGINE_WAYS = {
    "vllm": ("before", True, False, True),
    "llama-cpp": ("before", False, False, True),
    "exllama": ("exllama", False, False, False),
    "transformers": ("less_one", False, True, False),
    "mlx": ("kept", False, True, False),
}
"""Of an engine: which accepted drafts count in a round that ends the output; whether placeholders, and no draft, are a round; prefill's token."""


COUNTERS = ("rounds", "proposed", "accepted", "matched", "completion_tokens", "requests")


def engine_reports(events: list[Event], notes: Notes) -> dict[tuple[str, str], list[Event]]:
    """By drafter and window, the reports of an engine that count. Of a lifetime that is the last one of each source, and the last one before a
    counter fell by more than the half widths of its estimates."""
    found: dict[tuple[str, str], list[Event]] = {}
    running: dict[tuple[str, str], Event] = {}
    for event in events:
        if event["type"] != "tally":
            continue
        reports = found.setdefault((event["drafter"], event["window"]), [])
        if event["window"] != "lifetime":
            reports.append(event)
            continue
        run = (event["drafter"], event.get("source") or "")
        if run in running and fell(running[run], event):
            notes.add("counter_reset")
            reports.append(running[run])
        running[run] = event
    for (drafter, _), event in running.items():
        found[drafter, "lifetime"].append(event)
    return found


def fell(before: Event, after: Event) -> bool:
    """Whether a counter is lower than it was."""
    for name in (*COUNTERS, "reached", "drafted"):
        then, now = before.get(name), after.get(name)
        slack = sum(event.get("estimated", {}).get(name, 0) for event in (before, after))
        if then is None or now is None:
            continue
        pairs = zip(then, now, strict=False) if name in ("reached", "drafted") else [(then, now)]
        if any(a - b > slack for a, b in pairs):
            return True
    return False


def engine_figures(events: list[Event], notes: Notes) -> dict[str, dict[str, Any]]:
    """Of each drafter the window that covers most: what it is, and its ratios as (numerator, denominator, offset, least, greatest)."""
    windows: dict[str, dict[str, list[Event]]] = {}
    for (drafter, window), reports in engine_reports(events, notes).items():
        windows.setdefault(drafter, {})[window] = reports
    out = {}
    for drafter, mine in windows.items():
        covers = {
            window: (sum(e.get("rounds", 0) for e in es), sum(e.get("proposed", 0) for e in es), len(es))
            for window, es in mine.items()
        }
        window = min(w for w in mine if covers[w] == max(covers.values()))
        reports = mine[window]
        full = [event.get("max_draft_tokens") for event in reports]
        out[drafter] = {
            "window": window,
            "reports": len(reports),
            "sources": len({event.get("source") for event in reports}),
            "max_draft_tokens": full[0] if len(set(full)) == 1 else None,
            "counts": {
                name: sum(event.get(name, 0) for event in reports)
                for name in COUNTERS
                if any(name in event for event in reports)
            },
            "ratios": engine_ratios(reports),
        }
    return out


def engine_ratios(reports: list[Event]) -> dict[str, tuple[int, int, int, Fraction, Fraction] | None]:
    """Ratios of sums over those reports that have both counts; None where none has, or there is nothing to divide by."""
    most = max((len(event.get("reached", [])) for event in reports), default=0)
    out = {
        "engine_draft_acceptance": engine_ratio(reports, "accepted", "proposed", share=True),
        "engine_acceptance_length": engine_ratio(reports, "accepted", "rounds", offset=1),
    }
    output = engine_ratio(reports, "completion_tokens", "rounds")
    if output:
        out["engine_output_per_round"] = output
    for i in range(1, most + 1):
        out[f"engine_position_reach_{i}"] = engine_ratio(reports, i, "rounds", share=True)
        out[f"engine_position_acceptance_{i}"] = engine_hazard(reports, i)
    return out


def engine_hazard(reports: list[Event], i: int) -> tuple[int, int, int, Fraction, Fraction] | None:
    """Rounds that accepted i tokens of those that accepted one less, over the reports that have that position; what an estimate may be off by is that
    of all reports with positions."""
    listed = [event for event in reports if event.get("reached") is not None]
    there = [e for e in listed if len(e["reached"]) >= i and (i > 1 or e.get("rounds") is not None)]
    above = sum(event["reached"][i - 1] for event in there)
    below = sum(event["reached"][i - 2] if i > 1 else event["rounds"] for event in there)
    if not below:
        return None
    up = sum(event.get("estimated", {}).get("reached", 0) for event in listed)
    down = sum(event.get("estimated", {}).get("reached" if i > 1 else "rounds", 0) for event in listed)
    least, greatest = Fraction(max(above - up, 0), below + down), Fraction(above + up, max(below - down, 1))
    return above, below, 0, least, min(greatest, Fraction(1))


def engine_ratio(
    reports: list[Event], top: int | str, bottom: int | str, *, offset: int = 0, share: bool = False
) -> tuple[int, int, int, Fraction, Fraction] | None:
    """One ratio; a position stands for the rounds that accepted at least so many tokens."""

    def of(event: Event, what: int | str) -> int | None:
        if isinstance(what, str):
            number: int | None = event.get(what)
            return number
        reached = event.get("reached")
        return None if reached is None else sum(reached[what - 1 : what])

    def half(event: Event, what: int | str) -> int:
        name = what if isinstance(what, str) else "reached"
        width: int = event.get("estimated", {}).get(name, 0)
        return width

    both = [event for event in reports if of(event, top) is not None and of(event, bottom) is not None]
    if isinstance(top, int) and not any(len(event["reached"]) >= top for event in both):
        return None
    above, below = (sum(of(event, what) or 0 for event in both) for what in (top, bottom))
    if not below:
        return None
    up, down = (sum(half(event, what) for event in both) for what in (top, bottom))
    least = Fraction(max(above - up, 0), below + down)
    greatest = Fraction(above + up, max(below - down, 1))
    return above, below, offset, least + offset, (min(greatest, Fraction(1)) if share else greatest) + offset


def figures(events: list[Event]) -> dict[str, Any]:
    """All figures of a trace, from its events in file order."""
    blocks, notes = read(events)
    expected, recomputed = probability_figures(blocks, notes)
    engine = engine_figures(events, notes)
    return {
        "totals": total_figures(blocks),
        "drafters": drafter_figures(blocks),
        "shared": shared_figures(blocks),
        "blame": blame_figures(blocks),
        "composition": composition_figure(blocks),
        "inherited": inherited_figure(blocks),
        "expected": expected,
        "recomputed": recomputed,
        "bytes": byte_figures(blocks),
        "thrash": thrash_figures(blocks),
        "consensus": consensus_figures(events),
        "notes": notes.counts,
        "marginal": marginal_figures(blocks),
        "shapley": shapley_figures(blocks),
        "engines": counted_by_engines(blocks),
        "engine": engine,
    }
