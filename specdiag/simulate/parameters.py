"""The parameters of the incident's mechanism: one frozen value, read from YAML and written as YAML.

They are causes (how a token fares on and off its drafter's domain, what a pass costs), never results: every figure is measured on the simulated
events. The defaults are one set under which the published figures come out together (docs/incident.md); others exist.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec
import yaml
from msgspec import Meta

from specdiag.errors import InputError, UsageError, shown

Share = Annotated[float, Meta(ge=0, le=1)]
Chance = Annotated[float, Meta(gt=0, lt=1)]
Positive = Annotated[float, Meta(gt=0, lt=1e9)]
Whole = Annotated[int, Meta(ge=1, le=64)]
Name = Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._]{0,63}$")]


class Drafter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One drafter, and the domain that it is made for."""

    id: Annotated[Name, Meta(description="name in the trace")]
    domain: Annotated[Name, Meta(description="the domain that it is made for; no two drafters have the same")]
    share: Annotated[Positive, Meta(description="weight of that domain in the traffic")]
    tokenizer: Annotated[Name, Meta(description="its tokenizer; the first drafter's is also the verifier's")]
    billions: Annotated[Positive, Meta(description="weights, in billions: its pass against the verifier's")]
    temperature: Annotated[
        float, Meta(ge=0, le=10, description="declared in the header; the mechanism does not use it")
    ]
    on_domain: Annotated[Chance, Meta(description="chance that an ordinary token is accepted, given that it is judged")]
    off_domain: Annotated[Chance, Meta(description="the same outside of its domain")]
    thinking: Annotated[Share, Meta(description="share of its blocks that open with a thinking token")] = 0.0
    thinking_on: Annotated[Chance, Meta(description="chance that a thinking token is accepted, on its domain")] = 0.5
    thinking_off: Annotated[Chance, Meta(description="the same outside of its domain")] = 0.5


DRAFTERS = (
    Drafter("code_1.5b", "code", 0.25, "text", 1.5, 0.7, 0.892, 0.14),
    Drafter("prose_3b", "prose", 0.29, "text", 3.0, 0.7, 0.860, 0.34),
    Drafter("reason_7b", "reasoning", 0.46, "thought", 7.0, 1.0, 0.877, 0.56, 0.52, 0.60, 0.09),
)


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Traffic, acceptance, costs and limits. Every policy takes the same."""

    drafters: Annotated[tuple[Drafter, ...], Meta(description="two or more")] = DRAFTERS
    planner: Annotated[Name, Meta(description="the drafter whose block comes first where nothing is learned")] = (
        "reason_7b"
    )
    request_sd: Annotated[
        float, Meta(ge=0, le=5, description="sd of a request's effect on every acceptance, in logits")
    ] = 0.12
    splice: Annotated[
        Share, Meta(description="chance that a block's first token fails because another tokenizer's text ends there")
    ] = 0.05
    steps: Annotated[Whole, Meta(description="steps of a request; each asks for consensus once")] = 10
    quorum: Annotated[Whole, Meta(description="drafters that must have had a token accepted within the step")] = 2
    reproposals: Annotated[
        int, Meta(ge=0, le=64, description="attempts of a step beyond the first, where it may propose again")
    ] = 3
    static_tokens: Annotated[Whole, Meta(description="tokens of each drafter's block where nothing is learned")] = 2
    longest: Annotated[Whole, Meta(description="longest block of the leading drafter where lengths are learned")] = 6
    second_tokens: Annotated[
        Whole, Meta(description="tokens of a block behind the leading one where lengths are learned")
    ] = 1
    prior_accepted: Annotated[Positive, Meta(description="Beta prior of a drafter's acceptance: tokens accepted")] = 1.4
    prior_refused: Annotated[Positive, Meta(description="Beta prior of a drafter's acceptance: tokens refused")] = 0.8
    memory: Annotated[Share, Meta(description="weight that each attempt leaves to what was learned before it")] = 0.95
    alone_block: Annotated[Whole, Meta(description="tokens of a block where a drafter is measured alone")] = 6
    verifier_billions: Annotated[Positive, Meta(description="weights of the verifier, in billions")] = 70.0
    verifier_pass_ms: Annotated[Positive, Meta(description="time of one verifier pass over one token")] = 40.0
    token_cost: Annotated[Share, Meta(description="time of a further token in a pass, in passes")] = 0.024
    exposed: Annotated[Share, Meta(description="share of the drafting time for which the verifier waits")] = 0.7

    def __post_init__(self) -> None:
        """UsageError where the parts do not fit together."""
        for what in ("id", "domain"):
            names = [getattr(drafter, what) for drafter in self.drafters]
            if len(set(names)) < max(2, len(names)):
                raise UsageError(
                    f"drafters: {what}s {', '.join(names)}", f"Give two drafters or more, each with its own {what}."
                )
        if self.planner not in self.ids:
            raise UsageError(f"planner: {self.planner} is no drafter", f"Choose from {', '.join(self.ids)}.")
        if self.quorum > len(self.drafters):
            raise UsageError(
                f"quorum: {self.quorum} of {len(self.drafters)} drafters", "Choose a quorum that can be met."
            )

    @property
    def ids(self) -> list[str]:
        """The drafters' names."""
        return [drafter.id for drafter in self.drafters]

    def cost(self, drafter: int) -> float:
        """Time of a drafter's token for which the verifier waits, in verifier passes."""
        return self.exposed * self.drafters[drafter].billions / self.verifier_billions

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a YAML file; what it does not name keeps its default. InputError where it cannot be read, UsageError where it cannot be."""
        try:
            given: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{shown(str(path))}: {error.strerror or error}") from error
        except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise InputError(f"{shown(str(path))}: not YAML: {' '.join(str(error).split())}") from error
        try:
            return msgspec.convert({} if given is None else given, cls)
        except (msgspec.ValidationError, RecursionError) as error:
            raise UsageError(
                f"{shown(str(path))}: {error}", "`--show-parameters` prints all that there are, with their defaults."
            ) from error

    def to_yaml(self) -> str:
        """As YAML, with what each means; `read` takes it."""
        return "\n".join(_yaml(self)) + "\n"


def _yaml(value: msgspec.Struct, indent: str = "") -> list[str]:
    out = []
    meanings = {name: field["description"] for name, field in _properties(type(value)).items()}
    for name in value.__struct_fields__:
        item = getattr(value, name)
        out += textwrap.wrap(meanings[name], 100, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")
        if isinstance(item, tuple):
            out.append(f"{indent}{name}:")
            for part in item:
                lines = (
                    _yaml(part, indent + "    ")
                    if part is item[0]
                    else [f"{indent}    {key}: {getattr(part, key)}" for key in part.__struct_fields__]
                )
                out += [f"{indent}  -", *lines]
        else:
            out.append(f"{indent}{name}: {item}")
    return out


def _properties(kind: type[msgspec.Struct]) -> dict[str, Any]:
    schema = msgspec.json.schema(kind)
    properties: dict[str, Any] = schema["$defs"][kind.__name__]["properties"]
    return properties
