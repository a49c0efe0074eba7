"""Recordings with n-gram models over small tokenizers that are trained here, as the command makes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specdiag.cli.record import Asked, run

NEAR = "near=ngram:order=3,tokenizer=bpe:500,corpus=0/4,temperature=0.8,tokens=3"
FAR = "far=ngram:order=3,tokenizer=bpe:400@1/2,corpus=1/4,temperature=0.8,tokens=3"
WRITTEN = "written=ngram:order=3,tokenizer=bpe:400@1/2,corpus=1/4,temperature=0.8,tokens=3,map=string"
LOOKUP = "look=lookup:tokens=3"
VERIFIER = "ngram:order=4,tokenizer=bpe:500,corpus=0/2,temperature=0.7"

Record = Callable[..., Path]


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Record to a file in a folder of the test's own; options by name, as in `Asked`."""

    def recorded(name: str = "t.jsonl", **options: Any) -> Path:
        asked: dict[str, Any] = {
            "drafters": [NEAR, FAR, WRITTEN, LOOKUP],
            "verifier": VERIFIER,
            "prompts": "corpus:3",
            "output": tmp_path / name,
            "topology": "chain",
            "partition": False,
            "rule": "rejection",
            "mapping": "intersection",
            "max_tokens": 24,
            "rounds": None,
            "quorum": None,
            "step_tokens": 6,
            "seed": 0,
            "labels": [],
            "times": False,
            "show": False,
            "quiet": True,
        }
        run(Asked(**(asked | options)))
        return tmp_path / name

    return recorded


def events(path: Path) -> list[dict[str, Any]]:
    """The lines of a trace."""
    return [json.loads(line) for line in path.read_text().splitlines()]
