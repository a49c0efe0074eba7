"""`specdiag simulate`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import typer

from specdiag.cli import terminal
from specdiag.errors import InputError, UsageError, shown
from specdiag.files import written
from specdiag.simulate import ablation, published
from specdiag.simulate.incident import Alone, Pool, Scenario, trace
from specdiag.simulate.parameters import Parameters
from specdiag.simulate.policy import ENFORCED, NAIVE, Policy

MOST_SEEDS = 100


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options as they were given; None where one was not."""

    policy: str | None
    partition: bool | None
    attribution: bool | None
    reproposal: bool | None
    block: int | None
    requests: int
    seed: int
    seeds: int | None
    parameters: Path | None
    show_parameters: bool
    ablation: bool
    check: bool
    jobs: int
    output: Path | None
    quiet: bool


def run(wanted: Wanted) -> None:
    """Write a trace, a table or the parameters."""
    parameters = Parameters.read(wanted.parameters) if wanted.parameters else Parameters()
    _must_fit(wanted)
    if wanted.show_parameters:
        terminal.write(parameters.to_yaml(), wanted.output)
    elif wanted.ablation or wanted.check:
        _table(parameters, wanted)
    else:
        _trace(parameters, wanted)


def _must_fit(wanted: Wanted) -> None:
    """UsageError where options do not go together."""
    instead = [n for n in ("show_parameters", "ablation", "check") if getattr(wanted, n)]
    of_trace = ("policy", "partition", "attribution", "reproposal", "block")
    given = [name for name in of_trace if getattr(wanted, name) is not None]
    if len(instead) > 1 or (instead and given):
        names = " and ".join(f"--{name.replace('_', '-')}" for name in [*instead, *given])
        raise UsageError(f"{names} do not go together", "Give one of them.")
    if not instead and wanted.seeds is not None:
        raise UsageError("--seeds without --ablation or --check", "A trace has one --seed.")
    if wanted.policy in ("alone", "single") and set(given) - {"policy", "block"}:
        raise UsageError(
            f"--policy {wanted.policy} takes no measures", "The three measures are of a pool: naive or enforced."
        )
    if wanted.policy not in ("alone", "single") and wanted.block is not None:
        raise UsageError("--block without --policy alone or single", "The blocks of a pool are in the parameters.")
    if wanted.output and wanted.output.suffix == ".zst":
        raise UsageError(
            f"{shown(str(wanted.output))}: traces are not written as .zst", "Give it a name that ends in .gz or .jsonl."
        )
    same = wanted.parameters, wanted.output
    if same[0] and same[1] and same[0].exists() and same[1].exists() and same[0].samefile(same[1]):
        raise UsageError(
            f"{shown(str(same[1]))}: the output would replace the parameters", "Give --output another name."
        )


def _scenario(parameters: Parameters, wanted: Wanted) -> Scenario:
    if wanted.policy == "alone":
        return Alone(own_domain=True, block=wanted.block or parameters.alone_block)
    if wanted.policy == "single":
        return Alone(own_domain=False, block=wanted.block)
    base = ENFORCED if wanted.policy == "enforced" else NAIVE
    chosen = (wanted.partition, wanted.attribution, wanted.reproposal)
    default = (base.partition, base.attribution, base.reproposal)
    return Pool(Policy(*(d if c is None else c for c, d in zip(chosen, default, strict=True))))


def _trace(parameters: Parameters, wanted: Wanted) -> None:
    runs = trace(parameters, _scenario(parameters, wanted), wanted.requests, wanted.seed)
    if wanted.output is None or str(wanted.output) == "-":
        if sys.stdout is None:
            raise InputError("standard output is closed", "Open it, or give --output.")
        sys.stdout.buffer.writelines(runs)
        sys.stdout.buffer.flush()
        return
    try:
        written(wanted.output, runs)
    except OSError as error:
        raise InputError(
            f"{shown(str(wanted.output))}: {error.strerror or error}",
            "Choose a place that exists and can be written to.",
        ) from error


def _table(parameters: Parameters, wanted: Wanted) -> None:
    count = 5 if wanted.seeds is None else wanted.seeds
    if not 1 <= count <= MOST_SEEDS:
        raise UsageError(f"{count} seeds", f"Choose 1 to {MOST_SEEDS}.")
    seeds = range(wanted.seed, wanted.seed + count)
    said = (lambda text: None) if wanted.quiet else (lambda text: terminal.say(f"specdiag: {text}"))
    if wanted.ablation:
        against, rows = ablation.ablation(parameters, wanted.requests, seeds, wanted.jobs, said)
        terminal.write(ablation.table(rows, against, wanted.requests, seeds), wanted.output)
        return
    against, lines, naive, _ = published.check(parameters, wanted.requests, seeds, wanted.jobs, said)
    text = published.table(parameters, against, lines, naive, wanted.requests, seeds)
    terminal.write(text, wanted.output)
    if not (all(line.holds for line in lines) and published.culprit_found(parameters, naive)):
        raise typer.Exit(1)
