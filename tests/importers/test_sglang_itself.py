"""The code of real SGLang releases, executed: what they print and answer is read back to the counts that they were given.

Opt-in, for it needs wheels: `SPECDIAG_SGLANG_WHEELS` is a folder of them (`pip download --no-deps sglang==0.5.10`). Nothing is installed: two methods
are taken out of each wheel, and all that they use is stood in for by zeros.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import json
import os
import random
import sys
import types
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.importers.common import tallies

FOLDER = os.environ.get("SPECDIAG_SGLANG_WHEELS", "")
WHEELS = sorted(Path(FOLDER).rglob("sglang-*.whl")) if FOLDER else []

pytestmark = pytest.mark.skipif(not WHEELS, reason="SPECDIAG_SGLANG_WHEELS names no folder with wheels of SGLang")
over_releases = pytest.mark.parametrize("wheel", WHEELS, ids=[wheel.name for wheel in WHEELS])


class Nothing(float):
    """A number 0 that has every attribute and every member, and can be called: each time it gives another one."""

    def __getattr__(self, name: str) -> Any:
        return Nothing()

    def __call__(self, *args: Any, **named: Any) -> Any:
        return Nothing()

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __getitem__(self, key: Any) -> Any:
        return Nothing()

    def __len__(self) -> int:
        return 0

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value


def methods(wheel: Path, holding: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The methods of the server whose source has this text."""
    with zipfile.ZipFile(wheel) as files:
        for name in files.namelist():
            if (
                name.startswith("sglang/srt/")
                and name.endswith(".py")
                and holding in (source := files.read(name).decode())
            ):
                for node in ast.walk(ast.parse(source)):
                    if isinstance(node, ast.FunctionDef) and holding in (ast.get_source_segment(source, node) or ""):
                        yield name, node


def compiled(node: ast.FunctionDef, monkeypatch: pytest.MonkeyPatch, **known: Any) -> Callable[..., Any]:
    """The method as a function; names that it takes from elsewhere stand for nothing."""
    node.decorator_list = []
    code = compile(ast.Module([node], []), "sglang", "exec", flags=__future__.annotations.compiler_flag)
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    scope: dict[str, Any] = {name: Nothing() for name in names if not hasattr(builtins, name)} | known
    for part in ast.walk(node):
        if isinstance(part, ast.ImportFrom) and part.module:
            stand_in = types.ModuleType(part.module)
            stand_in.__dict__.update({alias.name: Nothing() for alias in part.names})
            stand_in.__dict__["__path__"] = []
            parents = part.module.split(".")
            for i in range(1, len(parents)):
                package = types.ModuleType(".".join(parents[:i]))
                package.__dict__["__path__"] = []
                monkeypatch.setitem(sys.modules, package.__name__, package)
            monkeypatch.setitem(sys.modules, part.module, stand_in)
    exec(code, scope)
    found: Callable[..., Any] = scope[node.name]
    return found


def server(k: int) -> Any:
    """What a method finds in its server: blocks of k drafts."""
    found = Nothing()
    found.server_args = found.scheduler = Nothing()
    found.server_args.speculative_num_draft_tokens, found.server_args.speculative_num_steps = k + 1, k
    found.server_args.decode_log_interval = found.decode_log_interval = 40
    return found


@over_releases
def test_the_line_that_a_release_prints(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its two ratios are read, and the rule of the release is told."""
    lines: list[str] = []
    logger = Nothing()
    logger.info = lines.append
    [(_, node)] = methods(wheel, "accept len: {")
    chance = random.Random(5)
    for k in (1, 3, 8):
        lines.clear()
        spec = server(k)
        report = compiled(
            node,
            monkeypatch,
            logger=logger,
            get_spec=lambda spec=spec: spec.server_args,
            time=types.SimpleNamespace(perf_counter=lambda: 3.0),
        )
        truth = []
        for _ in range(6):
            rounds = chance.randrange(40, 400)
            accepted = chance.randrange(rounds * k // 2)
            one = server(k)
            one._get_token_info = lambda: (0, 0.0, 0, 0)
            one.is_stats_logging_rank = True
            one.max_total_num_tokens = one.scheduler.max_total_num_tokens = 1000
            pool = one.scheduler.pool_stats_observer = Nothing()
            pool.get_pool_stats = lambda pool=pool: pool
            pool.get_decode_usage_msg_parts = lambda: ["#token: 5", "token usage: 0.01"]
            for name in ("spec_num_total_accepted_tokens", "spec_num_accepted_tokens", "spec_num_accept_tokens"):
                setattr(one, name, accepted + rounds)
            one.spec_num_correct_drafts = accepted
            one.spec_num_total_forward_ct = one.spec_num_forward_ct = rounds
            report(
                one,
                True,
                types.SimpleNamespace(reqs=[0], forward_iter=7, batch_size=lambda: 1, dp_cooperation_info=None),
            )
            truth.append((accepted + rounds) / rounds)
        events = tallies("".join(f"[2025-11-02 14:03:11 TP0] {line}\n" for line in lines), "sglang/log")
        assert [(event.printed or {})["accept len"] for event in events] == [f"{length:.2f}" for length in truth]
        release = [int(part) for part in wheel.name.split("-")[1].split(".")[:3] if part.isdigit()]
        older = [0, 5, 4] <= release < [0, 5, 11]
        assert {event.definitions for event in events} == {"sglang-0.5.4" if older else "sglang"}
        assert {event.max_draft_tokens for event in events} == {k if release >= [0, 5, 4] else None}


@over_releases
def test_what_a_release_answers(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts of `meta_info` are those that the scheduler sent."""
    found = [node for _, node in methods(wheel, '"spec_accept_length"') if node.name.startswith("_calculate_spec")]
    if not found:
        pytest.skip("no such counts in this release")
    k, a = 3, [0, 1, 3, 2] * 10
    histogram = [a.count(j) for j in range(k + 1)]
    sent: dict[str, Any] = {"spec_verify_ct": [len(a)], "completion_tokens": [1 + sum(a) + len(a)]}
    for name in ("spec_accepted_tokens", "spec_num_correct_drafts"):
        sent[name] = [sum(a)]
    for name in ("spec_acceptance_histogram", "spec_correct_drafts_histogram"):
        sent[name] = [histogram]
    meta = {"id": "a", "finish_reason": {"type": "stop"}, "completion_tokens": sent["completion_tokens"][0]}
    one = server(k)
    call = compiled(
        found[0],
        monkeypatch,
        get_spec=lambda: one.server_args,
        _ragged_verify_cap_accept=lambda: False,
        BatchEmbeddingOutput=types.SimpleNamespace,
    )
    call(one, meta, type("Sent", (), sent)(), 0)
    [event] = tallies(json.dumps({"text": "x", "meta_info": meta}), "sglang/response")
    assert (event.rounds, event.accepted, event.completion_tokens) == (40, 60, 101)
    assert event.max_draft_tokens == k
    assert event.proposed in (120, None)
