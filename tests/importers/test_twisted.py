"""Result files with a value of another kind in one place: nothing but InputError is raised, whatever stands where."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from specdiag.errors import InputError
from tests.importers import test_aiperf, test_answers, test_model_optimizer, test_specforge
from tests.importers.common import imported

ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 0.5, 1e308, 5e-324, 2**70, float("nan"), "", "x", "7"),
    *([], {}, [[]], [None], [1e300], {"1": {}}, {"x": []}, {"": None}),
)
INPUTS: tuple[tuple[str, Any], ...] = (
    ("aiperf/profile", json.loads(test_aiperf.line(test_aiperf.DETAILED))),
    ("aiperf/summary", test_aiperf.SUMMARY),
    ("spec-bench/answers", json.loads(test_answers.answer(81, **test_answers.STEPS))),
    ("eagle/answers", json.loads(test_answers.answer(81, idxs=[3, 0], new_tokens=[10, 1]))),
    ("specforge/bench", test_specforge.BENCH),
    ("specforge/sglang", test_specforge.SGLANG),
    ("specforge/sglang", test_specforge.REPORT),
    ("specforge/bundle", test_specforge.BUNDLE),
    ("model-optimizer/acceptance", test_model_optimizer.TWO),
    ("model-optimizer/acceptance", test_model_optimizer.result([1, 1, 2, 4, 3], flat=True)),
)


@pytest.mark.parametrize(("name", "value"), INPUTS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(INPUTS)])
def test_a_value_of_another_kind(name: str, value: Any) -> None:
    """Every place of the record, with every odd value in it."""
    for changed in twisted(value):
        with contextlib.suppress(InputError):
            imported(json.dumps(changed) + "\n", name)


def twisted(value: Any) -> Iterator[Any]:
    """The value with one place changed, for every place and odd value."""
    yield from ODD
    places: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in places:
        for changed in twisted(member):
            copy = value.copy()
            copy[key] = changed
            yield copy
