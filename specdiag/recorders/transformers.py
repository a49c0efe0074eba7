"""Recording stock assisted generation of `transformers`: what is drafted and what becomes of it, while `generate` runs as it always does.

    with record_assisted("trace.jsonl", tokenizer=tokenizer) as recording:
        model.generate(**inputs, assistant_model=assistant, do_sample=True)

Two hooks, put back on exit: `GenerationMixin._get_candidate_generator`, whose result is watched for the length of its call, and the module
function `_speculative_sampling`, whose uniform draws are seen as they are made. docs/recording-transformers.md says what is recorded.
"""

from __future__ import annotations

import functools
import inspect
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from specdiag.errors import SpecdiagError, UsageError
from specdiag.record.extras import need
from specdiag.recorders.assistants import Tokenizers, check, described, drawn_from, own_tokens, translates
from specdiag.recorders.assisted import Call
from specdiag.recorders.headers import Headed

_hooked = threading.Lock()  # held while the hooks are in place
_METHODS: tuple[str, ...] = (
    "get_candidates",
    "update_candidate_strategy",
    "_prepare_assistant_input_ids",
    "_generate_candidates",
)


class Recording:
    """A recording that goes on. `requests`: the names of the calls of `generate` that it saw."""

    def __init__(
        self, trace: Headed, tokenizers: Tokenizers, names: tuple[str | None, str | None], requests: Iterable[str]
    ) -> None:
        self.requests: list[str] = []
        self._trace, self._tokenizers, self._names, self._queue = trace, tokenizers, names, iter(requests)
        self._next: str | None = None
        self._here = threading.local()  # the call that this thread is in
        self._watched: list[tuple[weakref.ref[Any], Call]] = []
        self._lock = threading.Lock()

    def request(self, name: str) -> None:
        """Names the next call of `generate`. Without it a call gets the next of `requests`, or a number."""
        self._next = name

    def _name(self) -> str:
        name = self._next or next(self._queue, None) or f"r{len(self.requests)}"
        self._next = None
        if name in self.requests:
            raise UsageError(f"request {name!r} is recorded already", "Give each call of generate a name of its own.")
        self.requests.append(name)
        return name

    def watch(self, model: Any, generator: Any, given: Mapping[str, Any], version: str) -> None:
        """Record the call that this candidate generator was made for. What a drafter's own call of `generate` does is part of its draft."""
        current: Call | None = getattr(self._here, "call", None)
        if current is not None and current.drafting:
            return
        context = given["input_ids"]
        if context.shape[0] > 1:
            raise UsageError(
                f"assisted generation works on one sequence, not on {context.shape[0]}",
                "Call generate for one prompt at a time.",
            )
        check(generator, version)
        with self._lock:
            if current is not None:
                current.close()
            setting, header = described(model, generator, given, self._tokenizers, self._names)
            trace = self._trace.under(("transformers", version), header)
            call = Call(trace, self._name(), setting, int(context.shape[1]))
            self._watched = [(ref, old) for ref, old in self._watched if ref() is not None]
            self._watched.append((weakref.ref(generator), call))
        self._here.call = call
        watchers: tuple[Callable[..., Any], ...] = (_drafting, _judging, _preparing, _drawing)
        for name, watcher in zip(_METHODS, watchers, strict=True):
            original = getattr(type(generator), name, None)
            if original is not None:
                setattr(generator, name, functools.partial(watcher, call, original, weakref.ref(generator)))

    def sampled(self, accepted: int, uniforms: list[float] | None) -> None:
        """What the rejection sampler drew in this thread's call."""
        call: Call | None = getattr(self._here, "call", None)
        if call is not None:
            call.drawn(accepted, uniforms)

    def end(self) -> None:
        """Nothing is watched any more; a round that is open was aborted."""
        for ref, call in self._watched:
            generator = ref()
            for name in _METHODS:
                getattr(generator, "__dict__", {}).pop(name, None)
            call.close()


# The watchers stand on the generator itself and must not keep it alive: it holds the drafter's cache.
Generator = Callable[[], Any]


def _drafting(call: Call, original: Callable[..., Any], generator: Generator, input_ids: Any, **others: Any) -> Any:
    it = generator()
    began = time.perf_counter()
    call.drafting = True
    try:
        candidates, logits = original(it, input_ids, **others)
    finally:
        call.drafting = False
    ms = (time.perf_counter() - began) * 1000
    own = None
    if translates(it):
        own = [] if call.prepared is None else own_tokens(it, call.prepared)
    call.propose(input_ids, candidates, logits, own, ms)
    return candidates, logits


