"""Counts the facts of a recorded trace, line by line from the JSON, with nothing of the analysis.

    python traces/facts.py TRACE.jsonl[.gz] -o TRACE.facts.json

For traces of one run that the strict reader takes: a verdict for each proposal, and each block extends a whole one that
stands on an earlier line, or committed text.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

Event = dict[str, Any]

NO_OUTPUT = ("branch_lost", "aborted", "padding")
"""Reasons to stop under which the verifier's own token reaches no output."""


class Block:
    """A proposal with its verdict, and the blocks with tokens that it stands behind, the first one first."""

    def __init__(self, proposal: Event, verdict: Event, above: list[Block]) -> None:
        self.proposal, self.verdict, self.above = proposal, verdict, above
        self.drafter: str = proposal["drafter"]
        self.round = (proposal["request"], proposal.get("branch") or "main", proposal["round"])
        self.size = len(proposal["submitted"] if "submitted" in proposal else proposal["tokens"])
        self.accepted: int = verdict["accepted"]
        self.refused_above = next((one.drafter for one in above if one.refuses), None)
        self.judged: int = 0 if self.refused_above else verdict.get("judged", min(self.accepted + 1, self.size))
        self.company: set[str] = set()
        if above and proposal["start"] != above[-1].proposal["start"] + above[-1].size:
            raise ValueError(f"{proposal['id']}: does not extend the whole of the block before it")

    @property
    def refuses(self) -> bool:
        """Whether one of its own tokens was refused."""
        return self.judged > self.accepted

    @property
    def refused_by(self) -> str | None:
        """The drafter whose refused token dropped what is behind it in this block, if any did."""
        return self.refused_above or (self.drafter if self.refuses else None)

    @property
    def dropped(self) -> int:
        """Its tokens that were never judged because a token before them was refused."""
        return self.size - self.judged if self.refused_by else 0

    def law(self) -> list[tuple[float, float, float | None]]:
        """p, q and u of the judged positions that have p and q; u is None where it was not logged."""
        q, p, u = self.proposal.get("q") or [], self.verdict.get("p") or [], self.verdict.get("u") or []
        if len(q) != self.size:
            return []
        logged = zip(p, q, [*u, *[None] * self.size], strict=False)
        return [one for one in list(logged)[: self.judged] if None not in one[:2]]


def blocks_of(events: list[Event]) -> list[Block]:
    """All blocks of a trace; a block stands behind the one that it extends."""
    verdicts = {(event["request"], event["proposal"]): event for event in events if event["type"] == "verdict"}
    found: dict[tuple[str, str], Block] = {}
    for event in events:
        if event["type"] != "proposal":
            continue
        parent = found[event["request"], event["parent"]] if event.get("parent") is not None else None
        above = [*parent.above, *([parent] if parent.size else [])] if parent else []
        block = Block(event, verdicts[event["request"], event["id"]], above)
        found[event["request"], event["id"]] = block
        for one in above if block.size else []:
            one.company.add(block.drafter)
            block.company.add(one.drafter)
    return list(found.values())


def counts(blocks: Iterable[Block]) -> dict[str, Any]:
    """Blocks, tokens, bytes and verdicts computed again."""
    total = Counter[str]()
    expected: list[float] = []
    for block in blocks:
        proposal, drafted = block.proposal, len(block.proposal["tokens"])
        sizes = proposal.get("submitted_bytes", proposal.get("bytes") if "submitted" not in proposal else None) or []
        law = block.law()
        again = [(place, u * q <= p) for place, (p, q, u) in enumerate(law) if u is not None]
        expected += [min(1.0, p / q) for p, q, _ in law]
        behind = block.size - block.judged
        total.update(
            {
                "abstained": not block.size,
                "blocks": bool(block.size),
                "drafted": drafted,
                "submitted": block.size,
                "judged": block.judged,
                "accepted": block.accepted,
                "rejected": block.refuses,
                "discarded": block.dropped,
                "unjudged": behind - block.dropped,
                "committed": block.verdict.get("committed", block.accepted),
                "fully_accepted": 0 < block.size == block.accepted,
                "drafted_bytes": sum(proposal.get("bytes") or []),
                "submitted_bytes": sum(sizes),
                "judged_bytes": sum(sizes[: block.judged]),
                "accepted_bytes": sum(sizes[: block.accepted]),
                "contexts_differ": proposal.get("context_digest") != block.verdict.get("context_digest"),
                "drafted_text_lost": bool(drafted and not block.size),
                "drafted_bytes_differ": bool(sizes or not block.size)
                and sum(sizes) != sum(proposal.get("bytes") or []),
                "recomputed": len(again),
                "misses": sum(kept != (place < block.accepted) for place, kept in again),
            }
        )
    mean = {"sum": round(math.fsum(expected), 6) if expected else None, "positions": len(expected)}
    return {**{name: int(number) for name, number in total.items()}, "expected_acceptance": mean}


