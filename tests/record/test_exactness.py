"""Whatever drafters propose, the output has the verifier's own law; a sampler with a fault has not, and the same test catches it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from specdiag.record.drafting import LookupDrafter, ModelDrafter, ModelVerifier
from specdiag.record.laws import Law, Sampling, draw, laws
from specdiag.record.lines import Member
from specdiag.record.protocols import Draft, Drafter, Rows
from specdiag.record.topology import Topology
from specdiag.record.verify import Rule, Ruling, judge
from specdiag.record.vocabulary import Mapping
from tests.record.toys import OTHER, VERIFIER, ToyModel, ToyTokenizer, emitted, excess, law

OURS, THEIRS = ToyTokenizer(VERIFIER, "ours"), ToyTokenizer(OTHER, "theirs")
JUDGE = ModelVerifier("verifier", ToyModel(OURS, 1), Sampling(0.8))
PROMPTS = (b"ab a bc", b"ab a bc\xc3")
"""The second one ends in the middle of a character."""


def _model(name: str, tokenizer: ToyTokenizer, sampling: Sampling, mapping: Mapping, seed: int) -> ModelDrafter:
    return ModelDrafter(name, ToyModel(tokenizer, seed), sampling, OURS, mapping)


DRAFTERS: dict[str, Drafter] = {
    "same": _model("same", OURS, Sampling(), Mapping.intersection, 2),
    "truncated": _model("truncated", OURS, Sampling(0.6, 5, 0.9), Mapping.intersection, 3),
    "greedy": _model("greedy", OURS, Sampling(0), Mapping.intersection, 4),
    "intersection": _model("intersection", THEIRS, Sampling(0.9), Mapping.intersection, 5),
    "string": _model("string", THEIRS, Sampling(0.7), Mapping.string, 6),
    "lookup": LookupDrafter("lookup", OURS),
}


def members(*names: str, tokens: int = 3) -> list[Member]:
    """These drafters, as the loop uses them."""
    return [Member(DRAFTERS[name], tokens, name, number) for number, name in enumerate(names)]


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("rule", [Rule.rejection, Rule.exact_match])
@pytest.mark.parametrize("name", DRAFTERS)
def test_each_drafter_leaves_the_law_as_it_is(name: str, rule: Rule, prompt: bytes) -> None:
    """Pairs of emitted tokens come as often as the verifier alone gives them, for every mapping and rule."""
    counts = emitted(members(name), JUDGE, prompt, rule=rule, draws=1000)
    assert excess(counts, law(JUDGE, prompt)) < 1


@pytest.mark.parametrize("topology", [Topology.chain, Topology.turns, Topology.shadow])
def test_several_drafters_leave_the_law_as_it_is(topology: Topology) -> None:
    """So they do on one chain, in turns, and where all are judged and one is kept."""
    counts = emitted(members(*DRAFTERS, tokens=2), JUDGE, PROMPTS[0], topology=topology, length=3, draws=2000)
    assert excess(counts, law(JUDGE, PROMPTS[0], 3)) < 1


@pytest.mark.parametrize("name", DRAFTERS)
def test_greedy_is_the_likeliest_text(name: str) -> None:
    """Under the greedy rule there is one output, the verifier's own."""
    judge_plain = ModelVerifier("verifier", ToyModel(OURS, 1), Sampling())
    counts = emitted(members(name), judge_plain, PROMPTS[0], rule=Rule.greedy, draws=5, length=12)
    context = OURS.encode(PROMPTS[0])
    for _ in range(12):
        context.append(int(judge_plain.score(context, ())[0].argmax()))
    assert counts == {tuple(context[-12:]): 5}


def test_an_end_of_text_ends_the_output() -> None:
    """Nothing is emitted behind a token that ends a text, wherever on a chain it was accepted, and the law stays."""
    end = frozenset({2})
    verifier = ModelVerifier("verifier", ToyModel(OURS, 1, end=end), Sampling(0.8))
    drafter = ModelDrafter("d", ToyModel(OURS, 2, end=end), Sampling(), OURS, Mapping.intersection)
    both = [Member(drafter, 3, "x", number) for number in range(2)]
    counts = emitted(both, verifier, PROMPTS[0], length=3, draws=2000)
    assert all(2 not in output[:-1] for output in counts)
    assert excess(counts, law(verifier, PROMPTS[0], 3)) < 1


def no_residual(
    rule: Rule, tokens: Sequence[int], q: Sequence[Law | None], p: Rows, rng: np.random.Generator
) -> Ruling:
    """Corrects from p, not from what the refusal leaves over."""
    ruling = judge(rule, tokens, q, p, rng)
    if ruling.kind == "bonus":
        return ruling
    return replace(ruling, token=draw(p[ruling.accepted], rng.random()))


def _other_q(rule: Rule, tokens: Sequence[int], q: Sequence[Law | None], p: Rows, rng: np.random.Generator) -> Ruling:
    """Judges with the law of another drafter."""
    other = laws(ToyModel(OURS, 99).logits([0], tokens), Sampling())
    return judge(rule, tokens, list(other[: len(tokens)]), p, rng)


def _lenient(rule: Rule, tokens: Sequence[int], q: Sequence[Law | None], p: Rows, rng: np.random.Generator) -> Ruling:
    """Takes every probability of the drafter for four fifths of what it is."""
    return judge(rule, tokens, [None if row is None else row * 0.8 for row in q], p, rng)


def _stale_bonus(
    rule: Rule, tokens: Sequence[int], q: Sequence[Law | None], p: Rows, rng: np.random.Generator
) -> Ruling:
    """Draws the bonus from the law one position too early."""
    ruling = judge(rule, tokens, q, p, rng)
    return replace(ruling, token=draw(p[-2], rng.random())) if ruling.kind == "bonus" else ruling


@pytest.mark.parametrize("fault", [no_residual, _other_q, _lenient, _stale_bonus])
def test_a_faulty_sampler_is_caught(fault: Callable[..., Ruling]) -> None:
    """The test that an exact loop passes fails with each of four faults planted."""
    counts = emitted(members("same", tokens=1), JUDGE, PROMPTS[0], draws=2000, judged=fault)
    assert excess(counts, law(JUDGE, PROMPTS[0])) > 1.5


class _Untrue:
    """A drafter that names another temperature than it draws with."""

    name = "untrue"

    def propose(self, context: bytes, n: int, rng: np.random.Generator) -> Draft:
        """Draws sharply, says it was flat."""
        draft = _model("x", OURS, Sampling(0.5), Mapping.intersection, 2).propose(context, n, rng)
        model = ToyModel(OURS, 2)
        rows = laws(model.logits(OURS.encode(context), draft.submitted), Sampling())[:-1]
        return replace(draft, q=rows)


def test_a_drafter_with_the_wrong_q_is_caught() -> None:
    """A logged temperature that is not the one drawn with bends the output, and the test sees it."""
    counts = emitted([Member(_Untrue(), 2, "x", 0)], JUDGE, PROMPTS[0], draws=2000)
    assert excess(counts, law(JUDGE, PROMPTS[0])) > 1.5
