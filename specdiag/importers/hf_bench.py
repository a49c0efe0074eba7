"""hf-bench: a table of speeds, which says nothing of acceptance. It is recognised, so that the error can say so.

Source: keyboardAnt/hf-bench; one row an example, with the tokens and the times of its output.
"""

from __future__ import annotations

from collections.abc import Iterator

from specdiag.errors import InputError, shown
from specdiag.importers.interface import Importer, Output, Trouble
from specdiag.importers.source import Source
from specdiag.importers.tables import table

_COLUMNS = ("target", "drafter", "example_id", "new_toks", "tpot_ms", "out_toks_per_sec")


def read(source: Source) -> Iterator[Output]:
    """Nothing: an error that says why."""
    rows, drafters = 0, dict[str, None]()
    for row in table(source, *_COLUMNS):
        if isinstance(row, Trouble):
            yield row
            continue
        rows += 1
        if row.fields["drafter"] and len(drafters) < 100:
            drafters[row.fields["drafter"]] = None
    raise InputError(
        f"{shown(source.name)}: speeds only, of {rows:,} examples with {len(drafters)} drafters: neither rounds nor accepted tokens",
        "hf-bench measures time. Record the acceptance of the same drafters with a recorder (`specdiag record`), or take the log of an engine.",
    )


IMPORTERS = (
    Importer(
        name="hf-bench/csv",
        reads="result tables of hf-bench",
        carries="nothing: it is refused, with the reason",
        lacks="everything but speeds",
        recognise=lambda head: all(name.encode() in head for name in _COLUMNS) and b",drafter,temperature," in head,
        read=read,
    ),
)
