"""Inputs that are no proper file of lines: empty, cut, compressed twice, in another encoding, a pipe, a device, or gone."""

from __future__ import annotations

import gzip
import os
import re
import sys
import threading
import zipfile
from pathlib import Path

import pytest

import specdiag
from specdiag.errors import SpecdiagError
from specdiag.trace import sources
from tests import build
from tests.hostile.program import GOOD, analyze, fates, joined, within, write
from tests.hostile.program import specdiag as run

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DATA = joined(GOOD)
ALONE = {"proposed": 160, "submitted": 160, "judged": 120, "accepted": 80, "rejected": 40}


def counted(*arguments: str, stdin: bytes = b"") -> bool:
    """Whether the good trace was counted in full."""
    return fates(analyze(*arguments, stdin=stdin)).items() >= ALONE.items()


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n \n\t\n", b"\xef\xbb\xbf", b"\xff\xfe", b"garbage\n", b"\0" * 999])
def test_no_event_is_an_error(data: bytes, tmp_path: Path) -> None:
    """Where no event was read there is no report, in any face, from a file or from standard input."""
    file = write(tmp_path / "t.jsonl", data)
    for face in ("console", "json", "markdown"):
        done = run("analyze", "--format", face, file)
        assert (done.code, done.out) == (2, "")
        assert f"{file}: no event was read" in done.err
    assert run("analyze", "-", stdin=data).code == 2
    assert run("validate", file).code == 2


NOTE = {"type": "note", "text": "hello"}


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([build.header()], "events read: 1 trace"),
        ([build.header(), NOTE, NOTE], "events read: 2 note, 1 trace"),
        ([NOTE, {"type": "strange"}], "events read: 1 note, 1 strange"),
    ],
)
def test_nothing_that_a_report_could_rest_on(events: build.Events, said: str, tmp_path: Path) -> None:
    """A header, notes and events of unknown types give no report either: the error says what was read, and from where."""
    file = write(tmp_path / "t.jsonl", events)
    for command in ("analyze", "validate"):
        done = run(command, file)
        assert (done.code, done.out) == (2, "")
        assert f"{file}: {said}" in done.err
    good = write(tmp_path / "u.jsonl", GOOD)
    assert run("analyze", file, good).code == 0


def test_the_first_line_that_could_not_be_read_is_named(tmp_path: Path) -> None:
    """Where no event could be read the error gives file and line of the first problem, and no more than a few files."""
    files = [write(tmp_path / f"{i}.jsonl", b"\n" * i) for i in range(20)]
    bad = write(tmp_path / "bad.jsonl", b"\n\nhello\n{}\n")
    done = run("analyze", *files, bad)
    assert done.code == 2
    assert f"first problem: {bad}:3: line is not JSON" in done.err
    assert len(done.err.splitlines()) < 12


def test_missing_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file, a glob without a match, an empty folder and an empty argument are each one clear error."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write(tmp_path / "here" / "t.jsonl", DATA)
    for name in (str(tmp_path / "no.jsonl"), str(tmp_path / "*.jsonl"), str(tmp_path / "empty"), ""):
        done = run("analyze", name)
        assert (done.code, done.out) == (2, "")
        assert len(done.err.splitlines()) == 2


def test_folder_and_glob(tmp_path: Path) -> None:
    """A folder is searched for traces, however they are compressed; a glob may match folders."""
    (tmp_path / "a" / "deep").mkdir(parents=True)
    write(tmp_path / "a" / "deep" / "x.jsonl", DATA)
    (tmp_path / "a" / "y.jsonl.gz").write_bytes(gzip.compress(DATA))
    (tmp_path / "a" / "z.jsonl.zst").write_bytes(zstd.compress(DATA))
    (tmp_path / "a" / "notes.txt").write_text("not a trace")
    for argument in (str(tmp_path / "a"), str(tmp_path / "*")):
        assert len(analyze(argument).report["inputs"]) == 3


def test_a_glob_passes_over_folders_without_traces(tmp_path: Path) -> None:
    """A folder without a trace among the matches of a glob does not cost the others."""
    write(tmp_path / "x.jsonl", DATA)
    (tmp_path / "__pycache__").mkdir()
    assert counted(str(tmp_path / "*"))


@pytest.mark.parametrize("cut", [1, 2, 9, 10, 11, 100, -400, -9, -8, -4, -1])
def test_gzip_that_ends_early(cut: int, tmp_path: Path) -> None:
    """What could be unpacked counts; that more is missing is a problem, told at the end of what was read."""
    file = tmp_path / "t.jsonl.gz"
    file.write_bytes(gzip.compress(DATA * 3)[:cut])
    done = analyze(str(file))
    if done.code == 0:
        note = done.notes["truncated_stream"]
        assert note["places"][0]["line"] >= done.report["inputs"][0]["lines"] > 0
    else:
        assert "no event was read" in done.err
    assert run("analyze", "--strict", str(file)).code == 2
    assert run("validate", str(file)).code == 2


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("at", [4, 12, 0.3, 0.6, -6, -2])
def test_compressed_bytes_changed(kind: str, at: float, tmp_path: Path) -> None:
    """A flipped byte in a compressed file is a note or an error, never a traceback."""
    data = bytearray(gzip.compress(DATA) if kind == "gz" else zstd.compress(DATA))
    data[int(at * len(data)) if isinstance(at, float) else at] ^= 0x55
    file = tmp_path / f"t.jsonl.{kind}"
    file.write_bytes(data)
    for strict in ("--lenient", "--strict"):
        run("analyze", strict, str(file))


