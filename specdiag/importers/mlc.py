"""MLC-LLM: the metrics of its engine, as JSON, or as the text of `/metrics`.

Source: cpp/serve/metrics.{h,cc} of 79d603f0 and 07f113f6; python/mlc_llm/serve/engine_base.py, which makes the text of it. `draft_count[i]`
are the rounds whose block had a position i, `accept_count[i]` those that accepted it; position 0 is the verifier's own token, which every
round gives (mlc-llm#2789 counts from 1). The text leaves the lists out and has their ratios alone, so no count follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from specdiag.importers.fields import counts, digits, number_text, record
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Found, Importer, Output, Trouble
from specdiag.importers.nested import holders
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

_LINE = re.compile(
    r"spec_decode_(accept_prob|accept_rate|accept_len)_\1\{step=(\d{1,6})\}\s+(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
)
_PROBABILITY = b"spec_decode_accept_prob_accept_prob{step="
_NAME = re.compile(r"(accept_prob|accept_rate|accept_len)\{step=(\d{1,6})\}")


def read(source: Source) -> Iterator[Output]:
    """One tally for each object with the two lists, or for each scrape of the text: all since the engine started."""
    if not source.head().lstrip().startswith((b"{", b"[", b"data:")):
        yield from _text(source)
        return
    for line, value in source.values():
        for metrics in holders(value, "draft_count", "accept_count"):
            yield from _since_start(line, metrics)


def _since_start(line: int, metrics: dict[str, Any]) -> Iterator[Output]:
    blocks, survivors = counts(metrics["draft_count"]), counts(metrics["accept_count"])
    if not blocks or not survivors or len(blocks) != len(survivors) or blocks[0] != survivors[0]:
        yield Trouble(
            line,
            "not_counts",
            f"draft_count {metrics['draft_count']!r:.60}, accept_count {metrics['accept_count']!r:.60}",
        )
        return
    if len(blocks) == 1:
        return  # the verifier's own tokens alone: nothing was drafted
    rounds = blocks[1]
    if blocks[0] > rounds:
        yield Trouble(line, "rounds_without_draft", f"{blocks[0]} rounds, {rounds} with a draft")
    event = TallyEvent(
        drafter=DRAFTER,
        window="lifetime",
        rounds=rounds,
        proposed=sum(blocks[1:]),
        accepted=sum(survivors[1:]),
        reached=survivors[1:],
        drafted=blocks[1:],
        max_draft_tokens=len(blocks) - 1,
        definitions="mlc",
    )
    rates: dict[str, str] = {}
    for name in ("accept_prob", "accept_rate", "accept_len"):
        for key, rate in record(metrics.get(name)).items():
            found, said = _NAME.fullmatch(key), number_text(rate)
            if found and said is not None:
                rates[f"{found[1]}[{int(found[2])}]"] = said
    event.printed = _comparable(rates, blocks) or None
    yield from told(line, event)


def _comparable(rates: dict[str, str], blocks: list[int]) -> dict[str, str]:
    """The rates that are ratios of what the tally holds: the first conditional one may be taken of rounds without a draft, too."""
    printed = {}
    for i, rounds in enumerate(blocks[1:], 1):
        for name, whole in (("accept_prob", True), ("accept_rate", i > 1 or rounds == blocks[0])):
            if whole and f"{name}[{i}]" in rates:
                printed[f"{name}[{i}]"] = rates[f"{name}[{i}]"]
    last = f"accept_len[{len(blocks) - 1}]"
    return printed | ({"accept_len": rates[last]} if last in rates and len({*blocks}) == 1 else {})


def _text(source: Source) -> Iterator[Output]:
    """The rates of each scrape, and nothing else."""
    scrape: dict[str, str] = {}
    first = 0
    for number, line in source.rows():
        found = _LINE.fullmatch(line.strip()) if line.startswith("spec_decode_accept_") else None
        step = digits(found[2]) if found else None
        if found is None or step is None or (source.cut and number == source.lines):  # which may go on
            continue
        name = f"{found[1]}[{step}]"
        if name in scrape:
            yield from _rates(first, scrape)
            scrape = {}
        first = first if scrape else number
        scrape[name] = found[3]
    yield from _rates(first, scrape)


def _rates(line: int, scrape: dict[str, str]) -> Iterator[Output]:
    steps = {int(name.partition("[")[2][:-1]) for name in scrape}
    if not steps or max(steps) == 0:
        return
    printed = {
        name: rate for name, rate in scrape.items() if not name.startswith("accept_len") and not name.endswith("[0]")
    }
    length = scrape.get(f"accept_len[{max(steps)}]")
    printed |= {"accept_len": length} if length else {}
    yield Found(
        line,
        TallyEvent(drafter=DRAFTER, window="lifetime", definitions="mlc", printed=printed),
    )


IMPORTERS = (
    Importer(
        name="mlc/metrics",
        reads="the metrics of the engine of MLC-LLM as JSON (`draft_count`, bare or in `usage.extra`), or the text of `/metrics`",
        carries="rounds, accepted and proposed tokens, rounds by position, since the start; of the text, the rates that it prints",
        lacks="output tokens of the same rounds; requests; in the text, counts of any kind",
        recognise=lambda head: (b'"draft_count"' in head and b'"accept_count"' in head) or _PROBABILITY in head,
        read=read,
    ),
)
