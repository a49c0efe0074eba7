"""Language models that run here, one module each, found by the word that begins their specification."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

from specdiag.errors import MissingExtra, UsageError
from specdiag.record.protocols import LanguageModel

_MODULES = {"ngram": "ngram", "transformers": "transformers", "llama-cpp": "llama_cpp"}
_EXTRAS = {"ngram": "record", "transformers": "transformers", "llama-cpp": "llama-cpp"}
KINDS = (*_MODULES, "lookup")


@dataclass(frozen=True, slots=True)
class Spec:
    """`NAME=KIND:MODEL,key=value,...` taken apart; what stands before the first comma without a key is the option `model`."""

    name: str
    kind: str
    options: Mapping[str, str]


def parse(text: str, name: str | None = None) -> Spec:
    """Take a specification apart."""
    head, equals, rest = text.partition("=")
    named = bool(equals) and not set(":,") & set(head)
    kind, _, listed = (rest if named else text).partition(":")
    name = head if named else name or kind
    if kind not in KINDS or not name:
        raise UsageError(f"{text}: no backend {kind!r}", f"Give NAME=KIND:OPTIONS with one of {', '.join(KINDS)}.")
    options: dict[str, str] = {}
    for number, item in enumerate(listed.split(",") if listed else []):
        key, equals, value = item.partition("=")
        if number == 0 and not (equals and key.isidentifier()):  # a path may hold an equals sign
            equals, key, value = "=", "model", item
        if not equals or not key or key in options:
            raise UsageError(f"{text}: {item!r} is not a new key=value", "Separate options with commas.")
        options[key] = value
    return Spec(name, kind, options)


class Models:
    """Loads models, each of equal options once."""

    def __init__(self) -> None:
        self._loaded: dict[tuple[str, tuple[tuple[str, str], ...]], LanguageModel] = {}

    def load(self, kind: str, options: Mapping[str, str]) -> LanguageModel:
        """The model; MissingExtra where its backend is not installed."""
        key = (kind, tuple(sorted(options.items())))
        if key not in self._loaded:
            self._loaded[key] = _load(kind, options)
        return self._loaded[key]


def _load(kind: str, options: Mapping[str, str]) -> LanguageModel:
    try:
        module = importlib.import_module(f"specdiag.record.backends.{_MODULES[kind]}")
        model: LanguageModel = module.load(options)
    except ImportError as error:
        raise MissingExtra(
            f"the backend {kind} is not installed: {error}",
            f"pip install 'specdiag-cli[{_EXTRAS[kind]}]' brings it.",
        ) from error
    return model
