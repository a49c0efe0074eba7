"""hf-bench: recognised, and refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from specdiag.errors import InputError
from specdiag.importers.registry import opened
from tests.importers.common import imported, refuse

TEXT = (
    "target,dataset_path,dataset_name,dataset_split,num_of_examples,drafter,temperature,example_id,new_toks,ttft_ms,tpot_ms,out_toks_per_sec\n"
    "org/verifier,org/data,data,test,2,,0,0,512,30.8,21.6,46.2\n"
    'org/verifier,org/data,data,test,2,"org/a, tuned",0,1,512,30.8,21.6,46.2\n'
)
SHARED = os.environ.get("SPECDIAG_SHARED_DATA", "")
refuse("hf-bench/csv", TEXT)


def test_speeds_are_no_acceptance() -> None:
    """The error says what the table has, and what would do."""
    with pytest.raises(InputError) as error:
        imported(TEXT, "hf-bench/csv")
    assert "speeds only, of 2 examples with 1 drafters" in str(error.value)


@pytest.mark.skipif(not SHARED, reason="SPECDIAG_SHARED_DATA names no folder")
def test_real_tables() -> None:
    """Both real tables are known without being told, and refused."""
    for path in sorted(Path(SHARED).glob("hfbench_*.csv")):
        name, stream = opened(str(path))
        assert name == "hf-bench/csv"
        with pytest.raises(InputError, match="speeds only, of 300 examples with 4 drafters"):
            list(stream)
