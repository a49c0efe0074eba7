"""Rewrite a recording of the recorder's prototype as a `specdiag/1` trace.

    python traces/rewrite_prototype.py SOURCE.jsonl -o OUT.jsonl[.gz]

The same source gives the same events, whatever the machine. The prototype wrote one line a round: the drafter's
tokens (`proposal`), those that the verifier judged (`verify`, which ends at the first refusal) and the verifier's own
token (`bonus`). Three things need care:

* Only judged tokens have an id in the verifier's vocabulary. Where the two vocabularies were intersected (`tli`),
  a drafted token becomes exactly one verifier token of the same bytes with the same q, and the whole block went into
  the verifier's batch (its passes take as long as those over as many untranslated tokens). So the block keeps its full
  length, and a tail id that was not logged is `UNLOGGED`.
* Where the drafted text was tokenized anew (`slem`), neither the ids nor the number of the tokens behind a refusal
  were logged. Such a block holds its judged tokens only, and says `submitted_incomplete: true`. Its q belong to
  tokens that no verdict used, so they stand under `drafted_q` and not under `q`.
* A round may run past the end-of-text token. Those tokens were accepted and are not committed, and the verifier's
  own token of that round, which reached no output, stands under `next_unused` and not under `next`.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NotRequired, TypeAlias, TypedDict, cast

Event: TypeAlias = dict[str, Any]

UNLOGGED = -1
"""Stands for a submitted token whose id in the verifier's vocabulary the prototype did not log."""

NOT_RECORDED = "not recorded"

VOCABULARY = {"gpt2": 50_257, "llama3": 128_000, "qwen2": 151_643, "smollm2": 49_152, "tekken": 130_072}
"""Sizes without the special tokens of llama3, qwen2 and tekken: the recorded ids are ranks that leave those out."""

RULES: dict[str, tuple[str, str | None]] = {
    "std": ("rejection", None),
    "point": ("rejection", None),  # all of q on one token: rejection sampling with q = 1
    "tli": ("rejection", "vocabulary_intersection"),
    "slem": ("exact_match", "string_match"),
}
"""The prototype's word for a drafter's rule: how its tokens are verified, and how they are translated."""

MODELS = {
    "ngram4-pystdlib@llama3": "4-gram, absolute discounting; trained on the Python standard library",
    "ngram4-selfdistil@gpt2": "4-gram, absolute discounting; trained on 8,677 tokens sampled from the verifier",
    "ngram4-selfdistil@tekken": "4-gram, absolute discounting; trained on 8,677 tokens sampled from the verifier",
    "lookup@smollm2": "prompt lookup in the request's own text",
    "smol-half3bit@smollm2": "the verifier's weights, half of the feed-forward layers rounded to 3 bits",
    "smol-ffn3bit@smollm2": "the verifier's weights, all feed-forward layers rounded to 3 bits",
    "3gram-half@tekken": "3-gram; trained on one half of the verifier's corpus",
    "4gram-half@llama3": "4-gram; trained on the other half of the verifier's corpus",
    "3gram-half+eng@gpt2": "3-gram; trained on half of the corpus and English text",
    "4gram-all@qwen2": "4-gram; trained on all of the verifier's corpus",
}


class Verifier(TypedDict):
    """The verifier of a header line."""

    model: str
    engine: str
    tokenizer: str
    id: NotRequired[str]
    n_vocab: NotRequired[int]
    sha256: NotRequired[str]


class Drafter(TypedDict):
    """One drafter of a header line; `overlap` is the share of its vocabulary that the verifier has too."""

    name: str
    tokenizer: str
    rule: str
    overlap: float | None


class Header(TypedDict):
    """What a file says of the run as a whole."""

    recorder: str
    mode: str
    temperature: NotRequired[float]
    gamma: int
    seed: NotRequired[int]
    verifier: Verifier
    drafters: list[Drafter]


class Token(TypedDict):
    """A drafted token: id in the drafter's vocabulary, bytes, probability."""

    id: int
    b: str
    q: float


class Judged(TypedDict):
    """A judged token: id in the verifier's vocabulary, bytes, both probabilities, the draw, the verdict."""

    id: int
    b: str
    p: float
    q: float | None
    u: float | None
    ok: bool


class Own(TypedDict):
    """The verifier's own token of a round."""

    id: int
    b: str
    p: NotRequired[float]


class Round(TypedDict):
    """One round: a block, its verdict, the times of both."""

    rid: int
    r: int
    pos: int
    drafter: str
    proposal: list[Token]
    resplit: bool
    verify: list[Judged]
    n_acc: int
    bonus: Own
    t_draft_us: NotRequired[int]
    t_verify_us: NotRequired[int]


