"""Models of the `transformers` library: a folder, a name on the hub, or a GGUF file.

`model=FOLDER-OR-NAME`, `gguf=FILE` (in the folder, or a path on its own), `dtype` (float32), `threads` (1), `bos=1` (put the model's
begin-of-text token before every context), and `weaken`, `bits`, `seed` as in `weaken`. Keys and values of the last context are kept as far
as the next one begins with the same tokens, so that a round costs one pass over its new tokens.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specdiag.errors import UsageError, shown
from specdiag.record.backends.hf_tokenizer import from_json
from specdiag.record.backends.options import common, number, only, sha256
from specdiag.record.backends.weaken import Weakening, weakening
from specdiag.record.extras import need
from specdiag.record.protocols import Tokenizer

_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


class TransformersModel:
    """A causal language model of the library."""

    def __init__(
        self, name: str, tokenizer: Tokenizer, inner: Any, facts: Mapping[str, str], begin: Sequence[int]
    ) -> None:
        self.name = name
        self.tokenizer = tokenizer
        ends = inner.generation_config.eos_token_id
        self.end = frozenset([ends] if isinstance(ends, int) else ends or ())
        self._facts = dict(facts)
        self._inner = inner.eval()
        self._torch = need("torch", "transformers")
        names = inspect.signature(type(inner).forward).parameters
        self._cached = "cache" if "cache" in names else "past_key_values"  # renamed within 5.x
        self._keeps = "logits_to_keep" in names
        self._begin = list(begin)
        self._cache: Any = None
        self._held: list[int] = []  # the tokens whose keys and values the cache holds

    def logits(self, context: Sequence[int], tokens: Sequence[int] = ()) -> NDArray[np.float32]:
        """One pass over what the cache does not hold. Columns are cut or filled up to the tokenizer's size."""
        whole = [*self._begin, *context, *tokens]
        rows = len(tokens) + 1
        if len(whole) < rows:
            raise UsageError(f"{self.name}: an empty context", "Give a prompt, or bos=1 for a begin-of-text token.")
        self._cut(min(common(self._held, whole), len(whole) - rows))
        torch = self._torch
        given: dict[str, Any] = {
            "input_ids": torch.tensor([whole[len(self._held) :]]),
            self._cached: self._cache,
            "use_cache": True,
        }
        if self._keeps:
            given["logits_to_keep"] = rows
        with torch.inference_mode():
            out = self._inner(**given)
        self._cache, self._held = getattr(out, self._cached), whole
        found: NDArray[np.float32] = out.logits[0, -rows:].float().numpy()
        return _fitted(found, self.tokenizer.size)

    def _cut(self, length: int) -> None:
        """Keep the first `length` tokens, or none where the cache cannot be cut."""
        surplus = len(self._held) - length
        if surplus and (not length or not getattr(self._cache, "is_croppable", True)):
            self._cache, self._held = None, []
        elif surplus:
            self._cache.crop(-surplus)
            self._held = self._held[:length]

    def facts(self) -> Mapping[str, str]:
        """Engine, file, its sha256, and how the weights were weakened."""
        return self._facts


def _fitted(rows: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    if rows.shape[1] >= size:
        return rows[:, :size]
    return np.pad(rows, ((0, 0), (0, size - rows.shape[1])), constant_values=-np.inf)


def load(options: Mapping[str, str]) -> TransformersModel:
    """The model; MissingExtra without the library, UsageError for what it cannot load."""
    only(options, "transformers", "model", "gguf", "dtype", "threads", "bos", "weaken", "bits", "seed")
    torch, library = need("torch", "transformers"), need("transformers", "transformers")
    torch.set_num_threads(number(options, "threads", 1, 1, 1024))
    weak = weakening(options)
    place, gguf = _place(options)
    try:
        with _set_apart(place, gguf if options.get("gguf") is None or options.get("model") is None else None) as folder:
            tokenizer, inner = _read(library, torch, folder, gguf, options.get("dtype", "float32"))
    except (OSError, ValueError, ImportError) as error:
        raise UsageError(f"transformers:{place}: {error}", "Give a folder, a name on the hub, or gguf=FILE.") from error
    if weak is not None:
        _weaken(inner, weak, torch)
    name = Path(gguf).stem if gguf else Path(place).name
    facts = {"engine": f"transformers {library.__version__}, torch {torch.__version__}", "model": name}
    facts |= {"dtype": options.get("dtype", "float32"), **_files(inner, place, gguf)}
    if weak is not None:
        facts["weakened"] = str(weak)
    bos = tokenizer.bos_token_id if number(options, "bos", 0, 0, 1) else None
    return TransformersModel(
        name, from_json(tokenizer.backend_tokenizer.to_str(), name), inner, facts, [] if bos is None else [bos]
    )


def _place(options: Mapping[str, str]) -> tuple[str, str | None]:
    """Folder or name, and the GGUF file in it."""
    model, gguf = options.get("model"), options.get("gguf")
    if model is None and gguf is None:
        raise UsageError(
            "transformers: no model", "Give transformers:FOLDER, transformers:NAME or transformers:gguf=FILE."
        )
    if model is not None and model.endswith(".gguf"):
        model, gguf = None, model
    if gguf is not None and model is None:
        return str(Path(gguf).parent), Path(gguf).name
    return str(model), gguf


@contextmanager
def _set_apart(place: str, alone: str | None) -> Iterator[str]:
    """A folder that holds a GGUF file and nothing else: the library would take the tokenizer from whatever stands beside it."""
    if alone is None:
        yield place
        return
    with tempfile.TemporaryDirectory() as folder:
        source = Path(place, alone).resolve()
        if not source.is_file():
            raise UsageError(f"{shown(str(Path(place, alone)))}: no such file", "Give the path of a GGUF file.")
        (Path(folder) / alone).symlink_to(source)
        yield folder


def _read(library: Any, torch: Any, place: str, gguf: str | None, dtype: str) -> tuple[Any, Any]:
    more = {} if gguf is None else {"gguf_file": gguf}
    kind = getattr(torch, dtype, None)
    if not isinstance(kind, torch.dtype):
        raise UsageError(f"dtype={dtype}: no such type", "Give float32, bfloat16 or float16.")
    tokenizer = library.AutoTokenizer.from_pretrained(place, **more)
    if not hasattr(getattr(tokenizer, "backend_tokenizer", None), "to_str"):
        raise UsageError(
            f"transformers:{place}: its tokenizer is not one of the tokenizers library", "Use another model."
        )
    return tokenizer, library.AutoModelForCausalLM.from_pretrained(place, dtype=kind, **more)


def _weaken(inner: Any, weak: Weakening, torch: Any) -> None:
    with torch.no_grad():
        for name, weights in inner.named_parameters():
            if weights.ndim == 2 and weak.takes(name):
                weights.copy_(torch.from_numpy(weak.rounded(name, weights.float().numpy())))


def _files(inner: Any, place: str, gguf: str | None) -> dict[str, str]:
    """The weights: names and sha256 of what lies here, the commit of what came from the hub."""
    folder = Path(place)
    if not folder.is_dir():
        return {"commit": str(getattr(inner.config, "_commit_hash", None))}
    files = [folder / gguf] if gguf else sorted(path for pattern in _WEIGHTS for path in folder.glob(pattern))
    return {"files": ", ".join(path.name for path in files), "sha256": sha256(files)}
