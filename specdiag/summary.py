"""From what was collected to the report: every figure once, in one value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from specdiag.engines.catalogue import ENGINES
from specdiag.errors import IN_A_SENTENCE, UsageError, cut, shown
from specdiag.measure import scope as scoping
from specdiag.measure.as_engines import engine_views
from specdiag.measure.blame import MAX_BLAMED, blame
from specdiag.measure.definitions import DEFINITIONS
from specdiag.measure.drafters import block_rates, summed_rates, views
from specdiag.measure.engine_counts import engine_rates
from specdiag.measure.engine_printed import PrintedFigures
from specdiag.measure.intervals import FEW_REQUESTS, Rates
from specdiag.measure.progress import consensus, output_rates, thrash, time
from specdiag.measure.requests import RequestMeans
from specdiag.measure.shared import joint_acceptance, marginals, shared
from specdiag.measure.slices import MAX_SLICES, keys_by_slice, slices
from specdiag.measure.tables import Tables
from specdiag.measure.tally import Tally
from specdiag.report import (
    REPORT_SCHEMA,
    Blame,
    Drafter,
    Identity,
    Input,
    Integrity,
    Place,
    Rate,
    Report,
    Settings,
    Shared,
    Skipped,
    Trace,
)
from specdiag.scale.collected import LINE_BITS, Collected, InputCount
from specdiag.trace import events
from specdiag.trace.notes import CATALOGUE, KEPT_PLACES, Notes
from specdiag.version import __version__

DIMENSIONS = ("drafter", "position", "branch", "label")
NO_ROUNDS = (
    Skipped("rounds", "the input has none: fates, joint acceptance, blame and intervals over requests need them"),
)
ALL_ENGINES = "all"
MAX_REPLICATES = 10_000
MAX_LISTED = 1000  # drafters with an entry of their own, those that proposed most first
MAX_IDLE = 100  # drafters that a header declares, without a block or a count, with an entry of their own


@dataclass(frozen=True, slots=True)
class Options:
    """How to analyze. `by`: dimensions of the slices (`drafter`, `position`, `branch`, `label`, `label:NAME`). `format`: what the inputs are
    (an importer, an engine, or `specdiag`), where they are not to tell it themselves. `engines`: whose definitions to
    give the figures under, too."""

    strict: bool = False
    replicates: int = 200
    seed: int = 0
    level: float = 0.95
    by: tuple[str, ...] = ()
    jobs: int = 1
    format: str | None = None
    engines: tuple[str, ...] = ()

    @property
    def wanted_engines(self) -> tuple[str, ...]:
        """The engines asked for, each once."""
        return tuple(ENGINES) if ALL_ENGINES in self.engines else tuple(dict.fromkeys(self.engines))

    def checked(self) -> Options:
        """Itself; UsageError where an option cannot be."""
        for dimension in self.by:
            if dimension not in DIMENSIONS and not (dimension.startswith("label:") and dimension != "label:"):
                raise UsageError(
                    f"--by {shown(dimension)}: no such dimension",
                    f"Choose from {', '.join(DIMENSIONS)} and label:NAME.",
                )
        if not 0 <= self.replicates <= MAX_REPLICATES:
            raise UsageError(f"{self.replicates} replicates", f"Choose 0 (no intervals) to {MAX_REPLICATES}.")
        if not 0 < self.level <= 0.9999:
            raise UsageError(f"a level of {self.level}", "Choose a share above 0 and up to 0.9999, such as 0.95.")
        for name in self.engines:
            if name not in ENGINES and name != ALL_ENGINES:
                raise UsageError(
                    f"--as {shown(name)}: no such engine", f"Choose from {', '.join(ENGINES)}; or {ALL_ENGINES}."
                )
        if self.jobs < 1:
            raise UsageError(f"{self.jobs} jobs", "Choose 1 or more.")
        return self


def summarize(collected: Collected, options: Options) -> Report:
    """The report on what was collected."""
    tables = Tables(collected.tally.renamed(lambda _: ()) if options.by else collected.tally)
    means = RequestMeans(collected.tally, options.seed, options.level)
    rates = means.rates
    headers = [collected.headers[epoch] for epoch in sorted(collected.headers)]
    known = scoping.declared(headers)
    idle = sorted(known.keys() - set(tables.drafters))
    listed = [
        _drafter(name, tables, rates, means, known, collected.printed)
        for name in sorted([*_busiest(tables), *idle[:MAX_IDLE]])
    ]
    active = [name for name in tables.drafters if tables.blocks.of_drafter(name).some.any() or tables.engine(name)]
    joint, blamed = _with_means(shared(tables, rates), means), blame(tables, rates)
    scoped = scoping.scope(active, known)
    seen: dict[str, int] = {}
    for item in collected.inputs:
        for name, number in item.events.items():
            seen[name] = seen.get(name, 0) + number
    pooled = _pooled(tables, rates, means)
    worth = marginals(tables, rates)
    headway, votes, spent = thrash(tables, rates), consensus(tables, rates), time(tables, rates, active)
    proposers = [name for name in active if tables.blocks.of_drafter(name).some.any()]
    notes = _all_notes(collected, proposers, known, means)
    identities = _identities(tables, joint, blamed)
    return Report(
        schema=REPORT_SCHEMA,
        version=__version__,
        inputs=[Input(i.name, i.bytes, i.lines, dict(sorted(i.events.items())), i.format) for i in collected.inputs],
        traces=[_trace(header) for header in headers],
        settings=Settings(
            "strict" if options.strict else "lenient", options.replicates, options.seed, options.level, list(options.by)
        ),
        requests=means.requests,
        rounds=int(tables.rounds(lambda key: key.judged)[0]),
        scope=scoped,
        headline=scoping.headline(
            scoped, tables, [d for d in listed if d.views["all"].blocks or d.engine_counts], joint, blamed
        ),
        evidence=scoping.evidence(tables, seen),
        fates=tables.blocks.fates(),
        rates=pooled,
        drafters=listed,
        shared=joint,
        blame=blamed,
        marginal=worth,
        thrash=headway,
        consensus=votes,
        time=spent,
        slices=slices(collected.tally, options.by, rates),
        mixed=_mixed(headers),
        identities=identities,
        integrity=_integrity(notes, collected.inputs),
        skipped=[
            *(_skipped(pooled, joint, headway, votes, spent, rates) if seen.get("proposal") else NO_ROUNDS),
            *_not_listed(collected.tally, len(idle), blamed, tables, options),
        ],
        definitions=DEFINITIONS,
        engines=engine_views(
            options.wanted_engines,
            tables,
            means,
            _full_block(active, known),
        ),
    )


def _full_block(active: list[str], known: dict[str, scoping.Declared]) -> int | None:
    """Drafts of a full block, where there is one drafter and the header says how many it makes."""
    info = known[active[0]].info if len(active) == 1 and active[0] in known else None
    return info.max_draft_tokens if info else None


def _busiest(tables: Tables) -> list[str]:
    if len(tables.drafters) <= MAX_LISTED:
        return tables.drafters
    proposed = {name: tables.blocks.of_drafter(name).fates().proposed for name in tables.drafters}
    return sorted(proposed, key=lambda name: (-proposed[name], name))[:MAX_LISTED]


def _drafter(
    name: str,
    tables: Tables,
    rates: Rates,
    means: RequestMeans,
    known: dict[str, scoping.Declared],
    as_printed: PrintedFigures,
) -> Drafter:
    info = known[name].info if name in known else None
    mine = tables.blocks.of_drafter(name)
    figures = views(tables, name, rates)
    figures["all"].rates["draft_acceptance_request_mean"] = means.of("draft_acceptance_request_mean", ("drafter", name))
    printed = as_printed.of(name)
    counted = engine_rates(tables.engine(name), bool(printed))
    return Drafter(
        id=name,
        declared=info is not None,
        kind=info.kind if info else None,
        model=info.model if info else None,
        tokenizer=info.tokenizer if info else None,
        temperature=info.temperature if info else None,
        abstained=int(mine.total("one", ~mine.some)[0]),
        views=figures,
        engine_counts=counted.rates,
        engine_window=counted.window,
        engine_printed=printed,
        engine_others=counted.others,
    )


def _pooled(tables: Tables, rates: Rates, means: RequestMeans) -> dict[str, Rate]:
    figures = block_rates(tables.blocks, tables.blocks.view("all"), rates, "no block was submitted")
    figures["draft_acceptance_request_mean"] = means.of("draft_acceptance_request_mean", None)
    figures["joint_acceptance"] = joint_acceptance(tables, rates)
    return figures | summed_rates(tables, rates) | output_rates(tables, rates)


def _with_means(joint: Shared | None, means: RequestMeans) -> Shared | None:
    if joint is not None:
        joint.rates["joint_acceptance_request_mean"] = means.of("joint_acceptance_request_mean", ("shared", ""))
    return joint


def _identities(tables: Tables, joint: Shared | None, blamed: Blame | None) -> list[Identity]:
    f = tables.blocks.fates()
    discarded = f.discarded_own + f.discarded_collateral
    blame_sum = sum(map(sum, blamed.tokens)) + blamed.remainder if blamed else 0
    fates = f.gated + f.accepted + f.rejected + discarded + f.unjudged
    sums = [
        ("proposed = gated + accepted + rejected + discarded + unjudged", f.proposed, fates),
        ("judged = accepted + rejected", f.judged, f.accepted + f.rejected),
        ("discarded = sum of the blame matrix", discarded, blame_sum),
    ]
    if joint:
        s = joint.fates
        known = s.accepted + s.rejected + joint.depth_tokens + s.unjudged
        sums.append(("submitted on shared chains = accepted + refused + depth + unjudged", s.submitted, known))
    out = [Identity(name, left, right, left == right) for name, left, right in sums]
    return [*out, Identity("committed <= accepted", f.committed, f.accepted, f.committed <= f.accepted)]


def _trace(header: events.Trace) -> Trace:
    def software(item: events.Software | None) -> str | None:
        return " ".join(filter(None, (item.name, item.version))) if item else None

    verifier = header.verifier or events.VerifierInfo()
    return Trace(
        header.trace_id,
        software(header.engine),
        software(header.recorder),
        header.rule,
        verifier.id or verifier.model,
        verifier.tokenizer,
        verifier.temperature,
        header.slices,
    )


def _mixed(headers: list[events.Trace]) -> list[str]:
    """What differs between the headers that a pooled figure mixes."""
    aspects: dict[str, Callable[[events.Trace], object]] = {
        "verification rules": lambda h: h.rule,
        "verifiers": lambda h: h.verifier.id if h.verifier else None,
        "verifier temperatures": lambda h: h.verifier.temperature if h.verifier else None,
        "drafter temperatures": lambda h: ", ".join(sorted(f"{d.id}={d.temperature}" for d in h.drafters or [])),
        "engines": lambda h: " ".join(filter(None, (h.engine.name, h.engine.version))) if h.engine else None,
        "builds": lambda h: h.slices.get("build"),
    }
    out = []
    for aspect, of in aspects.items():
        values = sorted({str(of(header)) for header in headers})
        if len(values) > 1:
            named = "; ".join(cut(value, IN_A_SENTENCE) for value in values)
            out.append(f"pooled figures mix {len(values)} {aspect}: {named}")
    return out


def _all_notes(
    collected: Collected, proposers: list[str], known: dict[str, scoping.Declared], means: RequestMeans
) -> Notes:
    notes = Notes()
    notes.merge(collected.notes)
    if not collected.headers:
        notes.add("no_header", 1)
    for name in proposers:  # an engine's counter declares itself
        if collected.headers and name not in known:
            notes.add("undeclared_drafter", 1, "$.drafter", name)
    if means.requests.repeats:
        notes.add("repeated_requests", 1, count=means.requests.repeats)
    for number in collected.same_evidence():
        notes.add("same_evidence", (number << LINE_BITS) + 1)
    return notes


def _integrity(notes: Notes, inputs: list[InputCount]) -> list[Integrity]:
    out = []
    for code in sorted(notes.counts, key=lambda c: (CATALOGUE[c].severity != "problem", c)):
        kind = CATALOGUE[code]
        places = [(divmod(where.line, 1 << LINE_BITS), where) for where in notes.places[code][:KEPT_PLACES]]
        listed = [Place(inputs[number].name, line, where.path, where.text) for (number, line), where in places]
        out.append(Integrity(code, kind.severity, notes.counts[code], kind.message, kind.advice, listed))
    return out


def _skipped(
    pooled: dict[str, Rate], joint: Shared | None, headway: object, votes: object, spent: object, rates: Rates
) -> list[Skipped]:
    out = [Skipped(name, rate.absent or "") for name, rate in _absent(pooled, joint)]
    if headway is None:
        out.append(Skipped("thrash", "no round was judged"))
    if votes is None:
        out.append(Skipped("consensus_fallback_rate", "no consensus event in the log"))
    if spent is None:
        out.append(Skipped("throughput_ratio", "no round with drafting and verifying times (proposal.ms, verdict.ms)"))
    if not rates.replicates:
        out.append(Skipped("intervals", "switched off with --replicates 0"))
    elif rates.requests < FEW_REQUESTS:
        out.append(
            Skipped(
                "bootstrap intervals",
                f"{rates.requests} distinct requests; {FEW_REQUESTS} are needed. Shares get Wilson intervals on rounds, which are too narrow",
            )
        )
    return out


def _not_listed(tally: Tally, idle: int, blamed: Blame | None, tables: Tables, options: Options) -> Iterator[Skipped]:
    """What is counted, but too many to be listed one by one."""
    drafters = len(tables.blocks.drafters)
    if len(tables.drafters) > MAX_LISTED:
        yield Skipped("drafters", f"the {MAX_LISTED} of {len(tables.drafters)} drafters that proposed most are listed")
    if idle > MAX_IDLE:
        yield Skipped("drafters", f"{idle - MAX_IDLE} of {idle} declared drafters without a block are not listed")
    if blamed and drafters > MAX_BLAMED:
        yield Skipped("blame", f"the matrix holds the {MAX_BLAMED} of {drafters} drafters that cost most")
    found = len(keys_by_slice(tally)) if options.by else 0
    if found > MAX_SLICES:
        yield Skipped("slices", f"the {MAX_SLICES} of {found} slices with most proposed tokens are listed")


def _absent(pooled: dict[str, Rate], joint: Shared | None) -> Iterator[tuple[str, Rate]]:
    for rates in (pooled, joint.rates if joint else {}):
        for name, rate in rates.items():
            if rate.value is None:
                yield name, rate
