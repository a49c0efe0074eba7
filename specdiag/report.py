"""The report: one value that every face renders, and the shape of `--format json`.

Counts are integers. A rate always carries its numerator and denominator; `definitions` says what each name means. Where the
evidence cannot carry a figure, its value is null and `absent` says why: missing is never zero.

History of the format: specdiag-report/1, the first.
"""

from __future__ import annotations

from typing import Literal

import msgspec

REPORT_SCHEMA = "specdiag-report/1"
NATIVE = "specdiag"  # the format of an input that is a trace

Source = Literal["recorded", "recomputed", "estimated"]


class Rate(msgspec.Struct, frozen=True):
    """One figure: numerator / denominator, with its interval.

    `interval` names how `low` and `high` were found: `poisson_bootstrap` (over requests), `poisson_bootstrap_repeats` (the same, widened
    because requests repeat), `wilson_rounds` (too few requests; too narrow), `exact_one_sided` (0 of n, or n of n), `rounding` (all that
    rounded figures of an engine leave). `source` tells recorded counts from recomputed and estimated ones.
    `reports`: of an engine's counts, how many of its reports have those of this figure, where not all have them.
    """

    name: str
    value: float | None
    numerator: float | None = None
    denominator: float | None = None
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    source: Source = "recorded"
    absent: str | None = None
    reports: int | None = None


class Fates(msgspec.Struct, frozen=True):
    """What became of the proposed tokens: proposed = gated + accepted + rejected + discarded_own + discarded_collateral + unjudged."""

    proposed: int
    gated: int
    submitted: int
    judged: int
    accepted: int
    rejected: int
    discarded_own: int
    discarded_collateral: int
    unjudged: int
    committed: int


class Position(msgspec.Struct, frozen=True):
    """Acceptance at one position (from 1): of the blocks judged there, and of all blocks."""

    position: int
    at_risk: int
    accepted: int
    blocks: int
    acceptance: Rate
    reach: Rate


class View(msgspec.Struct, frozen=True):
    """A drafter's figures over some of its blocks: `all`, `solo`, `shared` or `independent`."""

    blocks: int
    fates: Fates
    rates: dict[str, Rate]
    positions: list[Position]


class EngineWindow(msgspec.Struct, frozen=True):
    """Counts that an engine kept: over which `window` (`interval`, `lifetime`, `request`), from how many reports of it, and the sums of those that
    have the count. Of a lifetime the last report of each run counts. `sources`: how many processes, ranks or slots made them, by name;
    `max_draft_tokens`: of a full block, where all of them give the same;
    `estimated`: which of the counts follow from rounded figures."""

    window: str
    reports: int
    counts: dict[str, float]
    sources: int = 1
    max_draft_tokens: int | None = None
    estimated: list[str] = []


class EnginePrinted(msgspec.Struct, frozen=True):
    """A figure that an engine printed without the counts it is made of: in how many reports, the last one, the least and the greatest, as
    printed. `engine` and `formula`: whose definition it is."""

    name: str
    engine: str
    formula: str
    reports: int
    last: str
    least: str
    most: str


class Drafter(msgspec.Struct, frozen=True):
    """One drafter: what the header declares of it, and its figures per view. `engine_others`: windows of its counts that overlap the one whose
    rates are given, and are not added to it."""

    id: str
    declared: bool
    kind: str | None
    model: str | None
    tokenizer: str | None
    temperature: float | None
    abstained: int
    views: dict[str, View]
    engine_counts: dict[str, Rate]
    engine_window: EngineWindow | None = None
    engine_printed: list[EnginePrinted] = []
    engine_others: list[EngineWindow] = []


class Shared(msgspec.Struct, frozen=True):
    """Shared prefixes: chains of uncommitted blocks of more than one drafter, verified in one round."""

    rounds: int
    truncating_rounds: int
    fates: Fates
    depth_tokens: int
    rates: dict[str, Rate]
    positions: list[Position]


class Blame(msgspec.Struct, frozen=True):
    """tokens[i][j]: tokens of drafters[j] discarded because a token of drafters[i] was refused. Rows are in order of cost."""

    drafters: list[str]
    tokens: list[list[int]]
    own: list[int]
    collateral: list[int]
    row_totals: list[int]
    column_totals: list[int]
    remainder: int
    total: int
    shares: list[Rate]


class Marginal(msgspec.Struct, frozen=True):
    """What the shared prefixes would be without one drafter, and its Shapley share of the expected loss."""

    drafter: str
    joint_without: Rate
    joint_change: Rate
    committed_per_round_without: Rate
    decided_share: Rate
    shapley_share: Rate


class Thrash(msgspec.Struct, frozen=True):
    """Rounds that made no headway: re-proposals at the same place, and truncations to nothing twice in a row."""

    rounds: int
    reproposal_rounds: int
    no_progress_rounds: int
    reproposed_tokens: int
    rates: dict[str, Rate]