def _judging(
    call: Call, original: Callable[..., Any], generator: Generator, input_ids: Any, scores: Any, *rest: Any
) -> Any:
    call.verdict(input_ids, scores)
    return original(generator(), input_ids, scores, *rest)


def _preparing(call: Call, original: Callable[..., Any], generator: Generator, *given: Any) -> Any:
    context, number = original(generator(), *given)
    call.prepare(context[0].tolist(), number if hasattr(generator(), "_atm_translator") else None)
    return context, number


def _drawing(call: Call, original: Callable[..., Any], generator: Generator, *given: Any) -> Any:
    sequences, logits = original(generator(), *given)
    if logits is not None and hasattr(generator(), "_atm_translator"):
        call.law = drawn_from(sequences, logits)
    return sequences, logits


@contextmanager
def _hooks(recording: Recording, generation: Any, torch: Any, version: str) -> Iterator[None]:
    """Both hooks, in place for the block."""
    mixin = generation.GenerationMixin
    make, sample = mixin.__dict__["_get_candidate_generator"], generation._speculative_sampling
    signature = inspect.signature(make)

    @functools.wraps(make)
    def making(self: Any, *given: Any, **named: Any) -> Any:
        generator = make(self, *given, **named)
        recording.watch(self, generator, signature.bind(self, *given, **named).arguments, version)
        return generator

    @functools.wraps(sample)
    def sampling(*given: Any, **named: Any) -> Any:
        with _draws(torch) as drawn:
            tokens, accepted = sample(*given, **named)
        recording.sampled(int(accepted), drawn[0].flatten().tolist() if drawn else None)
        return tokens, accepted

    mixin._get_candidate_generator, generation._speculative_sampling = making, sampling
    try:
        yield
    finally:
        mixin._get_candidate_generator, generation._speculative_sampling = make, sample
        recording.end()


@contextmanager
def _draws(torch: Any) -> Iterator[list[Any]]:
    """The uniform numbers that are drawn in the block, as they are drawn."""
    drawn: list[Any] = []

    class Watching(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, given: Any = (), named: Any = None) -> Any:
            result = function(*given, **(named or {}))
            if function is torch.rand_like:
                drawn.append(result)
            return result

    with Watching():
        yield drawn


def _library() -> tuple[Any, Any, str]:
    """torch, the module that generates, and the version. SpecdiagError where this version has no place for the hooks."""
    torch = need("torch", "transformers")
    version = need("transformers", "transformers").__version__
    generation = need("transformers.generation.utils", "transformers")
    mixin = getattr(generation, "GenerationMixin", None)
    places = {
        "GenerationMixin._get_candidate_generator": "_get_candidate_generator" in getattr(mixin, "__dict__", {}),
        "_speculative_sampling": hasattr(generation, "_speculative_sampling"),
    }
    missing = [place for place, is_there in places.items() if not is_there]
    if missing:
        raise SpecdiagError(
            f"transformers {version}: nothing to hook into: {', '.join(missing)}",
            "This recorder was written for transformers 5.24.",
        )
    return torch, generation, version


@contextmanager
def record_assisted(
    path: str | os.PathLike[str],
    *,
    tokenizer: Any = None,
    assistant_tokenizer: Any = None,
    requests: Iterable[str] = (),
    drafter: str | None = None,
    verifier: str | None = None,
    labels: Mapping[str, str] | None = None,
    trace_id: str | None = None,
    source: str | None = None,
) -> Iterator[Recording]:
    """Record every call of `generate` with drafts in the block to the file, each as a request.

    `tokenizer`, the verifier's, gives byte lengths and digests; calls between two tokenizers bring their own. `drafter` and `verifier` are
    names for the header, `requests` names for the calls. Raises MissingExtra without the library, UsageError inside another recording or for
    a batch, SpecdiagError where this version of the library has no place for the hooks, and OSError where the file cannot be written.
    """
    torch, generation, version = _library()
    if not _hooked.acquire(blocking=False):
        raise UsageError(
            "a recording of assisted generation is going on already",
            "Leave its `with` block first: there is one at a time.",
        )
    try:
        tokenizers = Tokenizers(tokenizer, assistant_tokenizer)
        with Headed(path, labels=labels or {}, trace_id=trace_id, source=source) as trace:
            recording = Recording(trace, tokenizers, (drafter, verifier), requests)
            with _hooks(recording, generation, torch, version):
                yield recording
    finally:
        _hooked.release()
