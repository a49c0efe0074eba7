"""Reports to draw in tests: an incident of three drafters, with counts that add up, and variants of it.

The counts are invented. They follow from a few survival curves (blocks whose first 1, 2, ... tokens were accepted), so
that the identities of the ledger, the blame matrix and the per-position figures agree with each other. Only the widths
of the intervals are made up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod, sqrt
from typing import Any

import msgspec

from specdiag.measure.tally import Tally
from specdiag.report import (
    REPORT_SCHEMA,
    Blame,
    Consensus,
    Drafter,
    EnginePrinted,
    EngineWindow,
    Evidence,
    Fates,
    Headline,
    Identity,
    Input,
    Integrity,
    Marginal,
    Place,
    Position,
    Rate,
    Report,
    Requests,
    Scope,
    Settings,
    Shared,
    Skipped,
    Slice,
    Source,
    Thrash,
    Time,
    Trace,
    View,
)
from specdiag.scale.collected import Collected, InputCount
from specdiag.scale.engine import EngineCounts
from specdiag.summary import Options, summarize
from specdiag.trace import events
from specdiag.trace.notes import Notes

REQUESTS = 240
CHAINS = 3600
CHAIN = [1440, 936, 684, 504, 324, 216]
"""Shared chains of six tokens, two of each drafter in the order of ORDER: those with at least 1, 2, ... accepted."""
ORDER = ["reason-7b", "code-1.5b", "prose-3b"]
OWN = {
    "reason-7b": (2000, [1560, 1450, 1350, 1270, 1200, 1162]),
    "code-1.5b": (800, [714, 637, 568, 507, 452, 386]),
    "prose-3b": (700, [602, 518, 445, 383, 329, 285]),
}
"""Blocks of six on a drafter's own traffic, and their survival."""
TOKENIZERS = {"reason-7b": "qwen2", "code-1.5b": "llama-3", "prose-3b": "llama-3"}
HOSTILE = (
    "[red]x[/red]",
    "\x1b[2J\x1b]0;owned\x07",
    "<script>alert(1)</script>",
    "::error::failed",
    "\u202eabc\u200b",
    "a\nb | c\r\n# d",
    "![x](http://e.example/i.png) @octocat #1 `rm`",
    "!!python/object:os.system",
    "##vso[task.setvariable]",
    "\x9b31m\x7f\u2028\ud800",
    "🇩🇪 e" + "\u0301" * 40,
    "n" * 60,
)


def rate(name: str, numerator: float, denominator: float, *, source: Source = "recorded", spread: float = 0.0) -> Rate:
    """A rate with an invented interval, wider than a binomial one because tokens of one request are alike."""
    value = numerator / denominator
    if value in (0.0, 1.0):
        bound = 3.0 / denominator
        return Rate(
            name,
            value,
            numerator,
            denominator,
            max(value - bound, 0.0),
            min(value + bound, 1.0),
            "exact_one_sided",
            source,
        )
    half = spread or 4.0 * sqrt(abs(value * (1 - value)) / denominator) or 0.02 * value
    low, high = value - half, value + half
    if not spread:
        low, high = max(low, 0.0), min(high, 1.0)
    return Rate(name, value, numerator, denominator, low, high, "poisson_bootstrap", source)


def length(accepted: int, blocks: int) -> Rate:
    """The acceptance length: its value is 1 + accepted / blocks."""
    short = rate("acceptance_length", accepted, blocks, spread=0.05)
    assert short.value is not None
    value = short.value + 1
    return msgspec.structs.replace(short, value=value, low=value - 0.05, high=value + 0.05)


