"""The events of the trace format `specdiag/1`, as typed structs.

One JSON object a line; its `type` selects the struct. Field meanings: docs/trace-format.md. The structs are not tracked by the garbage
collector (`gc=False`): they hold no cycles, and a trace has millions of them.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

SCHEMA_NAME = "specdiag"
SCHEMA_MAJOR = 1
SCHEMA = f"{SCHEMA_NAME}/{SCHEMA_MAJOR}"

# Beyond 2**53 a reader that holds numbers as doubles changes them silently.
Count = Annotated[int, Meta(ge=0, le=2**53)]
# An engine that lost a round writes -1; it is judged with the ledger's other impossible counts, where it can be located and counted.
Few = Annotated[int, Meta(ge=0, le=2**31)]  # of one block: sums of them stay far below what 64 bits hold
Signed = Annotated[int, Meta(ge=-(2**53), le=2**53)]
Floats = list[float | None]
Label = str | int | float | bool | None
MAIN = "main"
Json = msgspec.Raw | msgspec.UnsetType  # any JSON value, kept as it was written


class Software(msgspec.Struct, gc=False, omit_defaults=True):
    """A program, by name and version."""

    name: str | None = None
    version: str | None = None


class Verification(msgspec.Struct, gc=False, omit_defaults=True):
    """How the verifier judges: `rejection`, `exact_match`, `greedy`, `typical`, `block` or `unknown`."""

    rule: str | None = None


class DrafterInfo(msgspec.Struct, gc=False, omit_defaults=True):
    """A drafter as the header declares it. `temperature`, `top_p` and `top_k` are its sampling regime; `pass_ms` the time of one pass."""

    id: str
    model: str | None = None
    kind: str | None = None
    tokenizer: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_draft_tokens: int | None = None
    pass_ms: float | None = None
    parameters: float | None = None


class VerifierInfo(msgspec.Struct, gc=False, omit_defaults=True):
    """The verifier as the header declares it."""

    id: str | None = None
    model: str | None = None
    tokenizer: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    pass_ms: float | None = None


class TokenizerInfo(msgspec.Struct, gc=False, omit_defaults=True):
    """A tokenizer; equal `fingerprint` means the same tokenizer, whatever its name."""

    vocab_size: int | None = None
    fingerprint: str | None = None
    file: str | None = None


class Next(msgspec.Struct, gc=False, omit_defaults=True):
    """The verifier's own token after the first refusal (`correction`) or after a fully accepted chain (`bonus`)."""

    token: int
    kind: str
    p: float | None = None


class Ballot(msgspec.Struct, gc=False, omit_defaults=True):
    """What one branch voted for."""

    branch: str
    value: Json = msgspec.UNSET


class Event(msgspec.Struct, gc=False, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="type"):
    """What every event may carry: `source` (process, rank or engine that logged it) and `ts` (wall clock, seconds)."""

    source: str | None = None
    ts: float | None = None


class Trace(Event, gc=False, kw_only=True, tag="trace"):
    """The header, first line of a file."""

    schema: str
    trace_id: str | None = None
    engine: Software | None = None
    recorder: Software | None = None
    verification: Verification | None = None
    drafters: list[DrafterInfo] | None = None
    verifier: VerifierInfo | None = None
    tokenizers: dict[str, TokenizerInfo] | None = None
    labels: dict[str, Label] | None = None

    @property
    def rule(self) -> str:
        """The declared rule of verification; `unknown` where none is."""
        return (self.verification.rule if self.verification else None) or "unknown"

    @property
    def slices(self) -> dict[str, str]:
        """The labels, as text."""
        return {
            name: value if isinstance(value, str) else _text(value)
            for name, value in sorted((self.labels or {}).items())
        }


def _text(value: object) -> str:
    return (
        {True: "true", False: "false", None: "null"}[value] if value is None or isinstance(value, bool) else str(value)
    )


class Proposal(Event, gc=False, kw_only=True, tag="proposal"):
    """A block of tokens that one drafter proposed."""

    id: str
    request: str
    round: Count
    branch: str | None = None
    step: str | None = None
    drafter: str
    parent: str | None = None
    start: Signed
    tokens: list[int]
    submitted: list[int] | None = None
    bytes: list[Few] | None = None
    submitted_bytes: list[Few] | None = None
    q: Floats | None = None
    gated: Few | None = None
    context_digest: str | None = None
    ms: float | None = None


class Verdict(Event, gc=False, kw_only=True, tag="verdict"):
    """What the verifier decided about one proposal."""

    proposal: str
    request: str
    round: Count
    accepted: Signed
    judged: Signed | None = None
    committed: Signed | None = None
    stop: str | None = None
    p: Floats | None = None
    u: Floats | None = None
    gap: Floats | None = None
    context_digest: str | None = None
    next: Next | None = None
    ms: float | None = None
    batch: int | None = None
    context: int | None = None


class Consensus(Event, gc=False, kw_only=True, tag="consensus"):
    """The vote at the end of a step."""

    request: str
    step: str
    quorum: int
    ballots: list[Ballot] = []
    outcome: Literal["agreed", "fallback"]
    value: Json = msgspec.UNSET


class Effect(Event, gc=False, kw_only=True, tag="effect"):
    """A side effect staged, committed or discarded; `key` is its idempotency key."""

    request: str
    step: str
    branch: str
    key: str
    action: Literal["stage", "commit", "discard"]
    target: str | None = None
    args_digest: str | None = None


class TallyEvent(Event, gc=False, kw_only=True, tag="tally"):
    """Counts where an engine logs no rounds; `reached[i]`: rounds that accepted at least i + 1 tokens; `drafted[i]`: rounds with at least i + 1.

    `matched`: drafted tokens that the verifier would have drawn, those behind a refusal too (vLLM V0 counts so). `requests`: how many requests the
    window covers. `printed`: figures as the engine printed them, by its own names, under the `definitions` of that engine; they are compared,
    never counted. `estimated`: of counts that follow from rounded figures only, by how much each may be off. `line`: where it was read.
    """

    drafter: str
    window: Literal["interval", "lifetime", "request"]
    request: str | None = None
    requests: Count | None = None
    rounds: Count | None = None
    proposed: Count | None = None
    accepted: Count | None = None
    matched: Count | None = None
    completion_tokens: Count | None = None
    reached: list[Count] | None = None
    drafted: list[Count] | None = None
    max_draft_tokens: Count | None = None
    definitions: str | None = None
    printed: dict[str, str] | None = None
    estimated: dict[str, Count] | None = None
    line: Count | None = None


class Note(Event, gc=False, kw_only=True, tag="note"):
    """Free text, kept and ignored."""

    text: str


EVENT_TYPES: dict[str, type[Event]] = {
    "trace": Trace,
    "proposal": Proposal,
    "verdict": Verdict,
    "consensus": Consensus,
    "effect": Effect,
    "tally": TallyEvent,
    "note": Note,
}
