"""LMDeploy: the line of its log, and its counters.

Source: lmdeploy/metrics/loggers.py of 0.16.0 and of earlier releases with speculation: one line an interval and data-parallel rank (`[time
DP0]`, later `[time Engine 000]`), of which speculation is the end. It reads like that of vLLM 0.9, but its percentage has two decimals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from specdiag.importers.counters import Counters, Samples
from specdiag.importers.fields import digits, number_text
from specdiag.importers.identities import told
from specdiag.importers.interface import DRAFTER, Importer, Output, Trouble
from specdiag.importers.layout import layout, numbers, whole
from specdiag.importers.rounded import bounds, fitted, may_be
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

MARKER = "SpecDecoding metrics: "
LINE = layout(
    "Draft acceptance rate: <rate:f2|nan>%, Mean acceptance length: <length:f2>, Accepted: <accepted:int> tokens, "
    "Drafted: <proposed:int> tokens, Per-position acceptance rate: <rates:f3s>"
)
_RANK = re.compile(r"\b(?:DP|Engine )(\d+)\]")
_OURS = re.compile(rb"SpecDecoding\s*metrics:\s*Draft\s*acceptance\s*rate:\s*\d+\.\d\d%")


def read(source: Source) -> Iterator[Output]:
    """One interval of one rank a line."""
    for seen in source.sightings(MARKER):
        found = whole(LINE, seen.text)
        event = _interval(found) if found else None
        if event is None:
            yield Trouble(seen.line, "report_unreadable", seen.text.partition("\n")[0])
            continue
        rank = _RANK.search(seen.before)
        event.source = f"engine {rank[1].lstrip('0') or 0}" if rank else None
        yield from told(seen.line, event)


def _interval(line: re.Match[str]) -> TallyEvent | None:
    """The tally of a line; None where its figures do not fit each other, as where two lines ran into one."""
    accepted, proposed = digits(line["accepted"]), digits(line["proposed"])
    rate, rates = f"{line['rate']}%", numbers(line["rates"])
    if not accepted and not proposed:
        return None
    if accepted is None or not proposed or rate == "nan%" or not may_be(accepted, proposed, bounds(rate)):
        return None
    rounds = fitted(accepted, proposed, [bounds(text) for text in rates], bounds(line["length"]).less(1))
    return rounds and TallyEvent(
        drafter=DRAFTER,
        window="interval",
        rounds=rounds.rounds,
        proposed=proposed,
        accepted=accepted,
        reached=[*rounds.reached],
        max_draft_tokens=len(rates),
        definitions="lmdeploy",
        printed={"Draft acceptance rate": rate, "Mean acceptance length": line["length"]},
        estimated=rounds.estimated,
    )


def _gauges(samples: Samples) -> dict[str, str]:
    """The gauges beside the counters: ratios of them since the start."""
    named = {
        "Draft acceptance rate": "lmdeploy:spec_decode_mean_accept_rate",
        "Mean acceptance length": "lmdeploy:spec_decode_mean_accept_length",
    }
    found = {name: samples[gauge][0].value for name, gauge in named.items() if len(samples.get(gauge, [])) == 1}
    for sample in samples.get("lmdeploy:spec_decode_per_position_accept_rate", []):
        position = digits(sample.labels.get("position", ""))
        if position is not None:
            found[f"Per-position acceptance rate[{position + 1}]"] = sample.value
    return {name: text for name, value in found.items() if (text := number_text(value)) is not None}


COUNTERS = Counters(
    prefix="lmdeploy:spec_decode_",
    definitions="lmdeploy",
    rounds="lmdeploy:spec_decode_num_drafts_total",
    proposed="lmdeploy:spec_decode_num_draft_tokens_total",
    accepted="lmdeploy:spec_decode_num_accepted_tokens_total",
    by_position="lmdeploy:spec_decode_num_accepted_tokens_per_pos_total",
    labels=("model_name", "engine"),
    whole=True,
    printed=_gauges,
)

IMPORTERS = (
    Importer(
        name="lmdeploy/log",
        reads="the log of LMDeploy up to 0.16.0 (`SpecDecoding metrics:` with a percentage of two decimals)",
        carries="accepted and proposed tokens of each interval and rank; rounds, and rounds by position, as its rates leave them",
        lacks="output tokens; rounds without a draft; requests",
        recognise=lambda head: _OURS.search(head) is not None,
        read=read,
    ),
    Importer(
        name="lmdeploy/metrics",
        reads="what `/metrics` of LMDeploy 0.16.0 gives (`lmdeploy:spec_decode_…`), one scrape or many",
        carries="rounds, accepted and proposed tokens, rounds by position, since the start, of each engine",
        lacks="output tokens of the same rounds; rounds without a draft; requests",
        recognise=lambda head: b"lmdeploy:spec_decode_num_" in head,
        read=COUNTERS.read,
    ),
)
