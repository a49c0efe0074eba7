"""How a token fares: its chance of acceptance in its context, and the ratio test that decides it.

A position has a chance h of acceptance, the mean of min(1, p/q) over what its drafter might have proposed there. What it did propose has
one p and one q: with chance h² the ratio p/q is 1 or more, else it is drawn from a Beta law with mean h/(1+h), so that the mean of min(1, p/q)
is h² + (1-h²)·h/(1+h) = h.
The verdict is that of the test on the logged numbers, u·q <= p, so that a reader comes to the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specdiag.simulate.parameters import Parameters
from specdiag.simulate.policy import Bools, Ints, Plan, Reals, tokenizer_groups

DIGITS = 6  # of a logged probability; verdicts are decided on what is logged
VOCABULARY = 32_000
THINKING = 7  # the id of the thinking token, in the vocabulary of who has one


@dataclass(frozen=True, slots=True)
class Contexts:
    """Chances of acceptance in the contexts of one attempt, by request and drafter: of a block's first token, and of any later one."""

    first: Reals
    later: Reals
    thinking: Bools


@dataclass(frozen=True, slots=True)
class Judged:
    """Chains of tokens with their verdicts: `accepted[i]` tokens of the `size[i]` of chain i were accepted, the next was refused."""

    size: Ints
    accepted: Ints
    tokens: Ints
    p: Reals
    q: Reals
    u: Reals


def contexts(parameters: Parameters, domain: int, effect: Reals, rng: np.random.Generator) -> Contexts:
    """One context for each request of this domain: whether a thinking token opens the block, and the chances that follow."""
    drafters = parameters.drafters
    own = [d.domain == drafters[domain].domain for d in drafters]
    ordinary = np.array([d.on_domain if mine else d.off_domain for d, mine in zip(drafters, own, strict=True)])
    thinking = np.array([d.thinking_on if mine else d.thinking_off for d, mine in zip(drafters, own, strict=True)])
    opens = rng.random((len(effect), len(drafters))) < [d.thinking for d in drafters]
    later = shifted(ordinary[None, :], effect[:, None])
    return Contexts(np.where(opens, shifted(thinking[None, :], effect[:, None]), later), later, opens)


def shifted(chance: Reals, effect: Reals) -> Reals:
    """A chance moved by an effect on the logit."""
    return 1 / (1 + np.exp(-(np.log(chance / (1 - chance)) + effect)))


def judge_plan(parameters: Parameters, chain: Plan, there: Contexts, rng: np.random.Generator) -> Judged:
    """Verify the leading chains."""
    end = np.cumsum(chain.size, axis=1)
    begin = end - chain.size
    position = np.arange(int(end[:, -1].max()))
    block = np.minimum((position[None, :, None] >= end[:, None, :]).sum(axis=2), chain.size.shape[1] - 1)
    author = np.take_along_axis(chain.drafter, block, 1)
    opens = position == np.take_along_axis(begin, block, 1)
    row = np.arange(len(author))[:, None]
    chance = np.where(opens, there.first[row, author], there.later[row, author])
    group = tokenizer_groups(parameters)[chain.drafter]
    seam = np.zeros(group.shape, bool)
    seam[:, 1:] = group[:, 1:] != group[:, :-1]
    chance = np.where(opens & np.take_along_axis(seam, block, 1), chance * (1 - parameters.splice), chance)
    return judge(chance, end[:, -1], opens & there.thinking[row, author], rng)


def judge(chance: Reals, size: Ints, thinking: Bools, rng: np.random.Generator) -> Judged:
    """The ratio test at every position, and the first refusal of each chain."""
    shape = chance.shape
    surely = rng.random(shape) < chance**2
    ratio = np.where(surely, 1 + rng.exponential(0.5, shape), rng.beta(3 * chance / (1 + chance), 3 / (1 + chance)))
    q = np.round(rng.uniform(0.05, 0.9, shape), DIGITS)
    p: Reals = np.round(np.minimum(1.0, q * ratio), DIGITS).astype(np.float64)
    u = np.round(rng.random(shape), DIGITS)
    refused = (u * q > p) & (np.arange(shape[1]) < size[:, None])
    accepted = np.where(refused.any(axis=1), np.argmax(refused, axis=1), size)
    tokens = np.where(thinking, THINKING, rng.integers(THINKING + 1, VOCABULARY, shape))
    return Judged(size, accepted.astype(np.int64), tokens, p, q, u)
