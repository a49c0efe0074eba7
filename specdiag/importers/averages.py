"""An average that a file prints for many requests, against their pooled counts: means over requests and sums over rounds differ by nature."""

from __future__ import annotations

from collections.abc import Iterator

from specdiag.engines.catalogue import ENGINES
from specdiag.engines.definitions import Counts, Ratio
from specdiag.engines.printed import parsed
from specdiag.importers.interface import Trouble


def mean_of_means(line: int, definitions: str, printed: dict[str, str], counts: Counts) -> Iterator[Trouble]:
    """Each printed mean over requests that is not what all rounds together give, with both values and their definitions."""
    for figure in ENGINES[definitions].figures:
        said, ratio = parsed(printed.get(figure.name, "")), figure.of(counts)
        if figure.per != "request" or said is None or not isinstance(ratio, Ratio) or said.is_(ratio):
            continue
        pooled = f"{float(ratio.value):.2%}" if figure.unit else f"{float(ratio.value):.4g}"
        over = f"over {counts.n} requests, each with its own ratio" if counts.n else "over requests"
        yield Trouble(
            line,
            "printed_differs",
            f"{figure.name} {printed[figure.name]} printed, a mean of means ({over}); {pooled} over all rounds by "
            f"({figure.top}) / ({figure.bottom}) = {ratio.numerator} / {ratio.denominator}",
        )
