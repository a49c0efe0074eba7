"""Ranks in tiktoken's format (Llama 3, Qwen) or Mistral's tekken.json, as a tokenizer of the `tokenizers` library.

A rank says when a token is merged, not out of what. The two parts are what merging by all lower ranks leaves of the token's own bytes.
"""

from __future__ import annotations

import base64
import json
from itertools import pairwise

from specdiag.record.backends.hf_tokenizer import HfTokenizer, alphabet, byte_level, library

_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS = {"llama3": _SPLIT % "{1,3}", "qwen": _SPLIT % ""}
"""How the owners of such files split a text before they merge; the files do not say it."""


def from_ranks(data: bytes, name: str, pattern: str) -> HfTokenizer:
    """The tokenizer of a file with one token in base64 and its rank a line."""
    ranks: dict[bytes, int] = {}
    for line in data.split(b"\n"):
        if line.strip():
            word, number = line.split()
            ranks[base64.b64decode(word, validate=True)] = int(number)
    return _built(ranks, name, pattern)


def from_tekken(data: bytes, name: str) -> HfTokenizer:
    """The tokenizer of a tekken.json: ranks with their pattern, numbered behind the special tokens."""
    whole = json.loads(data)
    config = whole["config"]
    special = int(config["default_num_special_tokens"])
    ranks = {base64.b64decode(token["token_bytes"]): int(token["rank"]) for token in whole["vocab"]}
    kept = {token: rank for token, rank in ranks.items() if rank < int(config["default_vocab_size"]) - special}
    return _built(kept, name, config["pattern"], special)


def _built(ranks: dict[bytes, int], name: str, pattern: str, special: int = 0) -> HfTokenizer:
    if sorted(ranks.values()) != list(range(len(ranks))) or len(ranks) < 256:
        raise ValueError("ranks do not count up from 0")
    letters = {byte: character for character, byte in alphabet().items()}

    def written(token: bytes) -> str:
        return "".join(letters[byte] for byte in token)

    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts = merged(token, ranks, rank)
        if len(token) > 1 and len(parts) == 2:
            merges.append((written(parts[0]), written(parts[1])))
    marks = [f"<special {number}>" for number in range(special)]
    vocabulary = {mark: number for number, mark in enumerate(marks)}
    vocabulary |= {written(token): rank + special for token, rank in ranks.items()}
    inner = byte_level(library().models.BPE(vocab=vocabulary, merges=merges, ignore_merges=True), pattern)
    inner.add_special_tokens(marks)
    return HfTokenizer(inner, name)


def merged(token: bytes, ranks: dict[bytes, int], below: int) -> list[bytes]:
    """What merging by the ranks below this one leaves of a token, lowest rank first."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 1:
        rank, place = min((ranks.get(a + b, below), i) for i, (a, b) in enumerate(pairwise(parts)))
        if rank >= below:
            break
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts
