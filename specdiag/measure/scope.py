"""Does the joint diagnosis apply to this pool of drafters, what evidence is there, and what one sentence sums it up."""

from __future__ import annotations

from dataclasses import dataclass

from specdiag.errors import IN_A_SENTENCE, cut
from specdiag.measure.blame import worst_position
from specdiag.measure.tables import Tables
from specdiag.report import Blame, Drafter, Evidence, Headline, Rate, Scope, Shared
from specdiag.trace.events import DrafterInfo, Trace

NAMED = 4  # drafters that a sentence names
MARGIN = 0.1  # of joint acceptance: what sharing may cost before the verdict speaks of it


@dataclass(frozen=True, slots=True)
class Declared:
    """What the headers say of one drafter. `tokenizer` is its fingerprint where there is one, else its name."""

    info: DrafterInfo
    tokenizer: str | None

    @property
    def sampling(self) -> tuple[float | None, float | None, int | None]:
        """Temperature, top-p and top-k."""
        return self.info.temperature, self.info.top_p, self.info.top_k


def declared(headers: list[Trace]) -> dict[str, Declared]:
    """Drafters by id, as first declared."""
    out: dict[str, Declared] = {}
    for header in headers:
        for info in header.drafters or []:
            tokenizer = (header.tokenizers or {}).get(info.tokenizer or "")
            name = (tokenizer.fingerprint if tokenizer else None) or info.tokenizer
            out.setdefault(info.id, Declared(info, name))
    return out


def scope(active: list[str], known: dict[str, Declared]) -> Scope:
    """In scope: two or more drafters that differ in tokenizer or sampling."""
    if len(active) < 2:
        who = f"one drafter, {cut(active[0], IN_A_SENTENCE)}" if active else "no drafter"
        return Scope("out_of_scope", [f"{who}: joint acceptance, blame and sharing need two or more"])
    tokenizers = {known[d].tokenizer if d in known else None for d in active}
    sampling = {known[d].sampling if d in known else (None, None, None) for d in active}
    if len(tokenizers - {None}) > 1:
        return Scope("in_scope", [f"{len(active)} drafters over {len(tokenizers - {None})} tokenizers"])
    if len({s for s in sampling if s != (None, None, None)}) > 1:
        return Scope("in_scope", [f"{len(active)} drafters that sample differently"])
    missing = [d for d in active if d not in known or known[d].tokenizer is None or known[d].info.temperature is None]
    if missing:
        named = [cut(d, IN_A_SENTENCE) for d in missing[:NAMED]]
        named += [f"{len(missing) - NAMED} more"] if len(missing) > NAMED else []
        return Scope("unknown", [f"the header does not give tokenizer and temperature of {', '.join(named)}"])
    return Scope("out_of_scope", [f"{len(active)} drafters alike in tokenizer and sampling: they act as one drafter"])


def evidence(tables: Tables, events: dict[str, int]) -> list[Evidence]:
    """What the log holds, and what that can tell. Source: docs/trace-format.md, "How much a trace can tell"."""
    blocks = tables.blocks
    judged, size = int(blocks.total("judged")[0]), int(blocks.total("size")[0])
    answered = blocks.where((blocks.column["flags"] & 8) == 0)
    return [
        Evidence(
            "tally",
            events.get("tally", 0),
            0,
            "events",
            "per-drafter rates under every engine's definition, per-position survival",
        ),
        Evidence(
            "proposal + verdict",
            int(answered.total("one")[0]),
            int(blocks.total("one")[0]),
            "blocks",
            "fates, joint acceptance, blame, truncation depth, thrash, prefix sharing",
        ),
        Evidence("bytes", int(tables.sums("sized_tokens")[0]), size, "submitted tokens", "byte-normalised acceptance"),
        Evidence("q, p", int(tables.sums("expected_positions")[0]), judged, "judged tokens", "expected acceptance"),
        Evidence(
            "u", int(tables.sums("drawn_positions")[0]), judged, "judged tokens", "exact re-execution of every verdict"
        ),
        Evidence(
            "consensus, effect",
            events.get("consensus", 0) + events.get("effect", 0),
            0,
            "events",
            "fallback rate, fates of side effects",
        ),
    ]


def headline(
    scoped: Scope, tables: Tables, drafters: list[Drafter], joint: Shared | None, blamed: Blame | None
) -> Headline:
    """The verdict in one sentence, in the order in which a reader needs it: what, against what, and whose."""
    alone = _alone(drafters)
    if not any(d.views["all"].blocks for d in drafters) and any(d.engine_counts for d in drafters):
        return _by_counts(scoped, drafters, alone)
    if scoped.status == "out_of_scope":
        return Headline(
            "out_of_scope", f"The joint diagnosis does not apply: {scoped.reasons[0]}. Acceptance: {alone}."
        )
    if joint is None:
        return Headline(
            "not_observed",
            f"Joint acceptance was not observed: no round verified blocks of two or more drafters on one chain. Alone: {alone}.",
        )
    rates = joint.rates
    said = f"Joint acceptance {_said(rates['joint_acceptance'])} on shared prefixes, where alone the drafters reach {alone}"
    composed = rates["composition_acceptance"]
    if composed.value is not None:
        said += f"; composition alone explains {composed.value:.2f}"
    return Headline(_verdict(joint, drafters), f"{said}{_culprit(tables, blamed)}.")


