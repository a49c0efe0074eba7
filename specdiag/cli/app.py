"""The program: its commands, and how it ends.

Only what every call needs is imported here; each command imports its own, so that `--help` and `--version` answer at once.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import Annotated, Any, NoReturn

import typer

from specdiag.cli import terminal
from specdiag.cli.options import Analyze, Convert, Format, Map, Record, Rule, Simulate, Topology
from specdiag.errors import SpecdiagError, cut, shown
from specdiag.version import __version__

_LONGEST_LINE = 1000  # of a message: an argument may be a megabyte

# The base of typer's errors; some releases have it from click, some bring it along under a name of their own.
ClickError: Any = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="specdiag",
    help="Diagnose speculative decoding with several drafters on one verifier, from logged proposals and verdicts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"specdiag {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def analyze(
    traces: Analyze.traces,
    source: Analyze.source = None,
    format: Analyze.format = Format.console,
    by: Analyze.by = "",
    engines: Analyze.engines = None,
    strict: Analyze.strict = None,
    jobs: Analyze.jobs = 1,
    replicates: Analyze.replicates = 200,
    seed: Analyze.seed = 0,
    level: Analyze.level = 0.95,
    output: Analyze.output = None,
    quiet: Analyze.quiet = False,
) -> None:
    """Say what happened: who proposed, what was kept, who wasted what."""
    from specdiag.cli.analyze import run

    _loaded()
    run(traces, source, format.value, by, engines or [], strict, jobs, replicates, seed, level, output, quiet)


@app.command()
def convert(
    inputs: Convert.inputs = None,
    source: Analyze.source = None,
    output: Convert.output = None,
    drafter: Convert.drafter = None,
    strict: Analyze.strict = None,
    formats: Convert.formats = False,
    quiet: Convert.quiet = False,
) -> None:
    """Make a trace of a log or result file that an engine wrote: its counts, under names that say what they count."""
    from specdiag.cli.convert import run

    _loaded()
    run(inputs or [], source, output, drafter, strict, formats, quiet)


@app.command()
def validate(traces: Analyze.traces, quiet: Analyze.quiet = False) -> None:
    """Check that traces follow the format; list every kind of problem with its places. Exit code 2 if there is any."""
    from specdiag.cli.validate import run

    _loaded()
    run(traces, quiet)


@app.command()
def schema(what: Analyze.what) -> None:
    """Print the JSON Schema of a trace line, or of the report of `analyze --format json`."""
    from specdiag.cli.schema import run

    _loaded()
    run(what.value)


@app.command(
    epilog="Example: specdiag record --drafter near=ngram:order=2 --verifier ngram:order=4 --prompts corpus:4 -o trace.jsonl"
)
def record(
    drafter: Record.drafters,
    verifier: Record.verifier,
    prompts: Record.prompts,
    output: Record.output,
    topology: Record.topology = Topology.chain,
    partition: Record.partition = False,
    alone_every: Record.alone_every = None,
    rule: Record.rule = Rule.rejection,
    map: Record.map = Map.intersection,
    max_tokens: Record.max_tokens = 64,
    rounds: Record.rounds = None,
    quorum: Record.quorum = None,
    step_tokens: Record.step_tokens = 6,
    seed: Record.seed = 0,
    label: Record.label = None,
    times: Record.times = True,
    show: Record.show = False,
    quiet: Record.quiet = False,
) -> None:
    """Make a trace of a real run: drafters and a verifier that run here, exactly verified."""
    from specdiag.cli.record import Asked, run

    _loaded()
    run(
        Asked(
            drafters=drafter,
            verifier=verifier,
            prompts=prompts,
            output=output,
            topology=topology.value,
            partition=partition,
            alone_every=alone_every,
            rule=rule.value,
            mapping=map.value,
            max_tokens=max_tokens,
            rounds=rounds,
            quorum=quorum,
            step_tokens=step_tokens,
            seed=seed,
            labels=label or [],
            times=times,
            show=show,
            quiet=quiet,
        )
    )


@app.command()
def simulate(
    story: Simulate.story,
    policy: Simulate.policy = None,
    partition: Simulate.partition = None,
    attribution: Simulate.attribution = None,
    reproposal: Simulate.reproposal = None,
    block: Simulate.block = None,
    requests: Simulate.requests = 400,
    seed: Simulate.seed = 0,
    seeds: Simulate.seeds = None,
    parameters: Simulate.parameters = None,
    show_parameters: Simulate.show_parameters = False,
    ablation: Simulate.ablation = False,
    check: Simulate.check = False,
    jobs: Analyze.jobs = 1,
    output: Simulate.output = None,
    quiet: Simulate.quiet = False,
) -> None:
    """Make the incident's traces from a mechanism with stated parameters, or measure what each measure does."""
    from specdiag.cli.simulate import Wanted, run

    _loaded()
    measures = (partition, attribution, reproposal)
    instead = (show_parameters, ablation, check)
    chosen = policy.value if policy else None
    run(Wanted(chosen, *measures, block, requests, seed, seeds, parameters, *instead, jobs, output, quiet))


def _loaded() -> None:
    """The modules of a command are there: what they hold stays, and from now on the collector looks at the rest."""
    gc.freeze()
    gc.enable()


def main() -> NoReturn:
    """Run the program; the exit code is 0 (fine), 1 (a check failed) or 2 (usage, or an input that is broken)."""
    # `--jobs` says how many processors are used: the matrix library of numpy is not to start threads of its own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()  # while modules are loaded
    code = _guarded()
    sys.exit(terminal.finish() or code)


def _guarded() -> int:
    try:
        return _run()
    except SpecdiagError as error:
        return _fail(error.what, error.advice, error.exit_code)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output went away: nothing is wrong
        return 0
    except OSError as error:
        return _fail(f"{shown(str(error.filename or 'system'))}: {error.strerror or error}", "", 2)
    except MemoryError:
        return _fail("out of memory", "Give fewer --jobs or --replicates.", 2)
    except Exception as error:
        if os.environ.get("SPECDIAG_DEBUG"):
            raise
        return _fail(
            f"internal error: {type(error).__name__}: {shown(str(error))}",
            "This is a fault of specdiag. Set SPECDIAG_DEBUG=1 for the traceback, and report it.",
            2,
        )


def _run() -> int:
    """Run the command; typer's own ways to end become an exit code, and none of them is 1: that is for a check of ours that failed."""
    try:
        return int(typer.main.get_command(app)(prog_name="specdiag", standalone_mode=False) or 0)
    except ClickError as error:
        text = io.StringIO()
        error.show(text)
        _say(text.getvalue().splitlines())
        return int(error.exit_code)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):
            return 0
        return 2 if ended.code == 1 else int(ended.code or 0)


def _fail(what: str, advice: str, code: int) -> int:
    lines = [
        f"specdiag: error: {what.splitlines()[0] if what else ''}",
        *(f"  {line}" for line in what.splitlines()[1:]),
    ]
    lines += [f"  {advice}"] if advice else []
    _say(lines)
    return code


def _say(lines: list[str]) -> None:
    from specdiag.render.text import inert

    terminal.say("\n".join(inert(cut(line, _LONGEST_LINE)) for line in lines))
