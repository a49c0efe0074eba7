"""`specdiag record`."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from specdiag.cli import terminal
from specdiag.errors import InputError, UsageError, shown
from specdiag.files import gzipped, whole, zstd
from specdiag.record import prompts as prompt_files
from specdiag.record import setup
from specdiag.record.lines import Line, Prompt
from specdiag.record.logbook import Logbook
from specdiag.record.loop import Plan, record
from specdiag.record.topology import Topology
from specdiag.record.verify import Rule
from specdiag.record.vocabulary import Mapping
from specdiag.record.votes import Voting
from specdiag.render.figures import counted
from specdiag.trace.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the command."""

    drafters: Sequence[str]
    verifier: str
    prompts: str
    output: Path
    topology: str
    partition: bool
    alone_every: int | None
    rule: str
    mapping: str
    max_tokens: int
    rounds: int | None
    quorum: int | None
    step_tokens: int
    seed: int
    labels: Sequence[str]
    times: bool
    show: bool
    quiet: bool


def run(asked: Asked) -> None:
    """Load, record, say what was written."""
    _utf8(asked)
    own_labels, rule = _labels(asked), Rule(asked.rule.replace("-", "_"))
    voting = _voting(asked)
    _writable(asked)
    prompts = prompt_files.load(asked.prompts)
    people = setup.cast(asked.drafters, asked.verifier, rule, Mapping(asked.mapping))
    plan = Plan(
        members=people.members,
        verifier=people.verifier,
        rule=rule,
        topology=Topology(asked.topology),
        partition=asked.partition,
        alone_every=asked.alone_every,
        max_tokens=asked.max_tokens,
        max_rounds=asked.rounds,
        voting=voting,
        seed=asked.seed,
    )
    lines = _recorded(asked, plan, people, prompts, own_labels)
    if asked.show:
        for line in lines:
            terminal.write(_shown(line), None)
    if not asked.quiet:
        tokens = sum(asked.max_tokens - line.room for line in lines)
        terminal.say(
            f"specdiag: {counted(len(prompts), 'request')}, {counted(tokens, 'token')}, written to {asked.output}"
        )


def _recorded(
    asked: Asked, plan: Plan, people: setup.Cast, prompts: Sequence[Prompt], own_labels: dict[str, str]
) -> list[Line]:
    header = setup.header(people, plan.rule, _settings(asked) | own_labels, prompts)
    try:
        with _trace_file(_place(asked)) as path, Recorder(path, **header) as recorder:
            return record(plan, prompts, Logbook(recorder, people.verifier.tokenizer, plan.rule, asked.times))
    except OSError as error:
        raise InputError(
            f"{shown(str(asked.output))}: {error.strerror or error}",
            "What was recorded so far, if anything, stays in the file.",
        ) from error


def _settings(asked: Asked) -> dict[str, str]:
    settings = {
        "topology": asked.topology,
        "partition": str(asked.partition).lower(),
        "seed": str(asked.seed),
        "max_tokens": str(asked.max_tokens),
    }
    if asked.alone_every is not None:
        settings["alone_every"] = str(asked.alone_every)
    if asked.rounds is not None:
        settings["rounds"] = str(asked.rounds)
    if asked.quorum is not None:
        settings |= {"quorum": str(asked.quorum), "step_tokens": str(asked.step_tokens)}
    return settings


def _labels(asked: Asked) -> dict[str, str]:
    labels: dict[str, str] = {}
    for item in asked.labels:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise UsageError(f"--label {item}: no name", "Give NAME=VALUE.")
        labels[name] = value
    return labels


def _voting(asked: Asked) -> Voting | None:
    if asked.partition and asked.topology != Topology.chain:
        raise UsageError(
            f"--partition has no meaning for {asked.topology}", "Only the blocks of a chain share a prefix."
        )
    if asked.alone_every is not None and asked.topology != Topology.chain:
        raise UsageError(
            f"--alone-every has no meaning for {asked.topology}", "Its drafters are never together on a chain."
        )
    if asked.quorum is None:
        return None
    if asked.topology != Topology.branches:
        raise UsageError("only parallel branches vote", "Give --topology branches with --quorum.")
    if asked.quorum > len(asked.drafters):
        raise UsageError(
            f"--quorum {asked.quorum} with {counted(len(asked.drafters), 'branch')}", "Each drafter is one branch."
        )
    return Voting(asked.quorum, asked.step_tokens)


def _place(asked: Asked) -> Path:
    """Where the trace goes: behind a link, what the link leads to."""
    return Path(os.path.realpath(asked.output))


def _utf8(asked: Asked) -> None:
    for text in (*asked.drafters, asked.verifier, asked.prompts, *asked.labels):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{shown(text)}: not UTF-8", "Write names, labels and options in UTF-8.") from error


def _writable(asked: Asked) -> None:
    """Fail before minutes of work, not behind them."""
    output, prompts = _place(asked), Path(asked.prompts)
    if str(asked.output) == "-":
        raise UsageError("--output -: a trace is recorded to a file", "Give it a name.")
    if output.exists() and prompts.exists() and output.samefile(prompts):
        raise UsageError(f"{output}: the trace would replace its own prompts", "Give --output another name.")
    named = (Path(word) for spec in (*asked.drafters, asked.verifier) for word in re.split("[,=:]", spec))
    if output.exists() and any(file.is_file() and output.samefile(file) for file in named):
        raise UsageError(f"{output}: the trace would replace what a model is made from", "Give --output another name.")
    if output.is_dir() or not os.access(output.parent, os.W_OK):
        raise InputError(f"{output}: no file can be written there", "Choose a place that exists and can be written to.")


@contextmanager
def _trace_file(output: Path) -> Iterator[Path]:
    """A plain file to record to, in place of an older one; compressed at the end where the name says so, also of an interrupted run."""
    if output.suffix not in (".gz", ".zst"):
        if output.is_file():
            output.unlink()
        yield output
        return
    handle, name = tempfile.mkstemp(prefix=".specdiag-", suffix=".jsonl", dir=output.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        _compress(Path(name), output)
        os.unlink(name)


def _compress(plain: Path, output: Path) -> None:
    with plain.open("rb") as source, whole(output) as file:
        if output.suffix == ".gz":
            with gzipped(file) as packed:
                shutil.copyfileobj(source, packed)
        else:
            file.write(zstd("writing").compress(source.read()))


def _shown(line: Line) -> str:
    from specdiag.render.text import inert

    place = line.request if line.branch is None else f"{line.request} [{line.branch}]"
    text = "\n".join(inert(part) for part in line.data.decode("utf-8", "replace").split("\n"))
    return f"== {inert(place)}\n{text}\n"
