"""Ollama: the record of the MLX runner, and llama-server's lines in its log."""

from __future__ import annotations

from specdiag.importers.registry import importers
from tests.importers.common import imported, noted, register, tallies
from tests.importers.test_llama_log import FOURTH

NAME = "ollama/log"
HEAD = "time=2026-09-13T10:00:00.000Z level=DEBUG source=speculate.go:412 "
RECORD = (
    HEAD
    + 'msg="speculative decode stats" iterations=4 drafted=12 accepted=6 acceptance=0.50 avg_draft=3.00 max_draft=3 avg_accepted=1.50 '
    'depth_over_time="3.0/3 3.0/3"\n'
)
SHORT = HEAD + 'msg="speculative decode stats" iterations=4 drafted=12 accepted=6 acceptance=0.50 avg_draft=3.00\n'
SERVER = 'time=2026-09-13T10:00:00.000Z level=INFO source=server.go:400 msg="starting runner"\n' + FOURTH
register(NAME, RECORD)


def test_the_record_of_the_mlx_runner() -> None:
    """A, D and the iterations are counts; both rates are what was printed."""
    for text, length in ((RECORD, {"avg_accepted": "1.50"}), (SHORT, {})):
        tally = tallies(text, NAME)[0]
        assert (tally.rounds, tally.proposed, tally.accepted, tally.definitions) == (4, 12, 6, "ollama")
        assert tally.printed == {"acceptance": "0.50"} | length


def test_the_lines_of_llama_server() -> None:
    """What llama-server writes into Ollama's log is read as its own log is, and Ollama's own lines tell that it is hers."""
    assert [name for name, importer in importers().items() if importer.recognise(SERVER.encode())] == [NAME]
    assert [(t.window, t.rounds, t.reached) for t in tallies(SERVER, NAME)] == [
        ("request", 4, [3, 2, 1]),
        ("lifetime", 4, [3, 2, 1]),
    ]


def test_records_that_cannot_be() -> None:
    """More drafted than the iterations may hold, or a record that ends early."""
    bad = RECORD.replace("drafted=12", "drafted=13") + RECORD[:-60].replace("accepted=6", "accepted=") + "\n"
    notes = imported(bad + RECORD, NAME)[1]
    assert (len(noted(notes, "not_counts")), len(noted(notes, "report_unreadable"))) == (1, 1)