def positions(blocks: list[Block]) -> list[list[int]]:
    """For each position within a block: how many blocks had it accepted, and how many judged."""
    longest = max((block.judged for block in blocks), default=0)
    return [
        [sum(block.accepted > place for block in blocks), sum(block.judged > place for block in blocks)]
        for place in range(longest)
    ]


def accepted_of(blocks: Iterable[Block]) -> list[int]:
    """Accepted and submitted tokens."""
    chosen = list(blocks)
    return [sum(block.accepted for block in chosen), sum(block.size for block in chosen)]


def drafter_facts(blocks: list[Block]) -> dict[str, Any]:
    """The counts of one drafter; alone: no block of another drafter before it on its chain."""
    curve = positions(blocks)
    return {
        "rounds": len({block.round for block in blocks}),
        **counts(blocks),
        "alone": accepted_of(b for b in blocks if all(one.drafter == b.drafter for one in b.above)),
        "shared": accepted_of(b for b in blocks if b.company - {b.drafter}),
        "first_token": curve[0] if curve else [0, 0],
        "positions": curve,
    }


def shared_facts(blocks: list[Block], tokenizer: dict[str, str]) -> dict[str, Any]:
    """Chains of several drafters: what was accepted of them, and what stood behind whose refused token."""
    shared = [block for block in blocks if block.company - {block.drafter}]
    rounds = {block.round for block in shared}
    dropped, at = Counter[tuple[str, str]](), Counter[tuple[str, int]]()
    for block in blocks:
        if block.dropped:
            dropped[str(block.refused_by), block.drafter] += block.dropped
    for block in shared:
        if block.refuses:
            at[block.drafter, block.accepted + 1] += 1
    return {
        "rounds": len(rounds),
        "joint_acceptance": accepted_of(shared),
        "truncated_rounds": len({block.round for block in shared if block.refuses}),
        "truncation_depth": sum(block.dropped for block in shared),
        "behind_another_tokenizer": sum(
            any(tokenizer[one.drafter] != tokenizer[block.drafter] for one in block.above) for block in shared
        ),
        "refused_at": {
            name: {str(place): number for (_, place), number in group}
            for name, group in groupby(sorted(at.items()), key=lambda item: item[0][0])
        },
        "dropped_behind": {
            name: {whose: number for (_, whose), number in group}
            for name, group in groupby(sorted(dropped.items()), key=lambda item: item[0][0])
        },
    }


def vote_facts(events: list[Event]) -> dict[str, Any]:
    """Outcomes of the votes, and the effects by what became of their step."""
    votes = {(event["request"], event["step"]): event for event in events if event["type"] == "consensus"}
    effects, behind = Counter[str](), Counter[str]()
    for event in events:
        if event["type"] == "effect":
            effects[event["action"]] += 1
            if event["action"] == "commit":
                behind[votes[event["request"], event["step"]]["outcome"]] += 1
    return {
        "steps": len(votes),
        "outcomes": dict(sorted(Counter(vote["outcome"] for vote in votes.values()).items())),
        "effects": dict(sorted(effects.items())),
        "commits_by_outcome": dict(sorted(behind.items())),
    }


def facts(path: Path) -> dict[str, Any]:
    """All figures that a reader of the trace must arrive at."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    events: list[Event] = [json.loads(line) for line in text.splitlines()]
    blocks = blocks_of(events)
    declared = {one["id"]: one for event in events if event["type"] == "trace" for one in event["drafters"]}
    own = {
        block.round
        for block in blocks
        if "next" in block.verdict
        and block.verdict.get("stop") not in NO_OUTPUT
        and block.verdict.get("committed", block.accepted) == block.accepted
    }
    total = counts(blocks)
    return {
        "trace": path.name.split(".")[0],
        "totals": {
            "requests": len({block.round[0] for block in blocks}),
            "rounds": len({block.round for block in blocks}),
            **total,
            "verifier_tokens": len(own),
            "output_tokens": total["committed"] + len(own),
        },
        "drafters": {
            name: drafter_facts([block for block in blocks if block.drafter == name]) for name in sorted(declared)
        },
        "shared": shared_facts(blocks, {name: one["tokenizer"] for name, one in declared.items()}),
        "votes": vote_facts(events),
    }


def written(found: dict[str, Any]) -> str:
    """As JSON with each list of numbers, and each pair of a sum, on a line of its own."""
    text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    for inner in (r"\[[^\[\]{}]*\]", r"\[(?:\[[^\[\]{}]*\]|[\s,])*\]", r'\{\s+"sum"[^{}]*\}'):
        text = re.sub(
            inner, lambda match: re.sub(r"(?<=[\[{])\s+|\s+(?=[\]}])", "", re.sub(r"\s+", " ", match[0])), text
        )
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Count the facts of a recorded trace.")
    parser.add_argument("trace", metavar="TRACE", type=Path)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True)
    options = parser.parse_args()
    options.output.write_text(written(facts(options.trace)), encoding="utf-8")
