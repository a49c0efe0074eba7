"""Traces of a few rounds, written out: what engines make of them is known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specdiag.analysis import analyze
from specdiag.report import EngineFigure
from specdiag.summary import Options
from tests import build

K = 3


@dataclass(frozen=True)
class Round:
    """Which of its drafts the verifier would have drawn; how many of the accepted ones were kept, where not all; and why it ended."""

    mask: str
    kept: int | None = None
    stop: str | None = None

    @property
    def accepted(self) -> int:
        """Drafts before the first one that is refused."""
        return len(self.mask) - len(self.mask.lstrip("1"))


WORKED = [Round("010"), Round("101"), Round("111"), Round("110")]
"""γ = 3; accepted 0, 1, 3, 2."""

PADDED = [Round("000", stop="padding"), *WORKED]
ENDED = [*WORKED[:3], Round("110", kept=1, stop="eos")]
CLIPPED = [*WORKED[:3], Round("1")]
DRAFTLESS = [*WORKED, Round("")]
SECOND = [Round("000")]


def events(*requests: list[Round], declared: int | None = K) -> list[dict[str, Any]]:
    """A trace of one drafter, with p, q and u of every draft; the first token of each request came from prefill."""
    drafter: dict[str, Any] = {"id": "draft", "tokenizer": "t", "temperature": 1.0}
    if declared:
        drafter["max_draft_tokens"] = declared
    out: list[dict[str, Any]] = [build.header(drafters=[drafter], verification={"rule": "rejection"})]
    for i, rounds in enumerate(requests):
        start = 1
        for number, item in enumerate(rounds):
            name, size = f"{i}/{number}", len(item.mask)
            where = {"request": f"r{i}", "round": number}
            kept = item.accepted if item.kept is None else item.kept
            own = kept == item.accepted and item.stop != "padding"
            out.append(
                {"type": "proposal", "id": name, **where, "drafter": "draft", "start": start}
                | {"tokens": [7] * size, "q": [0.5] * size}
            )
            verdict: dict[str, Any] = {"type": "verdict", "proposal": name, **where, "accepted": item.accepted}
            verdict |= {"p": [0.5 if c == "1" else 0.1 for c in item.mask]}
            verdict |= {"u": [0.5 if c == "1" else 0.9 for c in item.mask]}
            verdict |= {"committed": kept, "stop": item.stop} if item.stop else {}
            kind = "bonus" if item.accepted == size else "correction"
            out.append(verdict | ({"next": {"token": 9, "kind": kind}} if own else {}))
            start += kept + own
    return out


def printed(folder: Path, *requests: list[Round], declared: int | None = K) -> dict[str, list[EngineFigure]]:
    """Every figure of every engine, by `engine: name`, one for each position."""
    path = folder / "t.jsonl"
    path.write_text(build.lines(events(*requests, declared=declared)))
    report = analyze(str(path), Options(engines=("all",), strict=True))
    found: dict[str, list[EngineFigure]] = {}
    for view in report.engines:
        for figure in view.figures:
            found.setdefault(f"{view.engine}: {figure.name}", []).append(figure)
    return found


def values(folder: Path, *requests: list[Round], declared: int | None = K) -> dict[str, Any]:
    """The same, as numbers to three decimals; a list for figures by position; None where there is none."""

    def rounded(figure: EngineFigure) -> float | None:
        return None if figure.rate.value is None else round(figure.rate.value, 3)

    return {
        name: [rounded(f) for f in figures] if figures[0].position else rounded(figures[0])
        for name, figures in printed(folder, *requests, declared=declared).items()
    }
