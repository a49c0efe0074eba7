"""Trouble with the input: counted, located, and said in one sentence with what to do about it.

A note is a `problem` (strict mode ends on it) or `info`. The catalogue below is the only place where their wording stands.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from specdiag.errors import LONGEST, cut

KEPT_PLACES = 5
KEPT_OF_A_LINE = 200
LONGEST_SENTENCE = 500
OUR_SENTENCES = frozenset(
    {
        "not_counts",
        "no_count",
        "lifetimes_added",
        "printed_differs",
        "definition_told",
        "definition_open",
        "ratios_alone",
    }
)
"""Codes whose text is a sentence of this package, to be read whole; that of the others is what stood there, and its ends tell."""

Severity = Literal["problem", "info"]


class Kind(NamedTuple):
    """Severity, message and advice of one code."""

    severity: Severity
    message: str
    advice: str


CATALOGUE: dict[str, Kind] = {
    "not_json": Kind("problem", "line is not JSON", "write one JSON object a line; the line is left out"),
    "torn_line": Kind("problem", "line ends in the middle", "the writer was killed or the disk was full; the torn part is left out"),
    "joined_lines": Kind("problem", "several events on one line", "end each event with a newline; all of them are read"),
    "restarted_line": Kind("problem", "a line was begun, and begun again", "give each writer its own file; the torn first part is left out"),
    "invalid_utf8": Kind("problem", "line is not valid UTF-8", "write UTF-8; the bad bytes are replaced"),
    "control_character": Kind("problem", "control character inside a string", "escape it as \\u00XX; the line is read all the same"),
    "too_deep": Kind("problem", "JSON nested too deeply", "the line is left out"),
    "too_long": Kind("problem", "line longer than 16 MiB", "one event is a few hundred bytes; the line is left out"),
    "truncated_stream": Kind("problem", "compressed input ends early", "copy the file again; what could be read is counted"),
    "corrupt_stream": Kind("problem", "compressed input is corrupt", "copy the file again; what could be read is counted"),
    "large_window": Kind("problem", "zstd stream with a window above 128 MiB", "decompress it with zstd -d --long=31, or compress it again with --long=27 or less; what could be read is counted"),
    "bad_field": Kind("problem", "field is missing or of the wrong type", "write the field as docs/trace-format.md says; the line is left out"),
    "bad_optional_field": Kind("problem", "optional field of the wrong type", "write the field as docs/trace-format.md says; it counts as missing"),
    "not_finite": Kind("problem", "NaN, Infinity, a placeholder such as 1.797e308, or a time that is none", "write null where there is no value; it counts as missing"),
    "id_not_string": Kind("problem", "id written as a number", "write ids as strings: beyond 2^53 other readers change numbers silently"),
    "probability_out_of_range": Kind("problem", "p, q or u outside [0, 1], or a drafted token with q = 0", "log probabilities after temperature and truncation; the value counts as missing"),
    "accepted_above_submitted": Kind("problem", "accepted is negative or above the submitted tokens", "log the accepted prefix of this block alone, without the bonus token; the block counts as unjudged"),
    "committed_above_accepted": Kind("problem", "committed is negative or above accepted", "log how many of the accepted tokens reached the output; the block counts as unjudged"),
    "judged_out_of_range": Kind("problem", "judged is below accepted or above the submitted tokens", "log how many positions were judged; the block counts as unjudged"),
    "accepted_behind_refusal": Kind("problem", "tokens accepted behind a refused token of the same chain", "log accepted 0 for what stands behind a refusal; the block counts as unjudged"),
    "accepted_behind_stop": Kind("problem", "tokens accepted behind a block that was not fully judged", "log the verdict of the block it extends; the block counts as unjudged"),
    "verdict_conflict": Kind("problem", "second, different verdict for one proposal", "log one verdict for each proposal; the first one stands"),
    "verdict_orphan": Kind("problem", "verdict without its proposal", "log every proposal, under the id and the request that its verdict names; the verdict is left out"),
    "verdict_disagrees": Kind("problem", "verdict names another round than its proposal", "log the round of the proposal; the proposal's is used"),
    "parent_missing": Kind("problem", "parent is no block of the same round", "log the block that this one extends, or null; the block counts as the head of a chain"),
    "parent_cycle": Kind("problem", "blocks that extend each other in a circle", "log the block that this one extends, or null; each counts as the head of a chain"),
    "parent_gap": Kind("problem", "block starts where its parent has no token", "log start in verifier tokens of the request; the block is taken to extend its whole parent"),
    "wrong_length": Kind("problem", "list that does not fit its block", "log one number for each token, or none: q and byte lengths count as missing, p and u beyond the block are ignored"),
    "drafter_conflict": Kind("problem", "drafter declared twice, differently", "declare each drafter once; the first declaration stands"),
    "header_conflict": Kind("problem", "header differs from the first one of its trace", "give each run a trace_id of its own; the report goes by the first header"),
    "counts_contradict": Kind("problem", "counts of an engine contradict each other", "accepted is at most proposed; reached falls, from at most rounds, and adds up to at most accepted; the event is left out"),
    "report_unreadable": Kind("problem", "line of an engine that is torn, interleaved or of an unknown layout", "it is left out: what was printed there counts nowhere"),
    "no_count": Kind("problem", "number of an engine's record that is no count", "it is left out, and so is what cannot be counted without it"),
    "not_counts": Kind("problem", "record whose counts contradict each other", "it is left out; see the text for what rules out what"),
    "printed_differs": Kind("info", "figure that the counts beside it do not give", "see which definition would give it; the report goes by the counts"),
    "output_below_counts": Kind("info", "fewer output tokens than accepted tokens and rounds give", "tokens past a stop, or replayed rounds, were counted: acceptance is overstated by no more than the difference"),
    "rounds_without_draft": Kind("info", "more output tokens than accepted tokens and rounds give", "so many rounds had no draft, and the engine counts them nowhere"),
    "blocks_cut_short": Kind("info", "fewer proposed tokens than rounds of full length", "blocks were cut, or the drafter gave up early: per-position rates divide by all rounds all the same"),
    "padded_rounds": Kind("info", "rounds of full length that accepted nothing at all", "the engine may have judged placeholders (vLLM after a hand-over from prefill); leave them out before acceptance is compared"),
    "simulated_acceptance": Kind("info", "acceptance that steps from always to never", "is acceptance simulated (rejection_sample_method synthetic, SGLANG_SIMULATE_ACC_LEN)? Then it says nothing of the drafter"),
    "no_drafter": Kind("info", "result file in which every step gave one token", "a run without a drafter is written so: leave it out before acceptance is compared"),
    "drafter_respelled": Kind("info", "drafters whose names differ in spelling only", "they stand apart, as they are written; if they are one, give them one name"),
    "ranks_agree": Kind("info", "ranks of one engine that log the same rounds", "they count once"),
    "counter_reset": Kind("info", "lifetime counter that fell", "the engine was started again: a new window begins"),
    "lifetimes_added": Kind("info", "lifetime counters of one source in several inputs, that add as runs of their own", "put the scrapes of one run into one file, one behind the other: then what lies between them counts"),
    "definition_told": Kind("info", "layout that two releases print with different meanings", "which one it is follows from its own numbers"),
    "definition_open": Kind("info", "layout that two releases print with different meanings, and numbers that fit both", "the counts are the same under either"),
    "ratios_alone": Kind("info", "ratios that an engine printed without counts", "they are kept as printed, and no figure is made of them: read an input that has counts (docs/importing.md)"),
    "verdict_before_proposal": Kind("info", "verdict stands before its proposal", "they are joined all the same"),
    "proposal_orphan": Kind("info", "proposal without a verdict", "its tokens count as unjudged unless its chain says more"),
    "duplicate_line": Kind("info", "event logged more than once", "let one rank log; it counts once"),
    "id_reused": Kind("info", "proposal id used again", "make ids unique in the trace; they are told apart by request and order"),
    "chain_too_deep": Kind("info", "block behind more than 64 others of its chain", "its tokens are counted; what follows a chain block by block (composition, a drafter's worth) is not given"),
    "judged_past_refusal": Kind("info", "positions judged behind the first refusal", "they are scored, not judged: each chain is judged up to its first refusal"),
    "unknown_field": Kind("info", "field that this release does not know", "kept on rewrite, not analysed"),
    "unknown_type": Kind("info", "event type that this release does not know", "kept on rewrite, not analysed"),
    "unknown_stop": Kind("info", "stop reason that this release does not know", "read as if it were absent"),
    "byte_order_mark": Kind("info", "byte order mark", "write plain UTF-8"),
    "utf_16": Kind("info", "UTF-16 text", "write UTF-8; it is converted"),
    "no_header": Kind("info", "no trace header", "write a `trace` event first: without it the rule, temperatures and tokenizers are not known"),
    "undeclared_drafter": Kind("info", "drafter that no header declares", "declare it in the header, with tokenizer and temperature"),
    "rounds_seen_again": Kind("info", "request returns to an earlier round", "the same evidence twice, or a request id used again: both are counted"),
    "same_evidence": Kind("info", "two inputs hold exactly the same evidence", "leave one out: the figures count both, the intervals are too narrow"),
    "repeated_requests": Kind("info", "greedy requests identical to an earlier one", "they count once in the number of requests and in means over requests, and widen the intervals"),
    "broken_identity": Kind("problem", "an identity of the ledger does not hold", "report this as a fault of specdiag, with the trace"),
}  # fmt: skip


END_OF_STREAM = ("truncated_stream", "corrupt_stream", "large_window")
"""Codes of what ends a stream early: they stand behind the last line that could be read."""


class Where(NamedTuple):
    """A place in one input: line (from 1), field path, and a word on what stands there."""

    line: int
    path: str = "$"
    text: str = ""


def _first(places: list[Where]) -> list[Where]:
    """The first places, and all of the first line: strict mode says every problem of it."""
    ordered = sorted(places) if len(places) <= KEPT_OF_A_LINE else heapq.nsmallest(KEPT_OF_A_LINE, places)
    return [place for i, place in enumerate(ordered) if i < KEPT_PLACES or place.line == ordered[0].line]


@dataclass(slots=True)
class Notes:
    """Counts and first places per code. Merging is exact, whatever the order, as long as lines are those of the whole input."""

    counts: dict[str, int] = field(default_factory=dict)
    places: dict[str, list[Where]] = field(default_factory=dict)

    def add(self, code: str, line: int, path: str = "$", text: str = "", count: int = 1) -> None:
        """One more of this kind, at this place."""
        self.add_many(code, [Where(line, path, text)], count)

    def add_many(self, code: str, places: Iterable[Where], count: int | None = None) -> None:
        """Several of a kind."""
        assert code in CATALOGUE, code
        listed = list(places)
        number = len(listed) if count is None else count
        if number:
            self.counts[code] = self.counts.get(code, 0) + number
            kept = self.places.get(code, [])
            # A line of 16 MiB may hold a problem every two bytes: what comes behind a full list is not sorted into it.
            if len(kept) < KEPT_OF_A_LINE or any(place < kept[-1] for place in listed):
                kept = _first([*kept, *listed])
                longest = LONGEST_SENTENCE if code in OUR_SENTENCES else LONGEST
                self.places[code] = [Where(line, cut(path), cut(text, longest)) for line, path, text in kept]

    def merge(self, other: Notes, line_offset: int = 0) -> None:
        """Add another's notes, whose lines start after `line_offset`."""
        for code, number in other.counts.items():
            self.add_many(code, [place._replace(line=place.line + line_offset) for place in other.places[code]], number)

    def first_problem(self) -> list[tuple[str, Where]]:
        """Every problem of the first line that has one; empty where there is none."""
        problems = [
            (code, place)
            for code in self.counts
            if CATALOGUE[code].severity == "problem"
            for place in self.places[code]
        ]
        first = min((place.line for _, place in problems), default=0)
        return sorted((p for p in problems if p[1].line == first), key=lambda p: (p[1].path, p[0]))