@dataclass
class Counts:
    """Fates and positions of some blocks of a drafter; `+` adds them."""

    blocks: int = 0
    submitted: int = 0
    accepted: int = 0
    rejected: int = 0
    own: int = 0
    collateral: int = 0
    at_risk: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)

    def __add__(self, other: Counts) -> Counts:
        def lists(one: list[int], two: list[int]) -> list[int]:
            size = max(len(one), len(two))
            return [a + b for a, b in zip(one + [0] * (size - len(one)), two + [0] * (size - len(two)), strict=True)]

        return Counts(
            self.blocks + other.blocks,
            self.submitted + other.submitted,
            self.accepted + other.accepted,
            self.rejected + other.rejected,
            self.own + other.own,
            self.collateral + other.collateral,
            lists(self.at_risk, other.at_risk),
            lists(self.kept, other.kept),
        )

    @classmethod
    def of(cls, blocks: int, alive: int, kept: list[int]) -> Counts:
        """`blocks` blocks, of which `alive` were not behind a refusal, with the survival `kept`."""
        size, at_risk = len(kept), [alive, *kept[:-1]]
        refused = [before - after for before, after in zip(at_risk, kept, strict=True)]
        own = sum(n * (size - index - 1) for index, n in enumerate(refused))
        return cls(blocks, blocks * size, sum(kept), sum(refused), own, (blocks - alive) * size, at_risk, kept)

    def fates(self) -> Fates:
        """The fates of these tokens; all that was accepted was committed."""
        judged = self.accepted + self.rejected
        return Fates(
            self.submitted,
            0,
            self.submitted,
            judged,
            self.accepted,
            self.rejected,
            self.own,
            self.collateral,
            0,
            self.accepted,
        )

    def positions(self) -> list[Position]:
        """Acceptance along the blocks."""
        return [
            Position(
                index + 1,
                risk,
                kept,
                self.blocks,
                rate("position_acceptance", kept, risk),
                rate("position_reach", kept, self.blocks),
            )
            for index, (risk, kept) in enumerate(zip(self.at_risk, self.kept, strict=True))
        ]

    def view(self) -> View:
        """The figures of these blocks."""
        fates = self.fates()
        rates = [
            rate("draft_acceptance", fates.accepted, fates.submitted),
            rate("judged_acceptance", fates.accepted, fates.judged),
            rate("accepted_per_round", fates.accepted, self.blocks, spread=0.05),
            length(fates.accepted, self.blocks),
            rate("waste", fates.submitted - fates.committed, fates.submitted),
        ]
        return View(self.blocks, fates, {each.name: each for each in rates}, self.positions())


def _segments() -> dict[str, Counts]:
    """Each drafter's part of the shared chains."""
    parts = {}
    for index, name in enumerate(ORDER):
        alive = CHAINS if index == 0 else CHAIN[2 * index - 1]
        parts[name] = Counts.of(CHAINS, alive, CHAIN[2 * index : 2 * index + 2])
    return parts


def _drafter(name: str, expected: float) -> Drafter:
    own, part = Counts.of(OWN[name][0], OWN[name][0], OWN[name][1]), _segments()[name]
    every, solo = own + part, own + part if name == ORDER[0] else own
    judged = every.accepted + every.rejected
    views = {"all": every.view(), "solo": solo.view(), "shared": part.view(), "independent": own.view()}
    views["all"].rates["expected_acceptance"] = rate(
        "expected_acceptance", expected * judged, judged, source="recomputed"
    )
    return Drafter(name, True, "model", f"acme/{name}", TOKENIZERS[name], 0.8, 0, views, {})


def _shared() -> Shared:
    refused = CHAINS - CHAIN[-1]
    accepted, total = sum(CHAIN), 6 * CHAINS
    parts = _segments()
    pooled = sum(parts.values(), Counts())
    depth = total - accepted - refused
    expected = _composition()
    independent = [Counts.of(blocks, blocks, kept) for blocks, kept in OWN.values()]
    rates = [
        rate("joint_acceptance", accepted, total),
        rate("joint_acceptance_request_mean", 0.1934 * REQUESTS, REQUESTS, spread=0.0131),
        rate("composition_acceptance", expected, total, source="estimated"),
        rate("interaction", accepted - expected, total, source="estimated", spread=0.013),
        rate("independent_acceptance", sum(c.accepted for c in independent), sum(c.submitted for c in independent)),
        rate("truncation_rate", refused, CHAINS),
        rate("truncation_depth", depth, CHAINS, spread=0.06),
        rate("truncation_depth_when_truncated", depth, refused, spread=0.05),
    ]
    chain = Counts.of(CHAINS, CHAINS, CHAIN)
    return Shared(CHAINS, refused, pooled.fates(), depth, {each.name: each for each in rates}, chain.positions())


