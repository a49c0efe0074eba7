"""The metric classes of real vLLM releases, executed: what they print is read back to the counts that they were given.

Opt-in, for a wheel of vLLM is large: `SPECDIAG_VLLM_WHEELS` is a folder of wheels (`pip download --no-deps vllm==0.11.0`). Nothing is installed: one
module is taken out of each wheel, and what it imports is stood in for.
"""

from __future__ import annotations

import logging
import os
import random
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.importers.common import tallies

FOLDER = os.environ.get("SPECDIAG_VLLM_WHEELS", "")
WHEELS = sorted(Path(FOLDER).rglob("vllm-*.whl")) if FOLDER else []
MODULE = "vllm/v1/spec_decode/metrics.py"
PREFIX = "(EngineCore_DP0 pid=1234) INFO 11-02 14:03:11 [metrics.py:101] "

pytestmark = pytest.mark.skipif(not WHEELS, reason="SPECDIAG_VLLM_WHEELS names no folder with wheels of vLLM")


@pytest.fixture
def release(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The metrics module of one release."""
    for name in (
        "prometheus_client",
        "vllm",
        "vllm.config",
        "vllm.logger",
        "vllm.v1",
        "vllm.v1.metrics",
        "vllm.v1.metrics.utils",
    ):
        stand_in = types.ModuleType(name)
        stand_in.__dict__.update(
            init_logger=logging.getLogger, SpeculativeConfig=object, VllmConfig=object, create_metric_per_engine=None
        )
        stand_in.__dict__.update(Counter=object, Gauge=object, Histogram=object)
        monkeypatch.setitem(sys.modules, name, stand_in)
    with zipfile.ZipFile(request.param) as wheel:
        source = wheel.read(MODULE).decode()
    module = types.ModuleType("metrics_of_vllm")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(source, MODULE, "exec"), module.__dict__)
    return module


def printed(release: Any, rounds: list[tuple[int, int]], k: int) -> str:
    """The line that a release prints for these rounds (drafted, accepted)."""
    stats = release.SpecDecodingStats.new(k)
    for drafted, accepted in rounds:
        if hasattr(stats, "observe_draft"):
            stats.observe_draft(num_draft_tokens=drafted, num_accepted_tokens=accepted)
        else:
            stats.observe(num_draft_tokens=drafted, num_accepted_tokens=accepted)
    logged: list[str] = []
    logs = release.SpecDecodingLogging() if hasattr(release, "SpecDecodingLogging") else release.SpecDecodingMetrics()
    logs.observe(stats)

    def keep(text: str, *values: Any) -> None:
        logged.append(text % values if values else text)

    release.logger.info = keep
    try:
        logs.log(log_fn=keep)
    except TypeError:
        logs.log()
    return PREFIX + logged[0] + "\n"


@pytest.mark.parametrize("release", WHEELS, indirect=True, ids=[wheel.name for wheel in WHEELS])
@pytest.mark.parametrize("clipped", [False, True])
def test_what_a_release_prints_is_read_back(clipped: bool, release: Any) -> None:
    """Accepted and drafted tokens are exact; rounds and survivors are exact, or the estimate holds them within what it says."""
    chance = random.Random(7)
    for k in (1, 3, 7):
        for number in (1, 4, 90, 2000):
            rounds = []
            for _ in range(number):
                drafted = chance.randint(1, k) if clipped and chance.random() < 0.1 else k
                rounds.append((drafted, min(drafted, int(chance.expovariate(0.6)))))
            [event] = tallies(printed(release, rounds, k), "vllm/log")
            assert event.accepted == sum(a for _, a in rounds)
            assert event.proposed == sum(d for d, _ in rounds)
            estimated = event.estimated or {}
            if event.rounds is not None:
                assert abs(event.rounds - number) <= estimated.get("rounds", 0)
            if event.reached is not None:
                truth = [sum(a >= i for _, a in rounds) for i in range(1, k + 1)]
                slack = estimated.get("reached", 0)
                assert np.abs(np.array(event.reached) - truth).max() <= slack
            if not clipped and event.accepted:
                assert event.rounds == number
                assert event.definitions in ("vllm", "vllm-0.8.5")
