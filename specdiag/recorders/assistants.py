"""Who drafts in a call of `generate`, by which rule the drafts are judged, and what the header of a trace says of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, cast

from specdiag.errors import SpecdiagError
from specdiag.record.backends.hf_tokenizer import from_json
from specdiag.record.protocols import Tokenizer
from specdiag.recorders.assisted import Setting, chosen

# Candidate generators whose drafts have no law that they were drawn from: the verifier's own draws decide.
_MATCHED = ("PromptLookupCandidateGenerator",)
_KINDS = {
    "PromptLookupCandidateGenerator": "ngram",
    "EarlyExitCandidateGenerator": "early_exit",
    "MTPCandidateGenerator": "head",
    "SinglePositionMultiTokenCandidateGenerator": "head",
    "DFlashTokenCandidateGenerator": "head",
}
_CONTEXT = "_prepare_assistant_input_ids"  # where a drafter's context is put into its own tokens


class Tokenizers:
    """The two sides' tokenizers: those that a call brings, or else those given here. Each is read once."""

    def __init__(self, verifier: Any, drafter: Any) -> None:
        self._given = verifier, drafter
        self._read: dict[int, tuple[Any, Tokenizer | None]] = {}  # with the original, so that its id stays its own

    def of(self, given: Mapping[str, Any], is_translated: bool) -> tuple[Tokenizer | None, Tokenizer | None]:
        """The verifier's, and the drafter's where it is another one."""
        verifier = self._of(given.get("target_tokenizer") or self._given[0])
        return verifier, self._of(given.get("assistant_tokenizer") or self._given[1]) if is_translated else None

    def _of(self, original: Any) -> Tokenizer | None:
        if original is None:
            return None
        if id(original) not in self._read:
            self._read[id(original)] = original, tokenizer_of(original)
        return self._read[id(original)][1]


def tokenizer_of(pretrained: Any) -> Tokenizer | None:
    """A tokenizer of transformers by the bytes of its tokens; None where it does not run on the `tokenizers` library."""
    if hasattr(pretrained, "token_bytes"):
        return cast(Tokenizer, pretrained)
    inner: Any = getattr(pretrained, "backend_tokenizer", None)
    if not hasattr(inner, "to_str"):
        return None
    return from_json(inner.to_str(), _last(getattr(pretrained, "name_or_path", "")) or type(pretrained).__name__)


def described(
    model: Any, generator: Any, given: Mapping[str, Any], tokenizers: Tokenizers, names: tuple[str | None, str | None]
) -> tuple[Setting, dict[str, Any]]:
    """What the rounds of a call need to know, and the header: `given` are the arguments that the candidate generator was made from, `names`
    those of drafter and verifier, where the user gave any."""
    config = given["generation_config"]
    kind = type(generator).__name__
    rule = _rule(kind, config)
    assistant = given.get("assistant_model")
    tokenizer, own = tokenizers.of(given, translates(generator))
    same, others = _told_apart(tokenizer, own, model, assistant if translates(generator) else None)
    regime = _regime(config) if config.do_sample else {"temperature": 0.0}
    drafter: dict[str, Any] = {
        "id": names[0] or _drafter(kind, assistant, config),
        "kind": _KINDS.get(kind, "model"),
        "tokenizer": others,
        **({"temperature": 0.0} if kind in _MATCHED else regime),
    }
    if assistant is not None:
        drafter |= {"model": _name(assistant), "parameters": sum(part.numel() for part in assistant.parameters())}
    header = {
        "rule": rule,
        "drafters": [drafter],
        "verifier": {"id": names[1] or _name(model), "model": _name(model), "tokenizer": same, **regime},
        "tokenizers": {
            name: {"vocab_size": t.size, "fingerprint": t.fingerprint}
            for name, t in ((same, tokenizer), (others, own))
            if t
        },
        "labels": {"generator": kind},
    }
    mixed = getattr(config, "assistant_ensemble_weight", None) is not None
    return Setting(rule, drafter["id"], _ends(config), config.max_length, mixed, tokenizer, own), header


def _told_apart(tokenizer: Tokenizer | None, own: Tokenizer | None, model: Any, assistant: Any) -> tuple[str, str]:
    """Names of the verifier's tokenizer and of the drafter's: other tokenizers, other names."""
    same = tokenizer.name if tokenizer else _name(model)
    if assistant is None:
        return same, same
    other = own.name if own else _name(assistant)
    is_same = tokenizer is not None and own is not None and tokenizer.fingerprint == own.fingerprint
    return same, other if is_same or other != same else f"{other} of the drafter"


def _rule(kind: str, config: Any) -> str:
    """`unknown` where an ensemble of drafter and verifier decides."""
    if not config.do_sample:
        return "greedy"
    if getattr(config, "assistant_ensemble_weight", None) is not None:
        return "unknown"
    return "exact_match" if kind in _MATCHED else "rejection"


def _regime(config: Any) -> dict[str, Any]:
    """How tokens are sampled; a setting that changes nothing is left out."""
    found = {"temperature": 1.0 if config.temperature is None else float(config.temperature)}
    if config.top_p is not None and config.top_p < 1:
        found["top_p"] = float(config.top_p)
    if config.top_k:
        found["top_k"] = int(config.top_k)
    return found


def _ends(config: Any) -> frozenset[int]:
    ends = config.eos_token_id
    return frozenset() if ends is None else frozenset([ends] if isinstance(ends, int) else map(int, ends))


def _last(path: str) -> str:
    """A name without the folder that it lies in."""
    return PurePath(path).name


def _name(model: Any) -> str:
    return _last(str(getattr(model.config, "_name_or_path", ""))) or type(model).__name__


def _drafter(kind: str, assistant: Any, config: Any) -> str:
    if kind == "EarlyExitCandidateGenerator":
        return f"early_exit_{config.assistant_early_exit}"
    if assistant is None:
        return "prompt_lookup" if kind in _MATCHED else kind.removesuffix("CandidateGenerator")
    return _name(assistant)


def translates(generator: Any) -> bool:
    """Whether its drafter has a tokenizer of its own."""
    return hasattr(generator, _CONTEXT)


def check(generator: Any, version: str) -> None:
    """SpecdiagError where a drafter's own tokens could not be found."""
    names = ("_prev_assistant_ids", "prev_assistant_ids")
    if translates(generator) and not any(hasattr(generator, name) for name in names):
        raise SpecdiagError(
            f"transformers {version}: {type(generator).__name__} does not show the drafter's own tokens",
            "This recorder was written for transformers 5.24.",
        )


def own_tokens(generator: Any, context: int) -> list[int]:
    """What the drafter drafted behind its `context` tokens, in its own vocabulary."""
    translator = getattr(generator, "_atm_translator", None)
    if translator is None:
        drafted: list[int] = generator.prev_assistant_ids[0, context:].tolist()
        return drafted
    drafted = generator._prev_assistant_ids[0, context:].tolist()
    pruned = getattr(
        translator, "assistant_overlap_token_ids", None
    )  # the drafter's head knows the shared tokens only, by their rank
    return drafted if pruned is None else [int(pruned[token]) for token in drafted]


def drawn_from(sequences: Any, logits: Any) -> list[float]:
    """The probability of each drafted token in the law that it was drawn from. What the verifier is shown as this law may be another one:
    the translator puts logits that stand in the order of one vocabulary to ids in the order of the other (transformers 5.24)."""
    drafted = sequences[0, -logits.shape[1] :].tolist()
    return chosen(logits[0].softmax(dim=-1), drafted)
