"""The options of the commands, each said once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """Faces of the report."""

    console = "console"
    json = "json"
    markdown = "markdown"


class What(StrEnum):
    """Things that have a schema."""

    trace = "trace"
    report = "report"


class Topology(StrEnum):
    """Arrangements of the drafters in a recording."""

    chain = "chain"
    branches = "branches"
    turns = "turns"
    shadow = "shadow"


class Rule(StrEnum):
    """Rules of verification that the recording loop has."""

    rejection = "rejection"
    exact_match = "exact-match"
    greedy = "greedy"


class Map(StrEnum):
    """Ways between two tokenizers."""

    intersection = "intersection"
    string = "string"


class Story(StrEnum):
    """What can be simulated."""

    incident = "incident"


class PolicyName(StrEnum):
    """Policies of the incident: of the pool, and of its drafters by themselves."""

    naive = "naive"
    enforced = "enforced"
    alone = "alone"
    single = "single"


class Analyze:
    """Options of `analyze`; other commands share some."""

    traces = Annotated[
        list[str],
        typer.Argument(
            metavar="TRACE...", help="Traces: files (.jsonl, .gz, .zst), directories, globs, or - for standard input."
        ),
    ]
    source = Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="What the inputs are: specdiag, an engine (vllm), or one of its layouts (vllm/log). Default: they tell it themselves.",
            show_default=False,
        ),
    ]
    format = Annotated[Format, typer.Option("--format", "-f", help="How to show the report.")]
    by = Annotated[
        str,
        typer.Option(
            "--by", metavar="DIMENSIONS", help="Slices, comma-separated: drafter, position, branch, label, label:NAME."
        ),
    ]
    engines = Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            metavar="ENGINE",
            help="Show the figures under an engine's definitions, too; once for each (vllm, sglang, ...), or all.",
            show_default=False,
        ),
    ]
    strict = Annotated[
        bool | None,
        typer.Option(
            "--strict/--lenient",
            help="Stop at the first bad line, or note it and go on. Default: strict where CI is set, else lenient.",
            show_default=False,
        ),
    ]
    jobs = Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            max=256,
            help="Processes that read; the report is the same to the bit for any number.",
        ),
    ]
    replicates = Annotated[
        int,
        typer.Option("--replicates", min=0, max=10_000, help="Bootstrap replicates over requests; 0: no intervals."),
    ]
    seed = Annotated[int, typer.Option("--seed", help="Seed of the bootstrap weights.")]
    level = Annotated[float, typer.Option("--level", help="Level of the intervals.")]
    output = Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the report to a file instead of standard output.")
    ]
    quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No summary and no progress on standard error.")]
    what = Annotated[What, typer.Argument(help="What to print the schema of.")]


class Convert:
    """Options of `convert`."""

    inputs = Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT...", help="Logs or result files of an engine, or - for standard input.", show_default=False
        ),
    ]
    output = Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The trace to write (.jsonl, .jsonl.gz, .jsonl.zst).", show_default=False),
    ]
    drafter = Annotated[
        str | None,
        typer.Option(
            "--drafter", metavar="NAME", help="Whose figures these are, where the engine has no name for its drafter."
        ),
    ]
    formats = Annotated[bool, typer.Option("--formats", help="List what can be read, and exit.")]
    quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No summary on standard error.")]


class Record:
    """Options of `record`."""

    drafters = Annotated[
        list[str],
        typer.Option(
            "--drafter",
            "-d",
            metavar="NAME=KIND:OPTIONS",
            help="A drafter, once for each: ngram, transformers, llama-cpp or lookup, with options key=value and commas between. "
            "Of all: tokens, temperature, top_k, top_p, map. Of ngram: order, tokenizer, corpus.",
        ),
    ]
    verifier = Annotated[
        str, typer.Option("--verifier", metavar="KIND:OPTIONS", help="The verifier, in the same words.")
    ]
    prompts = Annotated[
        str,
        typer.Option(
            "--prompts",
            metavar="FILE",
            help='Prompts, one a line or {"id": ..., "prompt": ...} a line; or corpus:N for N out of Python\'s own library.',
        ),
    ]
    output = Annotated[Path, typer.Option("--output", "-o", help="The trace to write (.jsonl, .jsonl.gz, .jsonl.zst).")]
    topology = Annotated[
        Topology,
        typer.Option(
            "--topology",
            help="chain: all drafters extend one shared prefix in turn. branches: each has a line of its own. turns: one a round. "
            "shadow: all on each prefix, one kept in turn.",
        ),
    ]
    partition = Annotated[
        bool, typer.Option("--partition", help="Blocks of different tokenizers never share a chain; they take turns.")
    ]
    alone_every = Annotated[
        int | None,
        typer.Option(
            "--alone-every",
            metavar="K",
            min=2,
            help="Every Kth round of a chain is one drafter's alone, in turn: what each reaches without company.",
            show_default=False,
        ),
    ]
    rule = Annotated[Rule, typer.Option("--rule", help="How the verifier judges.")]
    map = Annotated[
        Map, typer.Option("--map", help="From another tokenizer: the tokens that both have, or the string split anew.")
    ]
    max_tokens = Annotated[int, typer.Option("--max-tokens", min=1, help="Output tokens of a request.")]
    rounds = Annotated[
        int | None, typer.Option("--rounds", min=1, help="Rounds of a request or branch, if fewer.", show_default=False)
    ]
    quorum = Annotated[
        int | None,
        typer.Option("--quorum", min=1, help="Equal votes that a step of the branches needs.", show_default=False),
    ]
    step_tokens = Annotated[int, typer.Option("--step-tokens", min=1, help="Tokens of a step that ends in a vote.")]
    seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of every draw.")]
    label = Annotated[
        list[str] | None, typer.Option("--label", metavar="NAME=VALUE", help="A label of the trace, once for each.")
    ]
    times = Annotated[
        bool, typer.Option("--times/--no-times", help="Log times; without them equal commands write equal bytes.")
    ]
    show = Annotated[bool, typer.Option("--show", help="Print prompts with their output.")]
    quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No summary on standard error.")]


class Simulate:
    """Options of `simulate`."""

    story = Annotated[Story, typer.Argument(help="What to simulate.")]
    policy = Annotated[
        PolicyName | None,
        typer.Option(
            "--policy",
            help="naive: no measure is taken; enforced: all three; alone: each drafter by itself on its own domain; "
            "single: each by itself on all requests, at its best block length. Default: naive.",
            show_default=False,
        ),
    ]
    partition = Annotated[
        bool | None,
        typer.Option("--partition/--no-partition", help="Tokenizers never share a prefix.", show_default=False),
    ]
    attribution = Annotated[
        bool | None,
        typer.Option(
            "--attribution/--no-attribution",
            help="A refusal is charged to its drafter alone, and that orders the prefix and sets its length.",
            show_default=False,
        ),
    ]
    reproposal = Annotated[
        bool | None,
        typer.Option(
            "--reproposal/--no-reproposal",
            help="A step without a quorum proposes again before it falls back.",
            show_default=False,
        ),
    ]
    block = Annotated[
        int | None,
        typer.Option("--block", min=1, max=64, help="Tokens of a block, for alone and single.", show_default=False),
    ]
    requests = Annotated[int, typer.Option("--requests", "-n", min=1, max=1_000_000, help="Requests.")]
    seed = Annotated[
        int, typer.Option("--seed", min=0, help="Seed of the traffic and of the verdicts; of the first run.")
    ]
    seeds = Annotated[
        int | None,
        typer.Option(
            "--seeds", help="Runs of --ablation and --check, each with the next seed. Default: 5.", show_default=False
        ),
    ]
    parameters = Annotated[
        Path | None, typer.Option("--parameters", help="YAML file with parameters; those not named keep their default.")
    ]
    show_parameters = Annotated[bool, typer.Option("--show-parameters", help="Print the parameters as YAML.")]
    ablation = Annotated[
        bool, typer.Option("--ablation", help="Print what each of the three measures does, alone and together.")
    ]
    check = Annotated[
        bool,
        typer.Option(
            "--check", help="Print the published figures beside the measured ones; exit code 1 if one is out."
        ),
    ]
    output = Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write to a file (.gz: compressed) instead of standard output."),
    ]
    quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")]