def _by_counts(scoped: Scope, drafters: list[Drafter], alone: str) -> Headline:
    """Where an engine kept counts and logged no rounds: what these say, and no more."""
    kept = "by the counts that the engine kept"
    if len(drafters) == 1:
        said = f"{_counted(drafters[0], kept)}; one drafter, so the joint diagnosis does not apply."
        return Headline(scoped.status, said)
    if not any(rate.value is not None for d in drafters for rate in d.engine_counts.values()):
        said = f"The engine printed ratios of {len(drafters)} drafters without counts: nothing can be computed again."
        return Headline("not_observed", said)
    if scoped.status == "out_of_scope":
        return Headline("out_of_scope", f"Acceptance {kept}: {alone}. {scoped.reasons[0]}.")
    return Headline("not_observed", f"Acceptance {kept}: {alone}. What they do to each other takes a log of rounds.")


def _counted(drafter: Drafter, kept: str) -> str:
    """The figure that the counts of one drafter give: acceptance, else the length, else what was printed."""
    name, length = cut(drafter.id, IN_A_SENTENCE), drafter.engine_counts["engine_acceptance_length"]
    rate = drafter.engine_counts["engine_draft_acceptance"]
    if rate.value is not None:
        about = ", estimated from rounded figures" if rate.source == "estimated" else ""
        return (
            f"Acceptance {_said(rate)} ({_count(rate.numerator)}/{_count(rate.denominator)}{about}) of {name}, {kept}"
        )
    if length.value is not None:
        ratio = f"1 + {_count(length.numerator)}/{_count(length.denominator)}"
        return f"Acceptance length {length.value:.2f} ({ratio}) of {name}, {kept}"
    if drafter.engine_printed:
        last = ", ".join(f"{cut(p.name, IN_A_SENTENCE)} {p.last}" for p in drafter.engine_printed[:NAMED])
        return f"The engine printed ratios of {name} without counts, {last} at last"
    return f"Neither acceptance nor its length follows for {name} from what the engine printed"


def _count(number: float | None) -> str:
    return f"{number or 0:,.0f}" if abs(number or 0) < 1e15 else f"{number or 0:.3g}"


def _verdict(joint: Shared, drafters: list[Drafter]) -> str:
    together, interaction, gap = (joint.rates[n] for n in ("joint_acceptance", "interaction", "inheritance_gap"))
    alone = [d.views["solo"].rates["draft_acceptance"].low for d in drafters]
    known = [low for low in alone if low is not None]
    if together.high is None or not known:
        return "undecided"
    if interaction.high is not None and interaction.high < 0:
        return "interaction"
    if together.high < min(known):
        return "domination" if interaction.high is not None else "below_alone"
    if gap.value is None or gap.low is None or gap.high is None or not all(map(_spreads, drafters)):
        return "undecided"
    if gap.high < 0 and gap.value < -MARGIN:
        return "below_alone"
    return "no_collapse" if gap.low > -MARGIN else "undecided"


def _spreads(drafter: Drafter) -> bool:
    """Whether what this drafter reaches alone is known well enough. Where all or nothing of a few tokens was accepted, replicates show no spread,
    and the interval of the gap would know nothing of it."""
    alone = drafter.views["solo"].rates["draft_acceptance"]
    if not drafter.views["shared"].rates["draft_acceptance"].denominator or alone.interval != "exact_one_sided":
        return True
    return alone.low is not None and alone.high is not None and alone.high - alone.low < MARGIN


def _alone(drafters: list[Drafter]) -> str:
    """What the drafters reach alone, best first; in a large pool only the ones at both ends."""
    known = [(d.id, _own(d)) for d in drafters]
    told = sorted(
        ((rate, name) for name, rate in known if rate.value is not None), key=lambda x: (-(x[0].value or 0), x[1])
    )
    parts = [f"{_said(rate)} ({cut(name, IN_A_SENTENCE)})" for rate, name in told]
    if len(parts) > NAMED:
        parts = [*parts[: NAMED - 1], f"… {parts[-1]}"]
    return ", ".join(parts) or "no evidence"


def _own(drafter: Drafter) -> Rate:
    """Its acceptance alone by its rounds, else by the counts that an engine kept."""
    rounds = drafter.views["solo"].rates["draft_acceptance"]
    return rounds if rounds.value is not None else drafter.engine_counts.get("engine_draft_acceptance", rounds)


def _culprit(tables: Tables, blamed: Blame | None) -> str:
    if blamed is None or blamed.shares[0].value is None:
        return ""
    name = blamed.drafters[0]
    said = (
        f"; {blamed.shares[0].value:.0%} of the discarded tokens stand behind a refusal of {cut(name, IN_A_SENTENCE)}"
    )
    place = worst_position(tables, name)
    return f"{said}, most often at position {place[0]} of its block" if place else said


def _said(rate: Rate) -> str:
    if rate.value is None:
        return "—"
    shown = f"{rate.value:.2f}"
    near = {"0.00": "<0.01", "1.00": ">0.99"}
    return shown if rate.value in (0, 1) else near.get(shown, shown)