def _composition() -> float:
    """Tokens of the chains that would be accepted if each drafter kept its curve alone."""
    reach, expected = 1.0, 0.0
    for name in ORDER:
        own, part = Counts.of(OWN[name][0], OWN[name][0], OWN[name][1]), _segments()[name]
        solo = own + part if name == ORDER[0] else own
        hazard = [kept / risk for kept, risk in zip(solo.kept[:2], solo.at_risk[:2], strict=True)]
        expected += reach * (hazard[0] + prod(hazard))
        reach *= prod(hazard)
    return round(expected * CHAINS, 1)


def _blame() -> Blame:
    """Refused at position i of the chain, by the drafter of that position: the tokens behind it are lost."""
    names = ORDER
    tokens = [[0] * 3 for _ in names]
    for position, (before, after) in enumerate(zip([CHAINS, *CHAIN[:-1]], CHAIN, strict=True)):
        for lost in range(position + 1, 6):
            tokens[position // 2][lost // 2] += before - after
    for index, name in enumerate(names):
        tokens[index][index] += Counts.of(OWN[name][0], OWN[name][0], OWN[name][1]).own
    rows = [sum(row) for row in tokens]
    total = sum(rows)
    return Blame(
        names,
        tokens,
        [tokens[i][i] for i in range(3)],
        [rows[i] - tokens[i][i] for i in range(3)],
        rows,
        [sum(row[j] for row in tokens) for j in range(3)],
        0,
        total,
        [rate("blame_share", row, total) for row in rows],
    )


def _marginal() -> list[Marginal]:
    figures = {"reason-7b": (0.482, 0.71, 1.94), "code-1.5b": (0.203, 0.18, 1.31), "prose-3b": (0.262, 0.11, 1.29)}
    return [
        Marginal(
            name,
            rate("joint_without", round(joint * 4 * CHAINS), 4 * CHAINS, source="estimated"),
            rate("joint_change", round((joint - 0.19) * 4 * CHAINS), 4 * CHAINS, source="estimated", spread=0.014),
            rate("committed_per_round_without", round(per_round * CHAINS), CHAINS, source="estimated", spread=0.04),
            rate("decided_share", 0 if name == "reason-7b" else CHAINS if name == "prose-3b" else 2160, CHAINS),
            rate("shapley_share", round(share * 13164), 13164, source="estimated"),
        )
        for name, (joint, share, per_round) in figures.items()
    ]


DEFINITIONS = {
    "draft_acceptance": "accepted / submitted",
    "judged_acceptance": "accepted / judged",
    "position_acceptance": "accepted at a position / judged at it; positions cut by the block's end are censored",
    "position_reach": "accepted at a position / all blocks",
    "acceptance_length": "1 + accepted / blocks",
    "accepted_per_round": "accepted / rounds",
    "committed_per_round": "tokens that reached the output / rounds",
    "committed_drafted_per_round": "drafted tokens that reached the output / rounds",
    "draft_coverage": "output tokens that came from drafts / output tokens",
    "waste": "(submitted - committed) / submitted",
    "expected_acceptance": "mean of min(1, p/q) over judged positions with both logged",
    "verdicts_recomputed": "positions recomputed from p, q and u that agree / positions recomputed",
    "joint_acceptance": "accepted / submitted on shared chains",
    "joint_acceptance_request_mean": "mean over requests of accepted / submitted on shared chains",
    "composition_acceptance": "joint acceptance if each drafter kept its alone, per-position acceptance as chained; "
    "assumes that a position's acceptance depends on nothing else",
    "interaction": "joint_acceptance - composition_acceptance: below 0, the drafters hurt each other",
    "independent_acceptance": "accepted / submitted in rounds of one drafter's blocks only",
    "truncation_rate": "shared rounds that refused a token / shared rounds",
    "truncation_depth": "tokens dropped behind the refused one / shared rounds",
    "truncation_depth_when_truncated": "tokens dropped behind the refused one / truncated shared rounds",
    "thrash_rate": "re-proposal and no-progress rounds / rounds",
    "consensus_fallback_rate": "steps whose outcome is fallback / steps that asked for consensus",
    "blame_share": "tokens dropped behind this drafter's refused tokens / all dropped tokens",
    "joint_without": "joint acceptance of the others' tokens without this drafter",
    "joint_change": "joint_without - joint_acceptance",
    "committed_per_round_without": "committed tokens without this drafter / shared rounds",
    "decided_share": "tokens whose fate without this drafter the log decides / tokens of the others",
    "shapley_share": "this drafter's Shapley value of the expected loss / expected loss",
    "tokens_per_second": "committed tokens / logged seconds",
    "throughput_ratio": "tokens_per_second on shared rounds / that of the best drafter alone",
    "engine_draft_acceptance": "accepted / proposed tokens, as the engine counted",
    "engine_position_reach": "rounds that accepted at least so many tokens / rounds, as the engine counted",
}


def incident() -> Report:
    """Three drafters that are good alone and bad together: joint 0.19 against 0.68, 0.61 and 0.54."""
    drafters = [_drafter("code-1.5b", 0.3142), _drafter("prose-3b", 0.4713), _drafter("reason-7b", 0.6098)]
    fates = Fates(*(sum(getattr(d.views["all"].fates, name) for d in drafters) for name in Fates.__struct_fields__))
    rounds = CHAINS + sum(blocks for blocks, _ in OWN.values())
    made = fates.committed + rounds
    pooled = [
        rate("draft_acceptance", fates.accepted, fates.submitted),
        rate("draft_acceptance_request_mean", 0.4212 * REQUESTS, REQUESTS, spread=0.012),
        rate("judged_acceptance", fates.accepted, fates.judged),
        length(fates.accepted, CHAINS * 3 + rounds - CHAINS),
        rate("committed_per_round", made, rounds, spread=0.05),
        rate("draft_coverage", fates.committed, made),
        rate("waste", fates.submitted - fates.committed, fates.submitted),
        rate("verdicts_recomputed", 18211, 18213, source="recomputed"),
    ]
    fallback = rate("consensus_fallback_rate", 665, 800)
    return Report(
        schema=REPORT_SCHEMA,
        version="0.1.0",
        inputs=[
            Input("incident.jsonl", 9_412_331, 28_602, {"trace": 1, "proposal": 14_300, "verdict": 14_300, "note": 1})
        ],
        traces=[
            Trace(
                "incident-0412",
                "toy 1.4.2",
                "specdiag 0.1.0",
                "rejection",
                "verify-70b",
                "llama-3",
                0.8,
                {"build": "a1"},
            )
        ],
        settings=Settings("strict", 1000, 0, 0.95, ["branch"]),
        requests=Requests(REQUESTS, REQUESTS, 0),
        rounds=rounds,
        scope=Scope("in_scope", []),
        headline=Headline(
            "collapse",
            "Joint acceptance is 0.19 on shared prefixes, where alone the drafters reach 0.68 (code-1.5b), "
            "0.61 (prose-3b) and 0.54 (reason-7b); most of the loss is reason-7b's early tokens.",
        ),
        evidence=[
            Evidence(
                "proposal + verdict",
                rounds,
                rounds,
                "rounds",
                "fates, joint acceptance, blame, truncation depth, thrash",
            ),
            Evidence("q, p", 18213, fates.judged, "judged tokens", "expected acceptance, sampling fidelity"),
            Evidence("u", 18213, fates.judged, "judged tokens", "exact re-execution of verdicts"),
            Evidence("bytes", 0, fates.submitted, "tokens", "alignment of tokenizers"),
        ],
        fates=fates,
        rates={each.name: each for each in pooled},
        drafters=drafters,
        shared=_shared(),
        blame=_blame(),
        marginal=_marginal(),
        thrash=Thrash(CHAINS, 412, 187, 2472, {"thrash_rate": rate("thrash_rate", 561, CHAINS)}),
        consensus=Consensus(800, 135, 665, fallback, {"stage": 800, "commit": 135, "discard": 660}),
        time=None,
        slices=[
            Slice({"branch": name}, fates, {"draft_acceptance": rate("draft_acceptance", n, 13_000)})
            for name, n in (("main", 6_110), ("plan-a", 4_871), ("plan-b", 4_029))
        ],
        mixed=[],
        identities=[
            Identity(
                "proposed = gated + accepted + rejected + discarded + unjudged", fates.proposed, fates.proposed, True
            ),
            Identity("committed <= accepted", fates.committed, fates.accepted, True),
            Identity("blame rows = discarded", 30_000, 30_000, True),
        ],
        integrity=[
            Integrity(
                "proposal_orphan",
                "problem",
                2,
                "proposals without a verdict",
                "The log may be cut: compare its last line with the engine's.",
                [Place("incident.jsonl", 28_601, "$.id"), Place("incident.jsonl", 28_602, "$.id")],
            ),
            Integrity(
                "unknown_field",
                "info",
                14,
                "unknown fields, kept",
                "",
                [Place("incident.jsonl", 7, "$.spec_step_idx", '"spec_step_idx":3')],
            ),
        ],
        skipped=[
            Skipped("draft_acceptance_per_byte", "no proposal logs byte lengths"),
            Skipped("time", "no proposal or verdict logs `ms`"),
        ],
        definitions=DEFINITIONS,
    )


def out_of_scope() -> Report:
    """One drafter, so nothing is shared."""
    report = incident()
    alone = msgspec.structs.replace(report.drafters[0], views={"all": report.drafters[0].views["independent"]})
    return msgspec.structs.replace(
        report,
        scope=Scope("out_of_scope", ["one drafter only: no prefix is shared"]),
        headline=Headline(
            "single_drafter", "One drafter, code-1.5b, with acceptance 0.68; there is no joint acceptance to explain."
        ),
        drafters=[alone],
        shared=None,
        blame=None,
        marginal=[],
        thrash=None,
        consensus=None,
        slices=[],
        integrity=[],
        settings=Settings("lenient", 1000, 0, 0.95, []),
        skipped=[Skipped("joint_acceptance", "no round verified blocks of two drafters")],
        mixed=["verifier temperature differs between files: 0.0, 0.8"],
        identities=[Identity("committed <= accepted", 12, 11, False)],
    )


def timed() -> Report:
    """The incident with logged times, and totals that an engine logged."""
    report = incident()
    rates = [
        rate("tokens_per_second_shared", 7704, 166.2, spread=1.8),
        rate("tokens_per_second_code-1.5b", 4064, 64.1, spread=2.2),
        msgspec.structs.replace(rate("throughput_ratio", 46.4, 63.4), interval="wilson_rounds"),
    ]
    totals = {"engine_draft_acceptance": rate("engine_draft_acceptance", 4_452, 12_000)}
    totals |= {f"engine_position_reach_{i}": rate("engine_position_reach", n, 2000) for i, n in ((1, 1560), (2, 1450))}
    drafters = [msgspec.structs.replace(report.drafters[0], engine_counts=totals), *report.drafters[1:]]
    return msgspec.structs.replace(
        report, time=Time("logged", {r.name: r for r in rates}, "code-1.5b"), drafters=drafters
    )


def many(names: list[str] | None = None) -> Report:
    """Twelve drafters with long names."""
    names = names or [f"an-organisation/a-drafter-with-a-rather-long-name-{index:02}-instruct" for index in range(12)]
    report, size = incident(), len(names)
    drafters = [
        msgspec.structs.replace(report.drafters[i % 3], id=name, tokenizer=name) for i, name in enumerate(names)
    ]
    tokens = [[(size - i) * 1000 + j for j in range(size)] for i in range(size)]
    rows, total = [sum(row) for row in tokens], sum(map(sum, tokens))
    own = [tokens[i][i] for i in range(size)]
    return msgspec.structs.replace(
        report,
        drafters=drafters,
        blame=Blame(
            names,
            tokens,
            own,
            [row - mine for row, mine in zip(rows, own, strict=True)],
            rows,
            [sum(column) for column in zip(*tokens, strict=True)],
            17,
            total + 17,
            [rate("blame_share", row, total + 17) for row in rows],
        ),
        marginal=[msgspec.structs.replace(report.marginal[i % 3], drafter=name) for i, name in enumerate(names)],
    )


def hostile() -> Report:
    """Every string that a trace can set is an attack."""
    report = many(list(HOSTILE))
    every = " ".join(HOSTILE)
    sliced = [msgspec.structs.replace(report.slices[0], by={text: text}) for text in HOSTILE]
    printed = [EnginePrinted(text, text, text, 1, text, text, every) for text in HOSTILE]
    kept = {"engine_draft_acceptance": rate("engine_draft_acceptance", 1, 2)}
    drafters = [
        msgspec.structs.replace(
            d, engine_counts=kept, engine_window=EngineWindow(every, 1, {every: 1}), engine_printed=printed
        )
        for d in report.drafters
    ]
    notes = [Integrity(text, "problem", 1, text, text, [Place(text, 1, text, text)]) for text in HOSTILE]
    return msgspec.structs.replace(
        report,
        inputs=[Input(text, 1, 1, {text: 1}) for text in HOSTILE[:2]],
        traces=[Trace(text, text, text, text, text, text, 0.0, {text: text}) for text in HOSTILE],
        settings=msgspec.structs.replace(report.settings, by=list(HOSTILE)),
        scope=Scope("unknown", list(HOSTILE)),
        headline=Headline(HOSTILE[0], every),
        slices=sliced,
        drafters=drafters,
        mixed=list(HOSTILE),
        identities=[Identity(text, 1, 2, False) for text in HOSTILE],
        integrity=notes,
        skipped=[Skipped(text, text) for text in HOSTILE],
        evidence=[Evidence(text, 1, 2, text, text) for text in HOSTILE],
        consensus=Consensus(1, 1, 0, rate(HOSTILE[1], 0, 1), dict.fromkeys(HOSTILE, 1)),
        time=Time(every, {text: rate(text, 1, 2) for text in HOSTILE}, HOSTILE[3]),
        definitions={text: text for text in HOSTILE},
    )


def counts() -> Report:
    """Nothing but what engines counted and printed: of two drafters, one of them with estimates."""
    engine, tally, notes = EngineCounts(), Tally(20), Notes()
    for source, reached in (("engine 0", [6, 4, 1]), ("engine 1", [5, 3, 3])):
        engine.add(_interval("eagle", source, rounds=8, proposed=24, accepted=sum(reached), reached=reached))
    ngram = {"completion_tokens": 700, "estimated": {"rounds": 2}, "max_draft_tokens": 10}
    engine.add(_interval("ngram", None, rounds=260, proposed=2600, accepted=430, reached=[200, 150, 80], **ngram))
    for last in ("2.51", "1.98", "2.20"):
        engine.add(_interval("mtp", None, printed={"accept len": last}, definitions="sglang"))
    engine.count(tally)
    why = "Mean acceptance length 2.30 printed, 2.375 by (A + R) / R = 19 / 8: A / R, with the token of prefill, with every block taken to be full"
    notes.add(
        "printed_differs",
        3,
        "$.printed.Mean acceptance length",
        f"{why} would give it ({', '.join(ORDER)}); and this is the end of it",
    )
    item = InputCount("server.log", "vllm/log", 1000, 40, {"trace": 1, "tally": 6})
    header = events.Trace(schema=events.SCHEMA)
    return summarize(Collected(tally, {1: header}, [item], notes, engine.printed), Options(replicates=20))


def _interval(drafter: str, source: str | None, **fields: Any) -> events.TallyEvent:
    return events.TallyEvent(drafter=drafter, window="interval", source=source, **fields)


def _absent(value: object) -> object:
    """The same value with every rate missing."""
    if isinstance(value, Rate):
        return Rate(value.name, None, absent=f"no log carries {value.name}")
    if isinstance(value, msgspec.Struct):
        return type(value)(**{name: _absent(getattr(value, name)) for name in value.__struct_fields__})
    if isinstance(value, dict):
        return {key: _absent(item) for key, item in value.items()}
    return [_absent(item) for item in value] if isinstance(value, list) else value


def all_absent() -> Report:
    """The incident in a log that carries no figure at all."""
    report = _absent(incident())
    assert isinstance(report, Report)
    return report


def empty() -> Report:
    """Nothing but a headline."""
    return msgspec.structs.replace(
        out_of_scope(),
        inputs=[],
        traces=[],
        rounds=0,
        fates=Counts().fates(),
        rates={},
        drafters=[],
        evidence=[],
        identities=[],
        skipped=[],
        mixed=[],
        definitions={},
    )


VARIANTS = {
    "incident": incident,
    "out_of_scope": out_of_scope,
    "timed": timed,
    "counts": counts,
    "many": many,
    "hostile": hostile,
    "all_absent": all_absent,
    "empty": empty,
}