def test_gzip_in_pieces(tmp_path: Path) -> None:
    """Members one after the other are one stream; garbage behind them is a problem and costs nothing."""
    halves = gzip.compress(DATA[:777]) + gzip.compress(b"") + gzip.compress(DATA[777:])
    (tmp_path / "a.gz").write_bytes(halves)
    assert counted(str(tmp_path / "a.gz"))
    (tmp_path / "b.gz").write_bytes(halves + b"garbage")
    done = analyze(str(tmp_path / "b.gz"))
    assert done.notes["corrupt_stream"]["count"] == 1
    assert fates(done).items() >= ALONE.items()


def test_a_zstd_window_beyond_what_is_read(tmp_path: Path) -> None:
    """A stream that asks for a window of 256 MiB is not called corrupt; the message says what to do."""
    packed = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 28})
    large = packed.compress(DATA) + packed.flush()
    (tmp_path / "a.zst").write_bytes(large)
    done = run("analyze", str(tmp_path / "a.zst"))
    assert done.code == 2
    assert "a.zst:1: zstd stream with a window above 128 MiB" in done.err
    assert "zstd -d --long=31" in done.err
    (tmp_path / "b.zst").write_bytes(zstd.compress(DATA) + large)
    assert analyze(str(tmp_path / "b.zst")).notes.keys() >= {"large_window"}
    assert counted(str(tmp_path / "b.zst"))


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_stream_that_expands_a_thousandfold(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bomb is read piece by piece: no piece is larger than a segment and a line."""
    monkeypatch.setattr(sources, "MAX_LINE", 1 << 20)
    bomb = joined(GOOD, b" " * (30 << 20), b"\n", [build.header(trace_id="u")])
    file = tmp_path / f"t.jsonl.{kind}"
    file.write_bytes(gzip.compress(bomb) if kind == "gz" else zstd.compress(bomb))
    assert len(bomb) > 900 * file.stat().st_size
    sizes = [len(piece.data) for piece in sources.pieces(str(file))]
    assert max(sizes) <= sources.SEGMENT + (1 << 20)
    assert counted(str(file))


def test_zip_and_other_binaries(tmp_path: Path) -> None:
    """A zip archive or a program is no trace: an error, and no noise."""
    with zipfile.ZipFile(tmp_path / "t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.jsonl", DATA)
    for file in (str(tmp_path / "t.zip"), sys.executable):
        done = run("analyze", file)
        assert done.code == 2
        assert len(done.err) < 1000


ENCODINGS = {
    "utf-8 with a mark": b"\xef\xbb\xbf" + DATA,
    "utf-16 with a mark": DATA.decode().encode("utf-16"),
    "utf-16-le": DATA.decode().encode("utf-16-le"),
    "utf-16-be": DATA.decode().encode("utf-16-be"),
    "utf-16-be with a mark": "\ufeff".encode("utf-16-be") + DATA.decode().encode("utf-16-be"),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_encodings(name: str, tmp_path: Path) -> None:
    """A byte order mark or UTF-16 is read and noted, from a file, from a pipe and compressed."""
    data = ENCODINGS[name]
    file = write(tmp_path / "t.jsonl", data)
    packed = tmp_path / "t.jsonl.gz"
    packed.write_bytes(gzip.compress(data))
    for done in (analyze(file), analyze("-", stdin=data), analyze(str(packed))):
        assert fates(done).items() >= ALONE.items()
        assert {"byte_order_mark", "utf_16"} & set(done.notes)


def test_encodings_that_come_in_small_pieces(tmp_path: Path) -> None:
    """How many bytes the first read gives does not decide whether the encoding is seen."""
    for data in ENCODINGS.values():
        file = tmp_path / "t.gz"
        file.write_bytes(gzip.compress(data[:1]) + gzip.compress(data[1:]))
        assert counted(str(file))


def test_files_joined_with_their_marks(tmp_path: Path) -> None:
    """A mark in the middle, where two files were joined, is noted, and its line counts."""
    other = build.lines(GOOD).replace('"r', '"s').replace('"p', '"o').encode()
    done = analyze(write(tmp_path / "t.jsonl", b"\xef\xbb\xbf", DATA, b"\xef\xbb\xbf", other))
    assert done.notes["byte_order_mark"]["count"] == 2


@pytest.mark.parametrize("ending", [b"\r\n", b"\r", b"\n\n", b" \t \n", b"\n\r"])
def test_line_ends(ending: bytes, tmp_path: Path) -> None:
    """Other ends of lines do not change a figure."""
    assert counted(write(tmp_path / "t.jsonl", DATA.replace(b"\n", ending)))


def test_a_file_padded_with_nul(tmp_path: Path) -> None:
    """A file that a crash left with zeros at its end counts up to them."""
    done = analyze(write(tmp_path / "t.jsonl", DATA, b"\0" * 100_000))
    assert fates(done).items() >= ALONE.items()
    assert [place["line"] for note in done.report["integrity"] for place in note["places"]] == [len(GOOD) + 1]


def test_a_sparse_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hole of 64 MB behind the trace is one line that is too long."""
    monkeypatch.setattr(sources, "MAX_LINE", 1 << 20)
    file = write(tmp_path / "t.jsonl", DATA)
    os.truncate(file, 64 << 20)
    assert "too_long" in analyze(file).notes


def test_a_named_pipe(tmp_path: Path) -> None:
    """A named pipe, as the shell's `<(…)` makes it, is read as standard input is."""
    for data in (DATA, gzip.compress(DATA)):
        pipe = tmp_path / f"pipe{len(data)}"
        os.mkfifo(pipe)
        writer = threading.Thread(target=lambda pipe=pipe, data=data: pipe.write_bytes(data), daemon=True)
        writer.start()
        with within(5):
            assert counted(str(pipe))
        writer.join(5)


def test_devices(tmp_path: Path) -> None:
    """A device without data is an empty input."""
    done = run("analyze", "/dev/null")
    assert done.code == 2
    assert "no event was read" in done.err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_file_that_shrinks(jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that a log rotation cuts while it is read ends the reading; it never hangs."""
    file = write(tmp_path / "t.jsonl", DATA * 20)
    monkeypatch.setattr(sources, "SEGMENT", 4000)
    cut = threading.Event()

    def shrink(size: int) -> None:
        if not cut.is_set():
            cut.set()
            os.truncate(file, 6000)

    with within(2):
        try:
            specdiag.analyze(file, specdiag.Options(jobs=int(jobs), replicates=0), progress=shrink)
        except SpecdiagError as error:
            assert file in str(error)  # noqa: PT017
    assert cut.is_set()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_file_that_goes_away(jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is deleted while it is read is an error of ours, which names it."""
    file = write(tmp_path / "t.jsonl", DATA * 20)
    monkeypatch.setattr(sources, "SEGMENT", 4000)
    with pytest.raises(SpecdiagError, match=re.escape(file)):
        specdiag.analyze(
            file, specdiag.Options(jobs=int(jobs), replicates=0), progress=lambda _: Path(file).unlink(missing_ok=True)
        )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    """A file without permission is one clear error."""
    file = write(tmp_path / "t.jsonl", DATA)
    os.chmod(file, 0)
    done = run("analyze", file)
    assert done.code == 2
    assert "Permission denied" in done.err
    assert len(done.err.splitlines()) == 2


def test_several_inputs_of_which_one_is_missing(tmp_path: Path) -> None:
    """One input that cannot be opened ends the run before a report is written."""
    done = run("analyze", write(tmp_path / "t.jsonl", DATA), str(tmp_path / "no.jsonl"))
    assert (done.code, done.out) == (2, "")


def test_the_same_file_twice(tmp_path: Path) -> None:
    """The same file is read once; a copy is read, and said to hold the same evidence."""
    file, copy = write(tmp_path / "t.jsonl", DATA), write(tmp_path / "u.jsonl", DATA)
    assert len(analyze(file, file).report["inputs"]) == 1
    assert "same_evidence" in analyze(file, copy).notes


def test_events_are_read_with_the_same_care(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`specdiag.read` does not pass over a cut stream or an endless line, and keeps the numbers of the lines."""
    packed = tmp_path / "t.jsonl.gz"
    packed.write_bytes(gzip.compress(DATA)[:-8])
    with pytest.raises(SpecdiagError):
        list(specdiag.read(str(packed)))
    monkeypatch.setattr(sources, "MAX_LINE", 20_000)
    monkeypatch.setattr(sources, "SEGMENT", 5_000)
    file = write(tmp_path / "t.jsonl", GOOD[:1], b"a" * 100_000, b"\n", GOOD[1:2])
    with pytest.raises(SpecdiagError):
        list(specdiag.read(file))
    assert [event.number for event in specdiag.read(file, strict=False)] == [1, 3]


def test_unknown_types_and_fields_survive_a_rewrite(tmp_path: Path) -> None:
    """Reading and writing back loses nothing, however many types and fields are unknown, also of lines that are mended."""
    import json

    events = [{"type": f"new{i}", "ts": "noon", "v": {"a": [i]}} for i in range(400)]
    file = write(tmp_path / "t.jsonl", b"\xef\xbb\xbf", events)
    back = [json.loads(event.rewritten(seen=True)) for event in specdiag.read(file, strict=False)]
    assert back == [event | {"seen": True} for event in events]
