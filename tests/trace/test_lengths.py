"""Lists that do not fit their block."""

from __future__ import annotations

from typing import Any

import pytest

from specdiag.scale.assemble import Assembler
from specdiag.scale.collected import Slices
from specdiag.scale.shard import Task, read_shard
from specdiag.trace.codec import Codec
from specdiag.trace.segment import How, read_segment
from specdiag.trace.sources import Piece
from tests import build

UNFIT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "q": ({"q": [0.5]}, {}),
    "bytes": ({"bytes": [1] * 5}, {}),
    "submitted_bytes": ({"submitted": [1, 2], "submitted_bytes": [1]}, {}),
    "p": ({}, {"p": [0.5] * 5}),
    "u": ({}, {"u": [0.5] * 5}),
}
FIT: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"q": [0.5] * 4, "bytes": [1] * 4}, {"p": [0.5] * 4, "u": [0.5] * 4}),
    ({"q": [], "bytes": [], "submitted_bytes": []}, {"p": [], "u": []}),
    ({}, {"p": [0.5], "u": [0.5]}),
    ({"submitted": [1, 2], "q": [0.5] * 2, "bytes": [1] * 4, "submitted_bytes": [2, 2]}, {"p": [0.5] * 2}),
    ({"submitted": [1, 2], "q": [0.5] * 4}, {}),
    ({"submitted_bytes": [1] * 4}, {}),
]


def noted(*events: dict[str, Any]) -> list[tuple[str, int, str]]:
    """(code, line, path) of each note on a segment of these events, among others that are in order."""
    notes = read_segment(build.lines([*build.rounds(3), *events]).encode(), Codec(), How()).notes
    return [(code, place.line, place.path) for code in notes.counts for place in notes.places[code]]


@pytest.mark.parametrize("name", UNFIT)
def test_a_list_that_does_not_fit_is_noted(name: str) -> None:
    """The note names the line and the field, in either order of proposal and verdict."""
    proposed, judged = UNFIT[name]
    block, verdict = build.block("x") | proposed, build.verdict("x", 1) | judged
    assert noted(block, verdict) == [("wrong_length", 9 if judged else 8, f"$.{name}")]
    assert ("wrong_length", 8 if judged else 9, f"$.{name}") in noted(verdict, block)


def test_byte_lengths_of_a_translated_block() -> None:
    """`bytes` are those of the tokens as drafted, also where they are not used."""
    assert noted(build.block("x", submitted=[1, 2], bytes=[1, 2])) == [("wrong_length", 8, "$.bytes")]


@pytest.mark.parametrize(("proposed", "judged"), FIT)
def test_lists_that_fit_get_no_note(proposed: dict[str, Any], judged: dict[str, Any]) -> None:
    """Full lists, shorter p and u, and empty ones are in order; q may be of the drafted tokens or of the submitted ones."""
    assert noted(build.block("x") | proposed, build.verdict("x", 1) | judged) == []


def test_byte_lengths_of_submitted_tokens_count_without_a_translation() -> None:
    """`submitted_bytes` are used wherever they are given."""
    blocks = read_segment(build.lines([build.block("x", submitted_bytes=[1, 2, 3, 4])]).encode(), Codec(), How()).blocks
    assert blocks is not None
    assert blocks.sizes.values.tolist() == [1, 2, 3, 4]


def test_a_verdict_of_another_segment() -> None:
    """A verdict that is joined across segments is held against its block, too."""
    assembler = Assembler(Task(), Slices())
    assembler.begin("x")
    for event in (build.block("x"), build.verdict("x", 1, u=[0.5] * 9)):
        assembler.add(read_shard(Piece(data=build.lines([event]).encode(), last=False), Task()))
    notes = assembler.finish().notes
    assert [place[:2] for place in notes.places["wrong_length"]] == [(2, "$.u")]
