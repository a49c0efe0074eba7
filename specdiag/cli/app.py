"""The program: its commands, and how it ends.

Only what every call needs is imported here; each command imports its own, so that `--help` and `--version` answer at once.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Annotated, NoReturn

import typer

from specdiag.cli.options import Analyze, Format, Simulate
from specdiag.errors import SpecdiagError
from specdiag.version import __version__

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
    format: Analyze.format = Format.console,
    by: Analyze.by = "",
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

    run(traces, format.value, by, strict, jobs, replicates, seed, level, output, quiet)


@app.command()
def validate(traces: Analyze.traces, quiet: Analyze.quiet = False) -> None:
    """Check that traces follow the format; list every kind of problem with its places. Exit code 2 if there is any."""
    from specdiag.cli.validate import run

    run(traces, quiet)


@app.command()
def schema(what: Analyze.what) -> None:
    """Print the JSON Schema of a trace line, or of the report of `analyze --format json`."""
    from specdiag.cli.schema import run

    run(what.value)


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

    measures = (partition, attribution, reproposal)
    instead = (show_parameters, ablation, check)
    chosen = policy.value if policy else None
    run(Wanted(chosen, *measures, block, requests, seed, seeds, parameters, *instead, jobs, output, quiet))


def main() -> NoReturn:
    """Run the program; the exit code is 0 (fine), 1 (a check failed) or 2 (usage, or an input that is broken)."""
    # `--jobs` says how many processors are used: the matrix library of numpy is not to start threads of its own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()  # while modules are loaded; `analyze` switches it on again
    sys.exit(_guarded())


def _guarded() -> int:
    try:
        app()
    except SpecdiagError as error:
        return _fail(error.what, error.advice, error.exit_code)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output went away: nothing is wrong
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except OSError as error:
        return _fail(f"{error.filename or 'system'}: {error.strerror or error}", "", 2)
    except MemoryError:
        return _fail("out of memory", "Give fewer --jobs or --replicates.", 2)
    except Exception as error:
        if os.environ.get("SPECDIAG_DEBUG"):
            raise
        return _fail(
            f"internal error: {type(error).__name__}: {error}",
            "This is a fault of specdiag. Set SPECDIAG_DEBUG=1 for the traceback, and report it.",
            2,
        )
    return 0


def _fail(what: str, advice: str, code: int) -> int:
    from specdiag.render.text import inert

    lines = [
        f"specdiag: error: {what.splitlines()[0] if what else ''}",
        *(f"  {line}" for line in what.splitlines()[1:]),
    ]
    lines += [f"  {advice}"] if advice else []
    print("\n".join(inert(line) for line in lines), file=sys.stderr)
    return code
