"""Which of two rules an `accept rate` of SGLang follows, and the length of a full block: both from the figures themselves.

With L the mean accepted length (verifier's token included) and K drafts of a full block, 0.5.4 to 0.5.10 print L / (K + 1), later releases
(L - 1) / K. K is a whole number, and the same in all lines of a server, so few lines leave one rule: `accept len: 1.00, accept rate: 0.11` can
only be the older one, with K = 8. Source: pull requests #13212 and #23530; the formulas in the releases that engines/sglang.py names.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction

from specdiag.engines.printed import Printed, parsed

NEWER, OLDER = "sglang", "sglang-0.5.4"
LONGEST = 128  # drafts of a block (nodes of a tree): no server is started with more

FORMULAS = {NEWER: "A / (R * K)", OLDER: "(A + R) / (R * (K + 1))"}


@dataclass(frozen=True, slots=True)
class Blocks:
    """The K that all figures so far leave, under each rule."""

    newer: frozenset[int] = frozenset(range(1, LONGEST + 1))
    older: frozenset[int] = frozenset(range(1, LONGEST + 1))

    def with_(self, length: str, rate: str) -> Blocks:
        """What one more pair of figures leaves."""
        found = of(length, rate)
        return Blocks(self.newer & found.newer, self.older & found.older)

    @property
    def rule(self) -> str | None:
        """The definitions that the figures follow; None where both rules can be, or neither."""
        if bool(self.newer) == bool(self.older):
            return None
        return NEWER if self.newer else OLDER

    @property
    def length(self) -> int | None:
        """K, where one number is left under the only rule that is."""
        found = (self.newer or self.older) if self.rule else frozenset[int]()
        return next(iter(found)) if len(found) == 1 else None


def known(length: int) -> Blocks:
    """Where K is known from elsewhere."""
    return Blocks(frozenset({length}), frozenset({length}))


@functools.lru_cache(maxsize=4096)
def of(length: str, rate: str) -> Blocks:
    """What one pair of printed figures leaves."""
    mean, share = parsed(length), parsed(rate)
    if mean is None or share is None or share.value - share.slack > 1:
        return Blocks(frozenset(), frozenset())
    every = range(1, LONGEST + 1)
    drafts = Printed(mean.value - 1, mean.slack)
    return Blocks(
        frozenset(k for k in every if _fits(drafts, k, share)), frozenset(k for k in every if _fits(mean, k + 1, share))
    )


def _fits(top: Printed, bottom: int, share: Printed) -> bool:
    """Whether top / bottom may be printed as this share."""
    return abs(top.value - share.value * bottom) <= top.slack + share.slack * Fraction(bottom)