NGRAM_HEADER: Header = {
    "recorder": "rd-proto",
    "mode": "sample",
    "gamma": 4,
    "verifier": {
        "id": "5gram@tekken",
        "model": "5-gram; trained on 1.57 M tokens: Python standard library and licence texts",
        "engine": f"numpy {NOT_RECORDED}",
        "tokenizer": "tekken",
    },
    "drafters": [
        {"name": "3gram-half@tekken", "tokenizer": "tekken", "rule": "std", "overlap": None},
        {"name": "4gram-half@llama3", "tokenizer": "llama3", "rule": "tli", "overlap": None},
        {"name": "3gram-half+eng@gpt2", "tokenizer": "gpt2", "rule": "slem", "overlap": None},
        {"name": "4gram-all@qwen2", "tokenizer": "qwen2", "rule": "tli", "overlap": None},
    ],
}
"""The recording with an n-gram verifier has no header line: this one is made from its description and its rounds."""


class Recording:
    """One prototype file: its header, its lines, and what only a look at the whole file tells."""

    def __init__(self, source: Path) -> None:
        """Read the file at once: a round's fate may be told by a later line."""
        lines: list[Event] = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines() if line]
        headers = [line for line in lines if line["ev"] == "header"]
        self.name = source.name
        self.header = cast(Header, headers[0]) if headers else NGRAM_HEADER
        self.lines = [line for line in lines if line["ev"] != "header"]
        self.drafters = {drafter["name"]: drafter for drafter in self.header["drafters"]}
        self.winner = {(line["rid"], line["r"]): line["drafter"] for line in lines if line["ev"] == "commit"}
        self.output_length = {line["rid"]: len(line["output_ids"]) for line in lines if line["ev"] == "end"}

    @property
    def shadowed(self) -> bool:
        """Whether all drafters were verified on every prefix, each on a branch of its own."""
        return bool(self.winner)


def byte_length(text: str) -> int:
    """Length of a token's bytes, which the prototype wrote as text, or in base64 where they are no whole text."""
    return len(base64.b64decode(text[4:]) if text.startswith("b64:") else text.encode())


def trace_event(recording: Recording) -> Event:
    """The header of the trace."""
    header, verifier = recording.header, recording.header["verifier"]
    greedy = header["mode"] == "greedy"
    engine, engine_version = verifier["engine"].split(" ", 1)
    model_id = verifier.get("id", verifier["model"].lower().replace(" ", "-"))
    names = sorted({verifier["tokenizer"], *(drafter["tokenizer"] for drafter in header["drafters"])})
    regime = {"temperature": header["temperature"]} if "temperature" in header else {}
    labels = {
        "mode": header["mode"],
        "gamma": str(header["gamma"]),
        "schedule": "all drafters on every prefix" if recording.shadowed else "drafters in turn",
        "source": recording.name,
    }
    if "seed" in header:
        labels["seed"] = str(header["seed"])
    if "sha256" in verifier:
        labels["verifier_sha256"] = verifier["sha256"]
    return {
        "type": "trace",
        "schema": "specdiag/1",
        "trace_id": Path(recording.name).stem.removeprefix("own_"),
        "engine": {"name": engine, "version": engine_version},
        "recorder": {"name": header["recorder"], "version": NOT_RECORDED},
        "verification": {"rule": "greedy" if greedy else "rejection"},
        "drafters": [drafter_entry(drafter, header, regime, greedy=greedy) for drafter in header["drafters"]],
        "verifier": {"id": model_id, "model": verifier["model"], "tokenizer": verifier["tokenizer"], **regime},
        "tokenizers": {name: {"vocab_size": VOCABULARY[name]} for name in names},
        "labels": labels,
    }


def drafter_entry(drafter: Drafter, header: Header, regime: dict[str, float], *, greedy: bool) -> Event:
    """One drafter of the header; the rule is said for each, as a string-matched one is not sampled against q."""
    name = drafter["name"]
    verification, translation = RULES[drafter["rule"]]
    entry: Event = {
        "id": name,
        "model": MODELS[name],
        "kind": "prompt_lookup" if name.startswith("lookup") else "ngram" if "gram" in name else "model",
        "tokenizer": drafter["tokenizer"],
        **regime,
        "max_draft_tokens": header["gamma"],
        "verification": "greedy" if greedy else verification,
    }
    if translation is not None:
        entry["translation"] = translation
    if drafter["overlap"] is not None:
        entry["vocabulary_overlap"] = round(drafter["overlap"], 6)
    return entry


def request_note(line: Event) -> Event:
    """A request's prompt, which the format has no event for."""
    size = f"{len(line['prompt_ids'])} tokens"
    size += f", {line['prompt_bytes']} bytes" if "prompt_bytes" in line else ", bytes not recorded"
    text = f"request {line['rid']}: prompt of {size}"
    return {"type": "note", "text": text, "request": str(line["rid"]), "prompt": line["prompt_ids"]}


def end_note(line: Event) -> Event:
    """A request's output as text; its ids are those of the committed tokens."""
    text = f"request {line['rid']}: output of {len(line['output_ids'])} tokens"
    return {"type": "note", "text": text, "request": str(line["rid"]), "output_text": line["text"]}


