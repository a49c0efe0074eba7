"""NVIDIA Model-Optimizer: acceptance_rate.json of its benchmark of speculative decoding (specdec_bench, SPEED-Bench).

Source: Model-Optimizer a2fbac7b, examples/specdec_bench/specdec_bench/metrics/. It counts tokens by chunk of the stream: a chunk of k tokens is
a round of k - 1 accepted drafts, as long as no chunks were joined. The chunk of prefill is one of a single token, and stands among them: as many
as there were turns are taken off the rounds. `Request_AL` has turns one by one, but for the variants of SpecBench and MT-Bench, which give
questions only and leave open how many turns they had, and whether the ends of a turn were taken off. The first releases (`Request_AR`) took them
off always.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any, NamedTuple

from specdiag.engines.printed import parsed
from specdiag.importers.averages import mean_of_means
from specdiag.importers.fields import number_text, record
from specdiag.importers.histogram import accepted, reached, sparse
from specdiag.importers.interface import DRAFTER, Found, Importer, Output, Trouble
from specdiag.importers.source import Source
from specdiag.trace.consistency import contradictions, counts_of
from specdiag.trace.events import TallyEvent

_HISTOGRAM = "Acceptance_Length_Histogram"


class _Lengths(NamedTuple):
    """Mean lengths of turns, or of questions; `turns`: how many turns they are of, where that is told."""

    values: list[float]
    turns: int | None
    trimmed: bool


def read(source: Source) -> Iterator[Output]:
    """A tally for each run that was appended to the file."""
    number = 0
    for line, value in source.values():
        whole = record(value)
        if _HISTOGRAM in whole:
            number += 1
            yield from _run(line, f"run {number}", whole)


def _run(line: int, name: str, whole: dict[str, Any]) -> Iterator[Output]:
    chunks, lengths = sparse(whole[_HISTOGRAM]), _lengths(whole)
    if not chunks or lengths is None or not any(chunks.values()):
        yield Trouble(line, "report_unreadable", f"{_HISTOGRAM} or the lengths of requests are no such counts")
        return
    if chunks.get(0):
        yield Trouble(line, "not_counts", f"{chunks[0]} chunks without a token: they are no rounds")
        return
    number = sum(chunks.values())
    rounds = {length - 1: many for length, many in chunks.items()}
    turns = lengths.turns or 0
    first, spread, word = _first(chunks, lengths)
    rounds[0] = rounds.get(0, 0) - first
    figure = "Average_AR" if lengths.trimmed else "Average_AL"
    said = number_text(whole.get(figure))
    printed = {figure: said} if said else {}
    event = TallyEvent(
        source=name,
        drafter=DRAFTER,
        window="interval",
        requests=turns or None,
        rounds=number - first,
        accepted=accepted(rounds),
        completion_tokens=None if lengths.trimmed else accepted(chunks),
        reached=reached(rounds),
        definitions="model-optimizer-trimmed" if lengths.trimmed else "model-optimizer",
        printed=printed if first or lengths.trimmed else None,
        estimated={"rounds": spread} if spread else None,
    )
    wrong = next(contradictions(event), None)
    if wrong:
        yield Trouble(line, "not_counts", wrong[1])
        return
    yield Found(line, event)
    if word:
        yield Trouble(line, "definition_told" if lengths.turns else "definition_open", word)
    yield from _averages(line, event, lengths, printed, chunks)
    yield from _joint(line, whole, chunks)


def _first(chunks: dict[int, int], lengths: _Lengths) -> tuple[int, int, str]:
    """Chunks that are taken for prefill, by how many that may be wrong, and a word on it."""
    single, number = chunks.get(1, 0), sum(chunks.values())
    if lengths.trimmed:
        return 0, 0, ""
    if lengths.turns is not None:
        if single < lengths.turns:
            return 0, 0, f"{single} chunks of one token in {lengths.turns} turns: prefill has no chunks of its own here"
        return lengths.turns, 0, f"{lengths.turns} of {number} chunks are taken for prefill, one a turn"
    questions = min(len(lengths.values), single)
    text = f"{number} chunks, of which one of each turn may be prefill: {questions} are taken for it, one a question"
    return questions, questions, text


def _averages(
    line: int, event: TallyEvent, lengths: _Lengths, printed: dict[str, str], chunks: dict[int, int]
) -> Iterator[Output]:
    """The printed average against the lengths that it is taken of, and against all chunks together."""
    for figure, text in printed.items():
        said = parsed(text)
        mean = fmean(lengths.values)
        if said and abs(float(said.value) - mean) > float(said.slack) + 1e-9 * mean:
            yield Trouble(line, "printed_differs", f"{figure} {text} printed, {mean:.6g} by the mean of its requests")
    if lengths.turns is not None and (lengths.trimmed or event.rounds != sum(chunks.values())):
        if lengths.turns != 1:
            yield from mean_of_means(line, event.definitions or "", printed, counts_of(event))
        return
    for figure, text in printed.items():
        said, pooled = parsed(text), accepted(chunks) / sum(chunks.values())
        if said and abs(float(said.value) - pooled) > float(said.slack) + 1e-9:
            yield Trouble(
                line,
                "printed_differs",
                f"{figure} {text} printed, a mean of means; {pooled:.4g} over all chunks = {accepted(chunks)} / {sum(chunks.values())}",
            )


def _joint(line: int, whole: dict[str, Any], chunks: dict[int, int]) -> Iterator[Output]:
    """The printed share of chunks of at least k tokens, against the histogram beside it."""
    number = sum(chunks.values())
    for key, value in record(whole.get("Joint_Acceptance_Rate")).items():
        said = parsed(number_text(value) or "")
        if said is None or not key.isdecimal() or len(key) > 4:
            continue
        share = sum(many for length, many in chunks.items() if length >= int(key)) / number
        if abs(float(said.value) - share) > float(said.slack) + 1e-9:
            yield Trouble(
                line, "printed_differs", f"Joint_Acceptance_Rate {key}: {value} printed, {share:.4g} by the histogram"
            )


def _lengths(whole: dict[str, Any]) -> _Lengths | None:
    trimmed = "Request_AR" in whole
    requests = record(whole.get("Request_AR" if trimmed else "Request_AL"))
    nested = [value for turns in requests.values() if isinstance(turns, dict) for value in turns.values()]
    flat = [value for value in requests.values() if not isinstance(value, dict)]
    values = [float(value) for value in nested or flat if number_text(value)]
    if not values or len(values) != len(nested or flat) or (nested and flat):
        return None
    return _Lengths(values, len(values) if nested else None, trimmed)


IMPORTERS = (
    Importer(
        name="model-optimizer/acceptance",
        reads="acceptance_rate.json of specdec_bench, of NVIDIA Model-Optimizer (one object a run)",
        carries="rounds, accepted and output tokens, rounds by accepted tokens of each run",
        lacks="proposed tokens; rounds that came in one chunk of the stream; without turns one by one, rounds are an estimate",
        recognise=lambda head: b'"Acceptance_Length_Histogram"' in head and b'"Request_A' in head,
        read=read,
    ),
)
