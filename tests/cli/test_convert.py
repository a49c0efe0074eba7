"""`specdiag convert`, and `analyze` on what an engine wrote."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests import build
from tests.hostile.program import ACTS, analyze
from tests.hostile.program import specdiag as run

LOG = """\
INFO:     Metrics (ID: a): 20 tokens generated in 2 seconds, Draft: 6 / 12 tokens accepted (50.00%)
INFO:     Metrics (ID: b): 30 tokens generated in 2 seconds, Draft: 1 / 12 tokens accepted (8.33%)
"""
TORN = LOG + "INFO:     Metrics (ID: c): Draft: 3 / 12 tokens accepted (25.\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of a server."""
    path = tmp_path / "server.log"
    path.write_text(LOG)
    return path


def events(text: str) -> list[dict[str, Any]]:
    """The events of a trace."""
    return [json.loads(line) for line in text.splitlines()]


def test_the_trace_goes_to_standard_output_and_the_summary_beside_it(log: Path) -> None:
    """A header that says what was imported, then the counts with the lines that they stood on."""
    done = run("convert", str(log))
    header, *tallies = events(done.out)
    assert header["schema"] == "specdiag/1"
    assert header["labels"] == {"imported": "exllama/tabby-log"}
    assert [(t["accepted"], t["proposed"], t["line"]) for t in tallies] == [(6, 12, 1), (1, 12, 2)]
    assert done.err == f"specdiag: {log}: exllama/tabby-log, 3 events\n"


@pytest.mark.parametrize("given", [[], ["--from", "exllama"], ["--from", "exllama/tabby-log"]])
def test_a_log_and_the_trace_made_of_it_give_the_same_figures(given: list[str], log: Path, tmp_path: Path) -> None:
    """`analyze LOG` is `convert LOG` and then `analyze`; the report names the format that was chosen."""
    trace = tmp_path / "trace.jsonl"
    assert run("convert", *given, str(log), "-o", str(trace)).code == 0
    direct, converted = (analyze(*arguments).report for arguments in ([*given, str(log)], [str(trace)]))
    assert direct["inputs"][0]["format"] == "exllama/tabby-log"
    assert (direct["inputs"][0]["bytes"], direct["inputs"][0]["lines"]) == (len(LOG), 2)
    assert converted["inputs"][0]["format"] == "specdiag"
    for report in (direct, converted):
        del report["inputs"]
    assert direct == converted
    assert direct["drafters"][0]["engine_counts"]["engine_draft_acceptance"]["numerator"] == 7
    assert "read as exllama/tabby-log" in run("analyze", str(log)).out


def test_the_report_is_the_same_for_any_number_of_jobs(log: Path) -> None:
    """Importing is done by one process, counting by any number."""
    log.write_text(TORN * 200)
    one, three = (run("analyze", "--format", "json", "--jobs", jobs, str(log)) for jobs in ("1", "3"))
    assert one.out == three.out
    assert json.loads(one.out)["inputs"][0]["lines"] == 600


def test_places_are_those_of_the_log(log: Path) -> None:
    """What could not be read is told with its line in the log, by `convert` and by `analyze`; strict reading ends there."""
    log.write_text(TORN)
    done = run("convert", str(log))
    assert "line of an engine that is torn, interleaved or of an unknown layout (1), line 3" in done.err
    note = analyze(str(log)).notes["report_unreadable"]
    assert (note["count"], note["places"][0]["line"]) == (1, 3)
    strict = run("analyze", "--strict", str(log))
    assert (strict.code, strict.out) == (2, "")
    assert f"{log}:3:" in strict.err


def test_a_drafter_gets_the_name_that_is_given(log: Path) -> None:
    """Where the engine has no name for its drafter, `--drafter` gives one, in the header and in every event."""
    header, *tallies = events(run("convert", str(log), "--drafter", "code").out)
    assert [header["drafters"][0]["id"], *(tally["drafter"] for tally in tallies)] == ["code"] * 3


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".jsonl.zst"])
def test_the_output_is_written_whole(suffix: str, log: Path, tmp_path: Path) -> None:
    """Plain or compressed by its name; where the input fails, what stood there stays."""
    trace = tmp_path / f"t{suffix}"
    assert run("convert", str(log), "-o", str(trace), "-q").err == ""
    assert analyze(str(trace)).report["inputs"][0]["events"] == {"tally": 2, "trace": 1}
    before = trace.read_bytes()
    log.write_text("the model could not be loaded\n")
    done = run("convert", "--from", "exllama", str(log), "-o", str(trace))
    assert done.code == 2
    assert trace.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"server.log", trace.name}