def proposal_event(line: Round, recording: Recording) -> Event:
    """What the drafter of this round proposed."""
    drafted, judged = line["proposal"], line["verify"]
    drafter = recording.drafters[line["drafter"]]
    string_matched = drafter["rule"] == "slem"
    event: Event = {
        "type": "proposal",
        "id": block_id(line, recording),
        "request": str(line["rid"]),
        "round": line["r"],
        "branch": line["drafter"] if recording.shadowed else "main",
        "drafter": line["drafter"],
        "parent": None,
        "start": line["pos"],
        "tokens": [token["id"] for token in drafted],
        "bytes": [byte_length(token["b"]) for token in drafted],
    }
    if drafter["tokenizer"] != recording.header["verifier"]["tokenizer"]:
        tail = [] if string_matched else drafted[len(judged) :]
        event["submitted"] = [token["id"] for token in judged] + [UNLOGGED] * len(tail)
        event["submitted_bytes"] = [byte_length(token["b"]) for token in [*judged, *tail]]
    event["drafted_q" if string_matched else "q"] = [token["q"] for token in drafted]
    if string_matched and tail_unknown(event, line, recording.header["gamma"]):
        event["submitted_incomplete"] = True
    if line["resplit"]:
        event["resplit"] = True
    if "t_draft_us" in line:
        event["ms"] = line["t_draft_us"] / 1000
    return event


def tail_unknown(event: Event, line: Round, gamma: int) -> bool:
    """Whether a string-matched block may have had tokens behind its refused one."""
    refused = line["n_acc"] < len(line["verify"])
    return refused and len(line["verify"]) < gamma and sum(event["submitted_bytes"]) < sum(event["bytes"])


def verdict_event(line: Round, recording: Recording) -> Event:
    """What the verifier made of this round's block."""
    judged, accepted = line["verify"], line["n_acc"]
    refused = accepted < len(judged)
    lost = recording.shadowed and recording.winner[line["rid"], line["r"]] != line["drafter"]
    room = recording.output_length.get(line["rid"], line["pos"] + accepted + 1) - line["pos"]
    past_end = accepted > room
    event: Event = {
        "type": "verdict",
        "proposal": block_id(line, recording),
        "request": str(line["rid"]),
        "round": line["r"],
        "accepted": accepted,
        "judged": len(judged),
        "committed": 0 if lost else min(accepted, room),
    }
    stop = "branch_lost" if lost else "eos" if past_end else "rejected" if refused else None
    if stop is not None:
        event["stop"] = stop
    event["p"] = [token["p"] for token in judged]
    draws = [token["u"] for token in judged]
    if draws and None not in draws:
        event["u"] = draws
    own: Event = {"token": line["bonus"]["id"], "kind": "correction" if refused else "bonus"}
    if "p" in line["bonus"]:
        own["p"] = line["bonus"]["p"]
    own["bytes"] = byte_length(line["bonus"]["b"])
    event["next_unused" if past_end else "next"] = own
    if "t_verify_us" in line:
        event["ms"] = line["t_verify_us"] / 1000
    return event


def block_id(line: Round, recording: Recording) -> str:
    """Request and round; where a round has a block of every drafter, its drafter too."""
    name = f"{line['rid']}/{line['r']}"
    return f"{name}/{line['drafter']}" if recording.shadowed else name


def rewrite(recording: Recording) -> Iterator[Event]:
    """The events of the trace, in the order of the recording."""
    yield trace_event(recording)
    for line in recording.lines:
        match line["ev"]:
            case "request":
                yield request_note(line)
            case "round":
                yield proposal_event(cast(Round, line), recording)
                yield verdict_event(cast(Round, line), recording)
            case "end":
                yield end_note(line)
            case "commit":
                pass  # said by the verdicts: `committed`, `stop` and `next`
            case other:
                raise ValueError(f"{recording.name}: no such event in the prototype's format: {other!r}")


def encode(events: Iterator[Event], *, compressed: bool) -> bytes:
    """JSON Lines; the compressed form carries neither a time nor a file name."""
    lines = (json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n" for event in events)
    data = "".join(lines).encode()
    if not compressed:
        return data
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as stream:
        stream.write(data)
    return buffer.getvalue()


def main() -> None:
    """Parse the command line, rewrite one file."""
    parser = argparse.ArgumentParser(description="Rewrite a recording of the recorder's prototype as specdiag/1.")
    parser.add_argument("source", metavar="SOURCE.jsonl", type=Path)
    parser.add_argument("-o", "--output", metavar="OUT", type=Path, required=True, help=".jsonl or .jsonl.gz")
    options = parser.parse_args()
    data = encode(rewrite(Recording(options.source)), compressed=options.output.suffix == ".gz")
    options.output.write_bytes(data)


if __name__ == "__main__":
    main()
