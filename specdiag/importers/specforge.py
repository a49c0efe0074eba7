"""SpecForge: results of its benchmarks, of three generations.

Source: SpecForge a6b6b023. benchmarks/bench_eagle3.py writes one JSON object, indented, into a file named .jsonl; its `accept_length` is
ΣG / Σverify_ct and its `output_throughput` ΣG / latency, as floating-point numbers with all their digits: G and R are the only whole numbers that
give them. specforge/benchmarks/sglang.py and runner.py write both counts. G is cut at the stop and holds the tokens that prefill sampled, so accepted
drafts do not follow. The verifier judges `num_draft_tokens` tokens a round, of which the first is its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from specdiag.importers.averages import mean_of_means
from specdiag.importers.fields import count, no_count, number_text, record, text
from specdiag.importers.interface import DRAFTER, Found, Importer, Output, Trouble
from specdiag.importers.ratios import Ratios
from specdiag.importers.source import Source
from specdiag.trace.consistency import counts_of
from specdiag.trace.events import SCHEMA, DrafterInfo, TallyEvent, Trace

_EXACT = 1e-13  # relative: what two divisions of floating-point numbers may lose, and a little
TABLE = re.compile(rb'"benchmark_name"\s*:')  # of the published table
_BENCH = re.compile(rb'"num_questions"\s*:')


class Setting(NamedTuple):
    """One run: what it was of, and the lengths of its blocks."""

    name: str
    most: int | None

    @classmethod
    def of(cls, run: dict[str, Any]) -> Setting:
        """From an entry of a list of runs, or from the configuration in a report."""
        names = (
            ("batch_size", "batch"),
            ("steps", "steps"),
            ("num_steps", "steps"),
            ("topk", "topk"),
            ("num_draft_tokens", "verified"),
        )
        parts = [f"{word} {number}" for key, word in names if (number := count(run.get(key))) is not None]
        verified = count(run.get("num_draft_tokens"))
        return cls(", ".join(parts), verified - 1 if verified else None)


def read_bench(source: Source) -> Iterator[Output]:
    """A tally for each benchmark and setting; the settings are drafters of their own, for their counts are not of one kind."""
    begun = False
    for line, value in source.values():
        whole = record(value)
        found = [*_runs(whole)]
        settings = dict.fromkeys(setting for _, setting, _ in found)
        model = text(whole.get("model"))
        ids = {
            setting: f"{model or DRAFTER} ({setting.name})" if len(settings) > 1 else model or DRAFTER
            for setting in settings
        }
        if ids and not begun:
            drafters = [DrafterInfo(ids[s], model=model, max_draft_tokens=s.most) for s in settings]
            yield Found(line, Trace(schema=SCHEMA, drafters=drafters))
            begun = True
        alone: dict[str, Ratios] = {}
        for name, setting, metric in found:
            yield from _measured(line, ids[setting], name, setting, metric, alone)
        yield from alone_told(alone)


def _runs(whole: dict[str, Any]) -> Iterator[tuple[str, Setting, dict[str, Any]]]:
    """(benchmark, setting, metrics) of every run with a drafter. Where there was none, the length is 1, whatever the tokens."""
    for name, runs in whole.items():
        for run in runs if isinstance(runs, list) else []:
            metrics = record(run).get("metrics")
            for metric in metrics if isinstance(metrics, list) else []:
                length = number_text(record(metric).get("accept_length"))
                if length is not None and float(length) != 1:
                    yield name, Setting.of(record(run)), record(metric)


def _measured(
    line: int, drafter: str, name: str, setting: Setting, metric: dict[str, Any], alone: dict[str, Ratios]
) -> Iterator[Output]:
    length = metric["accept_length"]
    if length < 1:
        yield Trouble(line, "not_counts", f"{name}: accept_length {length}, and each round gives a token")
        return
    output = _whole(metric.get("output_throughput"), metric.get("latency"))
    rounds = None if output is None else _denominator(output, length)
    printed = None if rounds else {"accept_length": number_text(length) or ""}
    if printed:
        alone.setdefault(drafter, Ratios()).add(line, printed)
    yield Found(
        line,
        TallyEvent(
            source=name,
            drafter=drafter,
            window="interval",
            rounds=rounds,
            completion_tokens=output,
            max_draft_tokens=setting.most,
            definitions="specforge",
            printed=printed,
        ),
    )


def _whole(throughput: Any, latency: Any) -> int | None:
    """The only whole number that gives this throughput over this time; None where several do, or none."""
    if number_text(throughput) is None or number_text(latency) is None or latency <= 0 or throughput <= 0:
        return None
    tokens = count(float(round(min(float(throughput) * latency, 2.0**53))))
    return tokens if tokens and _is(tokens / latency, throughput) and tokens * _EXACT < 0.1 else None


def _denominator(output: int, length: float) -> int | None:
    """The only number of rounds that gives this length; None where several do, or none."""
    rounds = round(output / length)
    alone = not any(_is(output / other, length) for other in (rounds - 1, rounds + 1) if other > 0)
    return rounds if rounds > 0 and alone and _is(output / rounds, length) else None


def _is(value: float, printed: float) -> bool:
    return abs(value - printed) <= _EXACT * abs(printed)


def alone_told(ratios: dict[str, Ratios]) -> Iterator[Output]:
    """A word on the lengths of each drafter that have no counts beside them."""
    for drafter, found in ratios.items():
        yield from (trouble._replace(text=f"{drafter}: {trouble.text}") for trouble in found.said())


def read_counts(source: Source) -> Iterator[Output]:
    """A tally for each result, or for each run of a report."""
    for line, value in source.values():
        whole = record(value)
        runs = whole.get("runs")
        if isinstance(runs, list):
            draft = text(whole.get("draft_model")) or DRAFTER
            for run in runs:
                metrics, config, task = (record(record(run).get(key)) for key in ("metrics", "config", "task"))
                name = ", ".join(filter(None, (text(task.get("name")), Setting.of(config).name)))
                yield from _counted(line, draft, name, metrics, count(metrics.get("num_requests")), "specforge")
        elif "spec_verify_count" in whole:
            samples = count(whole.get("samples"))
            yield from _counted(line, DRAFTER, text(whole.get("dataset")) or "", whole, samples, "specforge-sglang")


def _counted(
    line: int, drafter: str, name: str, found: dict[str, Any], requests: int | None, definitions: str
) -> Iterator[Output]:
    if found.get("spec_verify_count") is None:
        return  # a run without a drafter
    rounds, output = count(found["spec_verify_count"]), count(found.get("output_tokens"))
    figure = "average_acceptance_length" if definitions == "specforge-sglang" else "accept_length"
    said = number_text(found.get(figure))
    if rounds is None or output is None:
        yield Trouble(line, "no_count", no_count(found, "spec_verify_count", "output_tokens"))
        return
    if output < rounds:
        yield Trouble(line, "not_counts", f"{output} tokens from {rounds} rounds")
        return
    printed = {figure: said} if said else {}
    event = TallyEvent(
        source=name or None,
        drafter=drafter,
        window="interval",
        requests=requests,
        rounds=rounds,
        completion_tokens=output,
        definitions=definitions,
        printed=printed or None,
    )
    yield Found(line, event)
    if requests != 1:
        yield from mean_of_means(line, definitions, printed, counts_of(event))


def has_lengths(head: bytes) -> bool:
    """Whether lengths by setting stand here: in results, and in the published table."""
    return b'"accept_length"' in head and b'"topk"' in head and b'"num_draft_tokens"' in head


IMPORTERS = (
    Importer(
        name="specforge/bench",
        reads="results of bench_eagle3.py of SpecForge (one JSON object, named .jsonl)",
        carries="rounds and output tokens of each benchmark and setting, where the figures have all their digits",
        lacks="accepted and proposed tokens; the runs without a drafter are left out",
        recognise=lambda head: has_lengths(head) and _BENCH.search(head) is not None and TABLE.search(head) is None,
        read=read_bench,
    ),
    Importer(
        name="specforge/sglang",
        reads="results and reports of the newer benchmarks of SpecForge (`spec_verify_count`)",
        carries="rounds and output tokens",
        lacks="accepted and proposed tokens",
        recognise=lambda head: b'"spec_verify_count"' in head and b'"output_tokens"' in head,
        read=read_counts,
    ),
)
