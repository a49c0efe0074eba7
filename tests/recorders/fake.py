"""As much of torch and of transformers' assisted generation as the recorder touches, in numpy: for machines without them.

The loop is that of `GenerationMixin._assisted_decoding`: draft, score, judge, cut at limits, update.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any, Self

import numpy as np

VOCABULARY, END = 12, 11


class Tensor(np.ndarray[Any, Any]):
    """An array with the methods of a tensor that the recorder uses."""

    def softmax(self, dim: int) -> Tensor:
        weights = np.exp(self - np.max(np.asarray(self), axis=dim, keepdims=True))
        return tensor(weights / np.sum(np.asarray(weights), axis=dim, keepdims=True))

    def argmax(self, dim: int) -> Any:  # type: ignore[override]
        return tensor(np.argmax(np.asarray(self), axis=dim))

    def max(self, dim: int) -> Any:  # type: ignore[override]
        return SimpleNamespace(values=tensor(np.max(np.asarray(self), axis=dim)))


def tensor(values: Any) -> Tensor:
    """These numbers."""
    return np.asarray(values).view(Tensor)


class FunctionMode:
    """torch.overrides.TorchFunctionMode: sees the calls of torch's functions in its block."""

    def __enter__(self) -> Self:
        _modes.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _modes.pop()


_modes: list[Any] = []
rng = np.random.default_rng(0)


def rand_like(values: Any) -> Tensor:
    """Uniform numbers; a mode sees the call first, and none while it works."""
    if not _modes:
        return tensor(rng.random(np.shape(values)))
    mode = _modes.pop()
    try:
        seen: Tensor = mode.__torch_function__(rand_like, (), (values,))
    finally:
        _modes.append(mode)
    return seen


def logits(context: Sequence[int], seed: int, spread: float = 2.0) -> Any:
    """What a model of this seed says behind a context: it looks at two tokens."""
    known = zlib.crc32(bytes(context[-2:]), seed)
    return np.random.default_rng(known).normal(size=VOCABULARY) * spread


def draw(law: Any) -> int:
    """A token."""
    return int(rng.choice(VOCABULARY, p=np.asarray(law, np.float64) / np.sum(law)))


class AssistedCandidateGenerator:
    """Drafts three tokens; `fails` raises at that round."""

    def __init__(self, do_sample: bool, fails: int = -1) -> None:
        self.do_sample, self.fails, self.rounds = do_sample, fails, 0
        self.updates: list[int] = []

    def get_candidates(self, input_ids: Any) -> tuple[Any, Any]:
        self.rounds += 1
        if self.rounds == self.fails:
            raise RuntimeError("the drafter fell over")
        tokens, rows = input_ids[0].tolist(), []
        for _ in range(3):
            rows.append(0.7 * logits(tokens, 1) + 0.3 * logits(tokens, 2))
            tokens.append(draw(tensor(rows[-1]).softmax(-1)) if self.do_sample else int(np.argmax(rows[-1])))
        return tensor([tokens]), tensor([rows])

    def update_candidate_strategy(self, input_ids: Any, scores: Any, num_matches: int) -> None:
        self.updates.append(num_matches)


class PromptLookupCandidateGenerator(AssistedCandidateGenerator):
    """Drafts what stood behind the last token before, and no logits."""

    def get_candidates(self, input_ids: Any) -> tuple[Any, Any]:
        tokens = input_ids[0].tolist()
        places = [i for i, token in enumerate(tokens[:-1]) if token == tokens[-1]]
        return tensor([tokens + (tokens[places[0] + 1 :][:3] if places else [])]), None


class GenerationMixin:
    """A verifier."""

    config = SimpleNamespace(_name_or_path="/a/folder/fake-verifier")

    def _get_candidate_generator(self, generation_config: Any, input_ids: Any, assistant_model: Any = None) -> Any:
        kind = PromptLookupCandidateGenerator if generation_config.lookup else AssistedCandidateGenerator
        self.generator = kind(generation_config.do_sample, generation_config.fails)
        return self.generator

    def generate(self, prompt: Sequence[Sequence[int]], **settings: Any) -> list[int]:
        """All tokens."""
        config = SimpleNamespace(
            do_sample=True, temperature=None, top_p=1.0, top_k=0, eos_token_id=END, lookup=False, fails=-1
        )
        config.max_length = len(prompt[0]) + 40
        config.assistant_ensemble_weight = None
        vars(config).update(settings)
        ids = tensor(prompt)
        generator = self._get_candidate_generator(config, input_ids=ids)
        while ids.shape[1] < config.max_length and END not in ids[0, len(prompt[0]) :].tolist():
            ids = self._round(config, generator, ids)
        whole: list[int] = ids[0].tolist()
        return whole

    def _round(self, config: Any, generator: Any, ids: Any) -> Any:
        candidates, drafted = generator.get_candidates(ids)
        length = candidates.shape[1] - ids.shape[1]
        scores = tensor([[logits(candidates[0, : ids.shape[1] + i].tolist(), 1) for i in range(length + 1)]])
        if config.do_sample and drafted is not None:
            valid, _ = MODULES["transformers.generation.utils"]._speculative_sampling(
                candidates, drafted, length, scores
            )
        else:
            laws = scores[0].softmax(-1)
            chosen = [draw(law) for law in laws] if config.do_sample else scores[0].argmax(-1).tolist()
            kept = 0
            while kept < length and chosen[kept] == candidates[0, ids.shape[1] + kept]:
                kept += 1
            valid = chosen[: kept + 1]
        valid = valid[: config.max_length - ids.shape[1]]
        valid = valid[: valid.index(END) + 1] if END in valid else valid
        ids = tensor([[*ids[0].tolist(), *valid]])
        generator.update_candidate_strategy(ids, scores, len(valid) - 1)
        return ids


def _speculative_sampling(candidates: Any, drafted: Any, length: int, scores: Any) -> tuple[list[int], int]:
    """Algorithm 1 of speculative decoding."""
    tokens = candidates[0, -length:].tolist()
    p, q = scores[0].softmax(-1), drafted[0].softmax(-1)
    ratios = np.array([p[i, token] / q[i, token] for i, token in enumerate(tokens)])
    refused = np.flatnonzero(rand_like(ratios) > ratios)
    kept = int(refused[0]) if len(refused) else length
    rest = np.clip(p[kept] - q[kept], 0, None) if kept < length else p[kept]
    return [*tokens[:kept], draw(rest)], kept


def modules() -> dict[str, ModuleType]:
    """The modules, by name, as they stand in sys.modules."""
    torch, overrides = ModuleType("torch"), ModuleType("torch.overrides")
    vars(overrides).update(TorchFunctionMode=FunctionMode)
    vars(torch).update(overrides=overrides, rand_like=rand_like)
    names = ("transformers", "transformers.generation", "transformers.generation.utils")
    library, generation, utils = map(ModuleType, names)
    vars(library).update(__version__="5.24.0-fake", generation=generation)
    vars(utils).update(GenerationMixin=GenerationMixin, _speculative_sampling=_speculative_sampling)
    return {"torch": torch, "torch.overrides": overrides, **dict(zip(names, (library, generation, utils), strict=True))}


MODULES = modules()
