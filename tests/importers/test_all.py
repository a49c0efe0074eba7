"""What holds for every importer, over the clean inputs that their own tests register."""

from __future__ import annotations

import gzip
import random
from contextlib import suppress
from pathlib import Path

import pytest

from specdiag.errors import InputError
from specdiag.importers.registry import importers, opened
from specdiag.report import NATIVE
from tests.hostile.program import analyze
from tests.hostile.program import specdiag as run
from tests.importers.common import REFUSED, all_fixtures, damaged, imported, part_of, tallies, truncated

EVERY = all_fixtures()
over_all = pytest.mark.parametrize(("name", "text"), EVERY, ids=[f"{name}-{i}" for i, (name, _) in enumerate(EVERY)])


def test_every_importer_has_a_clean_input() -> None:
    """What is registered is tested."""
    assert {name for name, _ in EVERY} | set(REFUSED) == set(importers())


@over_all
def test_an_input_is_recognised_by_its_importer_alone(name: str, text: str) -> None:
    """A signature is unique."""
    assert [other for other, importer in importers().items() if importer.recognise(text.encode())] == [name]


def test_what_is_refused_is_recognised_by_the_importer_that_refuses_it() -> None:
    """An input that holds no counts at all ends in one error, whose advice says what would."""
    for name, texts in REFUSED.items():
        for text in texts:
            assert [other for other, importer in importers().items() if importer.recognise(text.encode())] == [name]
            with pytest.raises(InputError):
                imported(text, name)


@over_all
def test_a_log_and_the_trace_made_of_it_give_the_same_figures(name: str, text: str, tmp_path: Path) -> None:
    """`analyze INPUT` is `convert INPUT` and then `analyze`, for every format, without being told what it is."""
    source, trace = tmp_path / "input.txt", tmp_path / "trace.jsonl"
    source.write_text(text, encoding="utf-8")
    assert run("convert", str(source), "-o", str(trace)).code == 0
    direct, converted = analyze("--replicates", "0", str(source)), analyze("--replicates", "0", str(trace))
    assert direct.report["inputs"][0]["format"] == name
    for part in ("drafters", "rates", "fates", "requests"):
        assert direct.report[part] == converted.report[part]
    for face in ("console", "markdown"):
        assert run("analyze", "--replicates", "0", "--format", face, str(source)).code == 0


@over_all
@pytest.mark.parametrize("how", ["utf-16", "utf-8-sig", "crlf", "colour"])
def test_encodings_line_ends_and_colours_do_no_harm(how: str, name: str, text: str, tmp_path: Path) -> None:
    """The same counts come out of UTF-16, behind a byte order mark, with the line ends of Windows, and with coloured words."""
    old, new = {"colour": (" ", " \x1b[1;36m\x1b[0m"), "crlf": ("\n", "\r\n")}.get(how, ("", ""))
    changed = text.replace(old, new) if old else text
    source = tmp_path / "input"
    source.write_bytes(changed.encode(how if "utf" in how else "utf-8"))
    stream = opened(str(source), name)[1]
    assert b"".join(piece.data for piece in stream) == b"".join(
        piece.data for piece in opened(_plain(text, tmp_path), name)[1]
    )


def _plain(text: str, folder: Path) -> str:
    path = folder / "plain.gz"
    path.write_bytes(gzip.compress(text.encode()))
    return str(path)


@over_all
def test_damage_is_never_an_accident(name: str, text: str) -> None:
    """Random bytes and cuts give events, or one clear error: nothing else is raised."""
    for seed in range(40):
        for data in (damaged(text, seed), *(cut.encode() for cut in truncated(text, seed, 2))):
            with suppress(InputError):
                imported(data, name)


@over_all
def test_a_cut_makes_nothing_up(name: str, text: str) -> None:
    """What is left of an input that was cut off gives counts that the whole input gives, too, or notes that something is missing."""
    clean = tallies(text, name)
    for cut in truncated(text, 5, 60):
        for event in tallies(cut, name):
            assert any(part_of(event, whole) for whole in clean), cut[-200:]


@over_all
def test_a_foreign_input_is_an_error(name: str, text: str) -> None:
    """Under a format that it is not, an input gives no figure of another engine."""
    other = random.Random(name).choice([o for o in importers() if o.split("/")[0] != name.split("/")[0]] or [name])
    if other != name:
        with pytest.raises(InputError):
            imported(text, other)


def test_our_own_traces_are_recognised_by_none() -> None:
    """A trace is a trace."""
    from tests.conftest import TRACES

    for path in sorted(TRACES.glob("*.jsonl*")):
        assert opened(str(path))[0] == NATIVE
