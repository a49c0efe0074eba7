"""What a round counts as, engine by engine: the same round may be three accepted drafts, two, or not there at all.

A `Shapes` holds rounds in columns, with what any engine looks at; `counted` gives what one way to count makes of them. Sources: the module of
each engine; the perturbed rounds of docs/definitions.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Counting:
    """How an engine counts a round.

    `stop`: what a stop inside the accepted drafts does to them. `before`: nothing, they are counted first; `kept`: those count that reached the
    output; `recomputed`: the tokens that reached the output less one; `abandoned`: the drafts before the one that ended the output, which
    itself, like all behind it, counts as neither accepted nor rejected. `draftless`: whether a round without a draft is a round.
    `padded`: whether a round of placeholders is one. `full_blocks`: D is K a round, whatever was proposed. `replay`: a round that was not
    accepted whole runs again from its accepted drafts and one more, which then all match. `prefill_round`: prefill is a round of one token.
    """

    stop: Literal["before", "kept", "recomputed", "abandoned"] = "before"
    draftless: bool = False
    padded: bool = False
    full_blocks: bool = False
    replay: bool = False
    prefill_round: bool = False

    @property
    def key(self) -> str:
        """A name of it, the same in every process."""
        return " ".join(f"{f.name}={getattr(self, f.name)}" for f in fields(self))


PLAIN = Counting()


@dataclass(frozen=True, slots=True)
class Shapes:
    """Rounds, a row each. `proposed`: submitted drafts, of a tree its nodes; `length`: drafts on the longest path; `accepted`: drafts accepted on
    one path; `kept`: those of them that reached the output; `own`: 1 where a token of the verifier's own did; `ended`: 1 where the output
    ended inside the accepted drafts; `matches`: drafts that the verifier would have drawn, wherever they stand, or UNKNOWN; `padding`: 1 for
    placeholders."""

    proposed: Ints
    length: Ints
    accepted: Ints
    kept: Ints
    own: Ints
    ended: Ints
    matches: Ints
    padding: Ints

    def __len__(self) -> int:
        return len(self.proposed)


@dataclass(frozen=True, slots=True)
class Counted:
    """What rounds count as: per row, A accepted, R 1 or 0, D proposed, G output tokens, M matches (UNKNOWN where they are not known)."""

    A: Ints
    R: Ints
    D: Ints
    G: Ints
    M: Ints


def counted(shapes: Shapes, how: Counting, full: int = 0) -> Counted:
    """What these rounds count as. `full`: the drafts of a full block, for `full_blocks`."""
    drafts = shapes.proposed > 0
    seen = np.where(shapes.padding > 0, how.padded, drafts | how.draftless)
    ended = shapes.ended > 0
    before_last = np.maximum(shapes.kept - 1, 0)
    accepted = shapes.accepted
    proposed = shapes.proposed
    if how.stop == "kept":
        accepted = shapes.kept
    elif how.stop == "recomputed":
        accepted = np.where(ended, before_last, accepted)
    elif how.stop == "abandoned":
        accepted = np.where(ended, before_last, accepted)
        proposed = np.where(ended, before_last, proposed)
    if how.replay:
        accepted = accepted + (drafts & (shapes.padding == 0) & (shapes.accepted < shapes.length))
    if how.full_blocks:
        proposed = np.full(len(shapes), full, np.int64)
    return Counted(
        A=np.where(seen, accepted, 0),
        R=seen.astype(np.int64),
        D=np.where(seen, proposed, 0),
        G=shapes.kept + shapes.own,
        M=np.where(seen, shapes.matches, 0),
    )