@pytest.mark.parametrize("how", ["utf-8-sig", "utf-16", "gzip", "crlf", "colour"])
def test_encodings_and_colours_do_no_harm(how: str, log: Path) -> None:
    """Byte order marks, UTF-16, compression, line ends and colours are taken off."""
    plain = LOG.replace("INFO:", "\x1b[32mINFO\x1b[0m:") if how == "colour" else LOG
    plain = LOG.replace("\n", "\r\n") if how == "crlf" else plain
    log.write_bytes(gzip.compress(LOG.encode()) if how == "gzip" else plain.encode(how if "utf" in how else "utf-8"))
    assert [event.get("accepted") for event in events(run("convert", str(log)).out)] == [None, 6, 1]


def test_standard_input_is_read_as_a_file_is(log: Path) -> None:
    """`-` is recognised by what comes out of it."""
    done = run("convert", "-", stdin=LOG.encode())
    assert done.out == run("convert", str(log)).out
    assert "standard input: exllama/tabby-log" in done.err


def test_a_failed_run_is_an_error_that_shows_what_it_says(log: Path) -> None:
    """Without a figure there is no trace and no report; the error shows the first line, inert, and what can be read."""
    log.write_text("timeout: failed to run \x1b[31m‘x’\x07\u202e\nmore\n")
    for arguments in (["analyze"], ["convert"], ["convert", "--from", "exllama"]):
        done = run(*arguments, str(log))
        assert (done.code, done.out) == (2, "")
        assert "timeout: failed to run" in done.err
        assert not ACTS.search(done.err)


def test_unknown_and_unfit_formats_are_usage_errors(log: Path, tmp_path: Path) -> None:
    """A format that does not exist is named with those that do; a trace is none that convert makes."""
    done = run("convert", "--from", "nothing", str(log))
    assert done.code == 2
    assert "exllama/tabby-log" in done.err
    trace = tmp_path / "t.jsonl"
    trace.write_text(build.lines(build.rounds(3)))
    assert "a trace already" in run("convert", str(trace)).err
    other = tmp_path / "o.jsonl"
    other.write_text('{"ev": "request", "rid": 0}\n')
    done = run("convert", str(other))
    assert done.code == 2
    assert 'neither a trace nor a log or result file that an importer recognises; it begins: {"ev"' in done.err
    assert (
        "$.type: field is missing or of the wrong type (expected a string, got nothing)"
        in run("analyze", str(other)).err
    )
    assert run("convert").code == 2
    assert "replace its own input" in run("convert", str(log), "-o", str(log)).err
    assert run("analyze", "--from", "specdiag", str(log)).code == 2


def test_a_trace_is_a_trace_whatever_its_texts_say(tmp_path: Path) -> None:
    """What is written in a note does not make a log of a trace."""
    trace = tmp_path / "t.jsonl"
    events = [build.header(), {"type": "note", "text": LOG}, *build.rounds(3)[1:]]
    trace.write_text(build.lines(events))
    assert analyze(str(trace)).report["inputs"][0]["format"] == "specdiag"


def test_every_format_is_listed() -> None:
    """`--formats` lists what can be read."""
    done = run("convert", "--formats")
    assert done.code == 0
    assert "exllama/tabby-log" in done.out


def test_a_place_that_cannot_be_written_to_is_named(log: Path, tmp_path: Path) -> None:
    """The error names the file that was asked for, and leaves nothing."""
    done = run("convert", str(log), "-o", str(tmp_path / "missing" / "t.jsonl"))
    assert done.code == 2
    assert f"{tmp_path / 'missing' / 't.jsonl'}: No such file or directory" in done.err


def test_names_from_a_log_do_nothing_to_a_terminal(tmp_path: Path) -> None:
    """What a terminal acts on is escaped in the trace on standard output, which says the same."""
    path = tmp_path / "stats.jsonl"
    counts = {"totalDraftTokensCount": 2, "acceptedDraftTokensCount": 1, "rejectedDraftTokensCount": 1}
    path.write_text(json.dumps({"usedDraftModelKey": "a\u202eb\U000e0041c", **counts}, ensure_ascii=False))
    done = run("convert", str(path))
    assert not ACTS.search(done.out)
    assert events(done.out)[1]["drafter"] == "a\u202eb\U000e0041c"


def test_one_log_under_two_names_is_noted(log: Path, tmp_path: Path) -> None:
    """Counts that are the same twice are the same evidence, and both are counted."""
    other = tmp_path / "copy.log"
    other.write_text(LOG)
    assert "same_evidence" in analyze(str(log), str(other)).notes
    other.write_text(LOG.replace("6 / 12 tokens accepted (50.00%)", "3 / 12 tokens accepted (25.00%)"))
    assert "same_evidence" not in analyze(str(log), str(other)).notes
