"""From specifications to drafters and a verifier, and to the header that says what ran."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from specdiag.errors import UsageError
from specdiag.record import vocabulary
from specdiag.record.backends import Models, Spec, parse
from specdiag.record.backends.options import only
from specdiag.record.drafting import LookupDrafter, ModelDrafter, ModelVerifier
from specdiag.record.laws import Sampling
from specdiag.record.lines import Member, Prompt
from specdiag.record.protocols import Tokenizer
from specdiag.record.verify import Rule
from specdiag.version import __version__

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class Cast:
    """Everybody that takes part, with what the header says of each."""

    members: list[Member]
    verifier: ModelVerifier
    drafters: list[dict[str, Any]]
    judge: dict[str, Any]
    tokenizers: dict[str, dict[str, Any]]
    facts: dict[str, str]


def cast(drafters: Sequence[str], verifier: str, rule: Rule, mapping: vocabulary.Mapping) -> Cast:
    """Load all models. A greedy verifier is scored with its plain law: temperature 1, no truncation."""
    specs = [parse(text) for text in drafters]
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        raise UsageError(
            "two drafters have the same name", "Write --drafter NAME=KIND:OPTIONS with names of their own."
        )
    models, facts = Models(), dict[str, str]()
    judge_spec = parse(verifier, "verifier")
    if judge_spec.kind == "lookup":
        raise UsageError("lookup is no verifier", "Give a model.")
    model = models.load(judge_spec.kind, _backend_options(judge_spec))
    asked = _sampling(judge_spec)
    judge = ModelVerifier(judge_spec.name, model, Sampling() if rule is Rule.greedy else asked)
    facts |= {f"verifier.{key}": value for key, value in model.facts().items()}
    tokenizers = {model.tokenizer.fingerprint: model.tokenizer}
    members, declared = [], []
    for number, spec in enumerate(specs):
        member, tokenizer, said = _member(number, spec, judge, models, mapping)
        tokenizers.setdefault(tokenizer.fingerprint, tokenizer)
        members.append(member)
        facts |= {f"{spec.name}.{key}": value for key, value in said.pop("facts").items()}
        declared.append(said | {"tokenizer": tokenizer})
    titles = _titles(tokenizers)
    greedy = Sampling(temperature=0) if rule is Rule.greedy else asked
    return Cast(
        members,
        judge,
        [said | {"tokenizer": titles[said["tokenizer"].fingerprint]} for said in declared],
        {"id": judge.name, "model": model.name, "tokenizer": titles[model.tokenizer.fingerprint], **_regime(greedy)},
        {titles[mark]: {"vocab_size": one.size, "fingerprint": mark} for mark, one in tokenizers.items()},
        facts,
    )


def _member(
    number: int, spec: Spec, judge: ModelVerifier, models: Models, mapping: vocabulary.Mapping
) -> tuple[Member, Tokenizer, dict[str, Any]]:
    """A drafter, its tokenizer, and what the header says of it."""
    tokens = _number(spec, "tokens", int, 4, 1, 64)
    drafter: LookupDrafter | ModelDrafter
    said: dict[str, Any] = {"id": spec.name, "max_draft_tokens": tokens}
    if spec.kind == "lookup":
        only(spec.options, spec.name, "tokens", "longest")
        drafter = LookupDrafter(spec.name, judge.tokenizer, _number(spec, "longest", int, 4, 1, 32))
        tokenizer = judge.tokenizer
        said |= {"model": "lookup in the context", "kind": "ngram", "temperature": 0.0, "facts": {}}
    else:
        sampling = _sampling(spec)
        model = models.load(spec.kind, _backend_options(spec))
        tokenizer = model.tokenizer
        way = _mapping(spec, mapping)
        drafter = ModelDrafter(spec.name, model, sampling, judge.tokenizer, way)
        facts = dict(model.facts())
        if not drafter.crossing.same:
            facts["map"] = way.value
        kind = "ngram" if spec.kind == "ngram" else "model"
        said |= {"model": model.name, "kind": kind, **_regime(sampling), "facts": facts}
    return Member(drafter, tokens, tokenizer.fingerprint, number), tokenizer, said


def _mapping(spec: Spec, default: vocabulary.Mapping) -> vocabulary.Mapping:
    asked = spec.options.get("map", default.value)
    if asked not in list(vocabulary.Mapping):
        raise UsageError(f"{spec.name}: map={asked}: no such way", "Give intersection or string.")
    return vocabulary.Mapping(asked)


def _sampling(spec: Spec) -> Sampling:
    return Sampling(
        _number(spec, "temperature", float, 1.0, 0, 100),
        _number(spec, "top_k", int, 0, 0, 10**9),
        _number(spec, "top_p", float, 1.0, 1e-9, 1),
    )


def _regime(sampling: Sampling) -> dict[str, Any]:
    return {
        "temperature": sampling.temperature,
        "top_k": sampling.top_k or None,
        "top_p": sampling.top_p if sampling.top_p < 1 else None,
    }


def _backend_options(spec: Spec) -> dict[str, str]:
    """The options that are the backend's own."""
    ours = {"temperature", "top_k", "top_p", "tokens", "map"}
    return {key: value for key, value in spec.options.items() if key not in ours}


def _number(spec: Spec, key: str, kind: Callable[[str], Number], default: Number, least: float, most: float) -> Number:
    text = spec.options.get(key)
    if text is None:
        return default
    try:
        value = kind(text)
    except ValueError:
        value = kind("-1")
    if not math.isfinite(value) or not least <= value <= most:
        raise UsageError(f"{spec.name}: {key}={text}: no such value", f"Give {least:g} to {most:g}.")
    return value


def _titles(tokenizers: Mapping[str, Tokenizer]) -> dict[str, str]:
    """A name for each tokenizer; two of one name are told apart by their fingerprints."""
    names = [tokenizer.name for tokenizer in tokenizers.values()]
    return {
        mark: one.name if names.count(one.name) == 1 else f"{one.name}#{mark[:8]}" for mark, one in tokenizers.items()
    }


def header(people: Cast, rule: Rule, labels: Mapping[str, str], prompts: Sequence[Prompt]) -> dict[str, Any]:
    """The arguments of the `Recorder`. Labels hold the options of the run, what every model is, and the versions that computed it; the
    id of the trace is a digest of all of it and of the prompts, so that equal runs have equal ids."""
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    said = {
        "drafters": people.drafters,
        "verifier": people.judge,
        "tokenizers": people.tokenizers,
        "rule": rule.value,
        "engine": ("specdiag record", __version__),
        "labels": {**labels, **versions, **people.facts},
    }
    texts = [[prompt.id, hashlib.sha256(prompt.text).hexdigest()] for prompt in prompts]
    whole = json.dumps([said, texts], sort_keys=True)
    return said | {"trace_id": hashlib.sha256(whole.encode()).hexdigest()[:32]}
