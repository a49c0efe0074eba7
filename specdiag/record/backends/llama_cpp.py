"""GGUF files through llama.cpp: `model=FILE`, `threads` (1), `ctx` (2048), and `weaken`, `bits`, `seed` as in `weaken`.

One thread is the default: beside other work, two threads of this engine wait for each other most of the time. Its quantised kernels give
logits that depend a little on how many tokens a pass has; so a recording goes by the probabilities that it holds.
"""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specdiag.errors import UsageError
from specdiag.record.backends.options import common, number, only, sha256
from specdiag.record.backends.weaken import BLOCK, Weakening, weakening
from specdiag.record.extras import need
from specdiag.record.vocabulary import fingerprint

_PIECE = 1024  # bytes; the longest token of a vocabulary is a run of spaces


class LlamaTokenizer:
    """The tokenizer of a GGUF file, which may hold nothing else (`vocab_only`)."""

    def __init__(self, inner: Any, name: str) -> None:
        self._inner = inner
        self.name = name
        self.size = int(inner.n_vocab())
        self._bytes = _table(inner, self.size)
        self.fingerprint = fingerprint(self._bytes)

    def encode(self, data: bytes) -> list[int]:
        """Tokens of these bytes."""
        tokens: list[int] = self._inner.tokenize(data, add_bos=False, special=False) if data else []
        if b"".join(map(self.token_bytes, tokens)) != data:
            raise ValueError(f"the tokenizer {self.name} does not give back this text byte for byte")
        return tokens

    def token_bytes(self, token: int) -> bytes:
        """The bytes of one token; none for a special token."""
        return self._bytes[token]


def _table(inner: Any, size: int) -> list[bytes]:
    library, vocabulary = need("llama_cpp", "llama-cpp"), inner._model.vocab
    buffer = ctypes.create_string_buffer(_PIECE)
    table = []
    for token in range(size):
        length = library.llama_token_to_piece(vocabulary, token, buffer, _PIECE, 0, False)
        table.append(buffer.raw[: max(length, 0)])
    return table


class LlamaCppModel:
    """A model that llama.cpp runs."""

    def __init__(self, name: str, inner: Any, facts: Mapping[str, str]) -> None:
        self.name = name
        self.tokenizer = LlamaTokenizer(inner, name)
        self.end = frozenset(token for token in (inner.token_eos(),) if token >= 0)
        self._inner, self._facts = inner, dict(facts)
        self._held: list[int] = []  # the tokens whose keys and values the engine holds

    def logits(self, context: Sequence[int], tokens: Sequence[int] = ()) -> NDArray[np.float32]:
        """One pass over what the engine does not hold."""
        whole, rows = [*context, *tokens], len(tokens) + 1
        if len(whole) < rows:
            raise UsageError(f"{self.name}: an empty context", "Give a prompt.")
        if len(whole) > self._inner.n_ctx():
            raise UsageError(f"{self.name}: {len(whole)} tokens are more than its context holds", "Give ctx=TOKENS.")
        keep = min(common(self._held, whole), len(whole) - rows)
        self._held = []  # nothing is known should the engine fail
        self._inner.n_tokens = keep
        self._inner.eval(whole[keep:])
        self._held = whole
        found: NDArray[np.float32] = self._inner.scores[len(whole) - rows : len(whole)].copy()
        return found

    def facts(self) -> Mapping[str, str]:
        """Engine, file, its sha256, and how the weights were weakened."""
        return self._facts


def load(options: Mapping[str, str]) -> LlamaCppModel:
    """The model; MissingExtra without the library, UsageError for a file that it cannot load."""
    only(options, "llama-cpp", "model", "threads", "ctx", "weaken", "bits", "seed")
    library = need("llama_cpp", "llama-cpp")
    path, weak = _path(options), weakening(options)
    threads, context = number(options, "threads", 1, 1, 1024), number(options, "ctx", 2048, 8, 2**20)
    with _weakened(path, weak) as file:
        inner = _opened(
            library,
            file,
            n_ctx=context,
            n_batch=min(context, 512),
            n_threads=threads,
            n_threads_batch=threads,
            logits_all=True,
        )
    facts = {
        "engine": f"llama-cpp-python {library.__version__}",
        "files": path.name,
        "sha256": sha256([path]),
        "threads": str(threads),
    }
    if weak is not None:
        facts["weakened"] = str(weak)
    return LlamaCppModel(path.stem, inner, facts)


def tokenizer(path: Path) -> LlamaTokenizer:
    """The tokenizer of a GGUF file, also of one that holds a vocabulary alone."""
    return LlamaTokenizer(_opened(need("llama_cpp", "llama-cpp"), path, vocab_only=True), path.stem)


def _path(options: Mapping[str, str]) -> Path:
    if "model" not in options:
        raise UsageError("llama-cpp: no model", "Give llama-cpp:FILE.gguf.")
    path = Path(options["model"])
    if not path.is_file():
        raise UsageError(f"llama-cpp:{path}: no such file", "Give llama-cpp:FILE.gguf.")
    return path


def _opened(library: Any, path: Path, **settings: Any) -> Any:
    try:
        return library.Llama(str(path), verbose=False, **settings)
    except (ValueError, RuntimeError) as error:
        raise UsageError(
            f"llama-cpp:{path}: {error}", "Give a GGUF file that this version of llama.cpp reads."
        ) from error


@contextlib.contextmanager
def _weakened(path: Path, weak: Weakening | None) -> Iterator[Path]:
    """The file, or a copy with coarser weights, which is there while it is loaded."""
    if weak is None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="specdiag-") as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        _coarsen(copy, weak)
        yield copy


def _coarsen(path: Path, weak: Weakening) -> None:
    """Round the codes of Q4_1 matrices: blocks of 32 with a step and a least value, 16 codes that become 2^bits."""
    gguf = need("gguf", "llama-cpp")
    top = 2**weak.bits - 1
    if top > 15:
        raise UsageError(f"bits={weak.bits}: more than the file has", "Give 1 to 3 bits.")
    for tensor in gguf.GGUFReader(path, "r+").tensors:
        if len(tensor.shape) != 2 or not weak.takes(tensor.name):
            continue
        if tensor.tensor_type != gguf.GGMLQuantizationType.Q4_1:
            raise UsageError(
                f"{path.name}: {tensor.name} is {tensor.tensor_type.name}",
                "Only Q4_1 is weakened here; transformers takes any.",
            )
        blocks = tensor.data.reshape(-1, 4 + BLOCK // 2)
        packed = blocks[:, 4:]
        codes = np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32)
        fewer = weak.steps(tensor.name, codes * (top / 15)).astype(np.uint8)
        step = blocks[:, :2].copy().view(np.float16).astype(np.float32) * (15 / top)
        blocks[:, :2] = step.astype(np.float16).view(np.uint8)
        blocks[:, 4:] = fewer[:, : BLOCK // 2] | fewer[:, BLOCK // 2 :] << 4