class Consensus(msgspec.Struct, frozen=True):
    """Steps that asked for consensus, and the side effects that hung on them."""

    steps: int
    agreed: int
    fallback: int
    fallback_rate: Rate
    effects: dict[str, int]


class Time(msgspec.Struct, frozen=True):
    """Committed tokens per second of logged drafting and verifying time (engine time, not wall clock), and the ratio to the best drafter alone."""

    basis: str
    rates: dict[str, Rate]
    best_single: str | None


class Slice(msgspec.Struct, frozen=True):
    """One row of `--by`."""

    by: dict[str, str]
    fates: Fates
    rates: dict[str, Rate]


class Evidence(msgspec.Struct, frozen=True):
    """One kind of evidence: how much of the trace has it, and what it can tell."""

    name: str
    have: int
    of: int
    unit: str
    tells: str


class Scope(msgspec.Struct, frozen=True):
    """Whether the joint diagnosis applies: `in_scope`, `out_of_scope` or `unknown`, and why."""

    status: Literal["in_scope", "out_of_scope", "unknown"]
    reasons: list[str]


class Headline(msgspec.Struct, frozen=True):
    """The one sentence to read if nothing else is read."""

    verdict: str
    sentence: str


class Place(msgspec.Struct, frozen=True):
    """Where in the input: file, line (from 1) and field path."""

    file: str
    line: int
    path: str = "$"
    text: str = ""


class Integrity(msgspec.Struct, frozen=True):
    """One kind of trouble with the input, counted, with its first places. `problem`: strict mode ends on it. `info`: it never does."""

    code: str
    severity: Literal["problem", "info"]
    count: int
    message: str
    advice: str
    places: list[Place]


class Skipped(msgspec.Struct, frozen=True):
    """A figure or check that this trace cannot carry, and why."""

    what: str
    reason: str


class Identity(msgspec.Struct, frozen=True):
    """An identity of the ledger, and whether it holds for this trace."""

    name: str
    left: int
    right: int
    holds: bool


class Input(msgspec.Struct, frozen=True):
    """One input file (or `-`), as read. `format`: `specdiag` for a trace, else the importer that made one of it."""

    name: str
    bytes: int
    lines: int
    events: dict[str, int]
    format: str = ""


class Trace(msgspec.Struct, frozen=True):
    """One trace header, in short."""

    trace_id: str | None
    engine: str | None
    recorder: str | None
    rule: str
    verifier: str | None
    verifier_tokenizer: str | None
    verifier_temperature: float | None
    labels: dict[str, str]


class Settings(msgspec.Struct, frozen=True):
    """What the figures depend on besides the input."""

    mode: Literal["strict", "lenient"]
    replicates: int
    seed: int
    level: float
    by: list[str]


class Requests(msgspec.Struct, frozen=True):
    """The units of resampling. `repeats`: greedy requests that are identical to an earlier one; `distinct` counts them once."""

    total: int
    distinct: int
    repeats: int


class EngineFigure(msgspec.Struct, frozen=True):
    """A figure as an engine would give it. `family`: `length`, `rate`, `reach` or `hazard` (the last two by position, from 1); `formula` over the
    symbols of docs/definitions.md; `counts_in`: what goes into it that does not go into others of its family; `where`: where the engine has it."""

    name: str
    family: Literal["length", "rate", "reach", "hazard"]
    position: int
    unit: Literal["", "%"]
    formula: str
    counts_in: list[str]
    where: str
    rate: Rate


class EngineView(msgspec.Struct, frozen=True):
    """The same rounds under the definitions of one engine. `of`: which rounds or counts; `assumes`: what was taken where the log does not say, or
    could not be confirmed; `counts`: its counts of them, by the symbols of the formulas, as far as they are known; `counting`: how it counts what
    others count otherwise."""

    engine: str
    title: str
    of: str
    figures: list[EngineFigure]
    assumes: list[str]
    counts: dict[str, int] = {}
    counting: list[str] = []


class Report(msgspec.Struct, frozen=True):
    """Everything that `specdiag analyze` found."""

    schema: str
    version: str
    inputs: list[Input]
    traces: list[Trace]
    settings: Settings
    requests: Requests
    rounds: int
    scope: Scope
    headline: Headline
    evidence: list[Evidence]
    fates: Fates
    rates: dict[str, Rate]
    drafters: list[Drafter]
    shared: Shared | None
    blame: Blame | None
    marginal: list[Marginal]
    thrash: Thrash | None
    consensus: Consensus | None
    time: Time | None
    slices: list[Slice]
    mixed: list[str]
    identities: list[Identity]
    integrity: list[Integrity]
    skipped: list[Skipped]
    definitions: dict[str, str]
    engines: list[EngineView] = []

    @property
    def has_rounds(self) -> bool:
        """Whether any proposal was read: else there are only the counts of engines, or votes and effects."""
        return self.rounds > 0 or any("proposal" in item.events for item in self.inputs)
