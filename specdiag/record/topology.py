"""Who proposes in a round, and on which chain. Never chosen by an outcome, so that the output keeps the verifier's law."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from specdiag.record.lines import Member


class Topology(StrEnum):
    """`chain`: all extend one shared prefix in turn. `turns`: one drafter a round. `shadow`: every drafter on each prefix, all verified, one
    kept in turn. `branches`: each drafter has a line of its own."""

    chain = "chain"
    turns = "turns"
    shadow = "shadow"
    branches = "branches"


def chains(
    topology: Topology, members: Sequence[Member], round: int, partition: bool, alone_every: int | None = None
) -> list[list[Member]]:
    """The chains of a round; the first one is kept, the others are judged and lost. With `partition`, drafters of one tokenizer share a
    chain, and the tokenizers take turns. With `alone_every` K, the last of every K rounds of a shared chain is one drafter's alone, in turn:
    what it reaches there is on the same requests, and at the same time, as what it reaches in company."""
    if topology is Topology.chain:
        groups = partitioned(members) if partition else [list(members)]
        turns = 0 if alone_every is None else (round + 1) // alone_every
        if alone_every is not None and (round + 1) % alone_every == 0:
            return [[members[(turns - 1) % len(members)]]]
        return [groups[(round - turns) % len(groups)]]
    shift = round % len(members)
    turned = [[member] for member in (*members[shift:], *members[:shift])]
    return turned if topology is Topology.shadow else turned[:1]


def partitioned(members: Sequence[Member]) -> list[list[Member]]:
    """Drafters by tokenizer, in the order of their first."""
    groups: dict[str, list[Member]] = {}
    for member in members:
        groups.setdefault(member.tokenizer, []).append(member)
    return list(groups.values())
