"""What a round counts as, engine by engine: the same round may be three accepted drafts, two, or not there at all.

`Shapes` holds rounds in columns, with what any engine looks at; `counted` gives what one way to count makes of them. Sources: the module of
each engine; the perturbed rounds of docs/definitions.md.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from specdiag.engines.definitions import Counting

Ints = NDArray[np.int64]

UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Shapes:
    """Rounds, a row each. `drafts`: submitted, of a tree its nodes; `length`: drafts on the longest path; `accepted`: drafts accepted on
    one path; `kept`: those of them that reached the output; `own`: 1 where a token of the verifier's own did; `ended`: 1 where the output
    ended inside the accepted drafts; `matched`: drafts that the verifier would have drawn, wherever they stand, or UNKNOWN; `padding`: 1 for
    placeholders."""

    drafts: Ints
    length: Ints
    accepted: Ints
    kept: Ints
    own: Ints
    ended: Ints
    matched: Ints
    padding: Ints

    def __len__(self) -> int:
        return len(self.drafts)


@dataclass(frozen=True, slots=True)
class Counted:
    """What rounds count as: per row, A accepted, R 1 or 0, D proposed, G output tokens, M matches (UNKNOWN where they are not known), F 1 where
    everything was accepted, P 1 where the verifier passed over it."""

    A: Ints
    R: Ints
    D: Ints
    G: Ints
    M: Ints
    F: Ints
    P: Ints


def counted(shapes: Shapes, how: Counting) -> Counted:
    """What these rounds count as."""
    drafted = shapes.drafts > 0
    seen = np.where(shapes.padding > 0, drafted & how.padding, drafted | how.draftless)
    ended = shapes.ended > 0
    before_last = np.maximum(shapes.kept - 1, 0)
    accepted, drafts = shapes.accepted, shapes.drafts
    if how.stop == "kept":
        accepted = shapes.kept
    elif how.stop == "less_one":
        accepted = np.where(ended, before_last, accepted)
    elif how.stop == "exllama":
        accepted, drafts = np.where(ended, before_last, accepted), np.where(ended, before_last, drafts)
    return Counted(
        A=np.where(seen, accepted, 0),
        R=seen.astype(np.int64),
        D=np.where(seen, drafts, 0),
        G=shapes.kept + shapes.own,
        M=np.where(seen, shapes.matched, 0),
        F=(seen & (shapes.accepted == shapes.length)).astype(np.int64),
        P=(seen | (~drafted & (shapes.padding == 0))).astype(np.int64),
    )


def key_of(how: Counting) -> str:
    """A name of a way to count, the same in every process."""
    return " ".join(map(str, astuple(how)))
