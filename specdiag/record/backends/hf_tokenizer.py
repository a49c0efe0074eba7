"""Tokenizers of the `tokenizers` library, held to bytes: what one encodes, the bytes of its tokens give back, or it refuses.

Byte-level BPE and metaspace with byte fallback. A dummy space before the text is switched off; a normaliser stays, and a text that it would
change is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from specdiag.errors import SpecdiagError, UsageError
from specdiag.record.backends import corpus
from specdiag.record.extras import need
from specdiag.record.vocabulary import fingerprint

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_WAYS = "Give bpe:SIZE, a tokenizer.json or its folder, or llama3:FILE, qwen:FILE or tekken:FILE."


@cache
def alphabet() -> dict[str, int]:
    """The character by which byte-level vocabularies write each byte (GPT-2)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


def library() -> Any:
    """The `tokenizers` library, which the extra brings."""
    return need("tokenizers", "record")


class HfTokenizer:
    """A tokenizer of the library, by the bytes of its tokens."""

    def __init__(self, inner: Any, name: str) -> None:
        self._inner = inner
        inner.encode_special_tokens = True  # written out in a text they are plain text
        self.name = name
        self.size = max(inner.get_vocab(with_added_tokens=True).values()) + 1  # ids may have gaps
        self._bytes = _table(inner, self.size)
        self._single = {data: token for token, data in enumerate(self._bytes) if len(data) == 1}
        self.fingerprint = fingerprint(self._bytes)

    def token_bytes(self, token: int) -> bytes:
        """The bytes of one token; none for a special token."""
        return self._bytes[token]

    def encode(self, data: bytes) -> list[int]:
        """Tokens of these bytes. What is no UTF-8 is written byte by byte."""
        ids: list[int] = []
        for part, is_text in _parts(data):
            ids += self._encoded(part.decode()) if is_text else self._spelled(part)
        if b"".join(map(self.token_bytes, ids)) != data:
            raise ValueError(f"the tokenizer {self.name} does not give back this text byte for byte")
        return ids

    def encode_many(self, texts: list[str]) -> list[list[int]]:
        """Tokens of several texts, as `encode` but unchecked: for training."""
        return [encoding.ids for encoding in self._inner.encode_batch(texts, add_special_tokens=False)]

    def _encoded(self, text: str) -> list[int]:
        ids: list[int] = self._inner.encode(text, add_special_tokens=False).ids
        return ids

    def _spelled(self, data: bytes) -> list[int]:
        try:
            return [self._single[data[i : i + 1]] for i in range(len(data))]
        except KeyError as error:
            raise ValueError(f"the tokenizer {self.name} has no token for a single byte") from error


def _parts(data: bytes) -> Iterator[tuple[bytes, bool]]:
    """Runs of valid UTF-8, and what is not valid between them."""
    while data:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            if error.start:
                yield data[: error.start], True
            yield data[error.start : error.end], False
            data = data[error.end :]
        else:
            yield data, True
            return


def _table(inner: Any, size: int) -> list[bytes]:
    """The bytes of every token."""
    kind = json.loads(inner.to_str())
    is_byte_level = '"ByteLevel"' in json.dumps([kind.get("pre_tokenizer"), kind.get("decoder")])
    added = {token["id"]: token for token in kind.get("added_tokens") or []}
    table = [b""] * size
    for token in range(size):
        text = inner.id_to_token(token)
        if text is None or (token in added and added[token]["special"]):
            continue
        table[token] = _plain(text) if not is_byte_level else text.encode() if token in added else _from_bytes(text)
    return table


def _from_bytes(text: str) -> bytes:
    return bytes(alphabet()[character] for character in text)


def _plain(text: str) -> bytes:
    """A metaspace piece: U+2581 is a space, <0xNN> a byte."""
    byte = _BYTE.fullmatch(text)
    return bytes([int(byte[1], 16)]) if byte else text.replace("\u2581", " ").encode()


def byte_level(model: Any, pattern: str | None = None) -> Any:
    """A byte-level tokenizer around a model of the library; `pattern` splits the text first, GPT-2's own by default."""
    hf = library()
    inner = hf.Tokenizer(model)
    level = hf.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    if pattern is None:
        inner.pre_tokenizer = level
    else:
        split = hf.pre_tokenizers.Split(hf.Regex(pattern), "isolated")
        inner.pre_tokenizer = hf.pre_tokenizers.Sequence([split, level])
    inner.decoder = hf.decoders.ByteLevel()
    return inner


