"""The backend of llama.cpp, on an imitation of the engine."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from specdiag import UsageError
from specdiag.record.backends import llama_cpp

PIECES = [b"", b"a", b"b", b"ab", b" ", b"\xc3"]  # the first ends a text


class Llama:
    """An engine whose logits are sums over the tokens it holds."""

    def __init__(self, path: str, *, verbose: bool, vocab_only: bool = False, n_ctx: int = 16, **settings: Any) -> None:
        if Path(path).read_bytes() != b"GGUF":
            raise ValueError("Failed to load model from file")
        self._model = SimpleNamespace(vocab="vocabulary")
        self.n_tokens, self.settings = 0, settings
        self.held: list[int] = []
        self.passes: list[int] = []
        self.scores = np.zeros((n_ctx, len(PIECES)), np.float32)

    def n_vocab(self) -> int:
        return len(PIECES)

    def n_ctx(self) -> int:
        return len(self.scores)

    def token_eos(self) -> int:
        return 0

    def tokenize(self, data: bytes, add_bos: bool, special: bool) -> list[int]:
        assert not add_bos
        assert not special
        return [PIECES.index(bytes([byte])) for byte in data if bytes([byte]) in PIECES]

    def eval(self, tokens: list[int]) -> None:
        self.passes.append(len(tokens))
        self.held = [*self.held[: self.n_tokens], *tokens]
        for at in range(self.n_tokens, len(self.held)):
            self.scores[at] = np.random.default_rng(self.held[: at + 1]).normal(size=len(PIECES))
        self.n_tokens = len(self.held)


def piece(vocabulary: str, token: int, buffer: Any, size: int, lstrip: int, special: bool) -> int:
    """llama_token_to_piece."""
    ctypes.memmove(buffer, PIECES[token], len(PIECES[token]))
    return len(PIECES[token])


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that the imitation loads."""
    module = ModuleType("llama_cpp")
    vars(module).update(Llama=Llama, llama_token_to_piece=piece, __version__="0.0-fake")
    monkeypatch.setitem(sys.modules, "llama_cpp", module)
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF")
    return path


def test_a_pass_goes_over_new_tokens_only(file: Path) -> None:
    """Rows do not depend on what was asked before, and what the engine holds is not computed again."""
    model = llama_cpp.load({"model": str(file)})
    first = model.logits([1, 2], [3, 1])
    assert model.logits([1, 2, 3, 1], [2]).shape == (2, len(PIECES))
    again = model.logits([1, 2], [3, 1])
    assert np.array_equal(first, again)
    assert model._inner.passes == [4, 2, 3]
    assert np.array_equal(first[2], llama_cpp.load({"model": str(file)}).logits([1, 2, 3, 1])[0])


def test_a_tokenizer_is_held_to_bytes(file: Path) -> None:
    """What the engine would not give back is refused; a vocabulary alone is enough."""
    tokenizer = llama_cpp.tokenizer(file)
    assert tokenizer.encode(b"a b") == [1, 4, 2]
    assert tokenizer.encode(b"") == []
    with pytest.raises(ValueError, match="byte for byte"):
        tokenizer.encode(b"a?b")
    assert tokenizer.fingerprint == llama_cpp.load({"model": str(file)}).tokenizer.fingerprint


def test_a_model_says_what_ran(file: Path) -> None:
    """Engine, file without its folder, sha256 and threads."""
    model = llama_cpp.load({"model": str(file), "threads": "2"})
    assert model.facts()["engine"] == "llama-cpp-python 0.0-fake"
    assert (model.facts()["files"], model.facts()["threads"]) == ("tiny.gguf", "2")
    assert model._inner.settings["n_threads"] == 2
    assert model.end == {0}


def test_what_cannot_be_is_refused(file: Path, tmp_path: Path) -> None:
    """No file, another file, an unknown option, an empty context and one that is too long."""
    (tmp_path / "other.gguf").write_bytes(b"none")
    for options in (
        {},
        {"model": "nowhere.gguf"},
        {"model": str(tmp_path / "other.gguf")},
        {"model": str(file), "dtype": "x"},
    ):
        with pytest.raises(UsageError):
            llama_cpp.load(options)
    model = llama_cpp.load({"model": str(file), "ctx": "8"})
    with pytest.raises(UsageError, match="empty context"):
        model.logits([])
    with pytest.raises(UsageError, match="more than its context holds"):
        model.logits([1] * 9)