@cache
def trained(size: int, part: str = "all") -> HfTokenizer:
    """Byte-level BPE of `size` tokens, trained here on text that Python brings along."""
    if not 257 <= size <= 100_000:
        raise UsageError(f"tokenizer=bpe:{size}: no such size", "Give 257 to 100000 tokens.")
    hf = library()
    inner = byte_level(hf.models.BPE())
    letters = sorted(alphabet())
    trainer = hf.trainers.BpeTrainer(vocab_size=size, initial_alphabet=letters, show_progress=False)
    inner.train_from_iterator(corpus.training(part), trainer)
    return HfTokenizer(inner, f"bpe-{size}" if part == "all" else f"bpe-{size}-{part.replace('/', 'of')}")


@cache
def load(spec: str) -> HfTokenizer:
    """A tokenizer by its word on the command line: `bpe:SIZE`, `bpe:SIZE@I/N` (trained on a part of the corpus), tokenizer.json or a
    folder with it or with GPT-2's two files, `llama3:FILE` or `qwen:FILE` (ranks in tiktoken's format), `tekken:FILE`."""
    kind, _, rest = spec.partition(":")
    if kind == "bpe":
        size, _, part = rest.partition("@")
        if not size.isdecimal():
            raise UsageError(f"tokenizer={spec}: no size", "Give for example bpe:2000.")
        return trained(int(size), part or "all")
    try:
        return _ranks(Path(rest), kind) if kind in ("llama3", "qwen", "tekken") else _from_file(Path(spec))
    except OSError as error:
        raise UsageError(f"tokenizer={spec}: {error.strerror or error}", _WAYS) from error
    except SpecdiagError:
        raise
    except Exception as error:  # the library raises bare ones
        raise UsageError(f"tokenizer={spec}: not readable: {error}", _WAYS) from error


def _ranks(path: Path, kind: str) -> HfTokenizer:
    from specdiag.record.backends.ranks import PATTERNS, from_ranks, from_tekken

    if kind == "tekken":
        return from_tekken(path.read_bytes(), kind)
    return from_ranks(path.read_bytes(), kind, PATTERNS[kind])


def _from_file(path: Path) -> HfTokenizer:
    if path.is_dir() and not (path / "tokenizer.json").is_file():
        vocabulary, merges = _pair(path)
        for file in (vocabulary, merges):
            file.stat()  # the library's own error has no file name
        return HfTokenizer(byte_level(library().models.BPE.from_file(str(vocabulary), str(merges))), path.name)
    file = path / "tokenizer.json" if path.is_dir() else path
    return from_json(file.read_text(encoding="utf-8"), path.name if path.is_dir() else path.stem)


def _pair(folder: Path) -> tuple[Path, Path]:
    """GPT-2's two files, under either of their names."""
    vocabulary = next(
        (folder / n for n in ("vocab.json", "encoder.json") if (folder / n).is_file()), folder / "vocab.json"
    )
    merges = next((folder / n for n in ("merges.txt", "vocab.bpe") if (folder / n).is_file()), folder / "merges.txt")
    return vocabulary, merges


def from_json(text: str, name: str) -> HfTokenizer:
    """A tokenizer.json, without the dummy space that some put before a text."""
    whole = json.loads(text)
    whole["normalizer"] = _without_dummy(whole.get("normalizer"))
    whole["pre_tokenizer"] = _without_dummy(whole.get("pre_tokenizer"))
    return HfTokenizer(library().Tokenizer.from_str(json.dumps(whole)), name)


def _without_dummy(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    if part.get("type") == "Prepend":
        return None
    if part.get("type") == "Sequence":
        key = "normalizers" if "normalizers" in part else "pretokenizers"
        return part | {key: [kept for one in part[key] if (kept := _without_dummy(one)) is not None]}
    if part.get("type") == "Metaspace":
        return part | {"prepend_scheme": "never"}
    if part.get("type") == "ByteLevel":
        return part | {"add_prefix_space": False}
    return part
