"""A trace is untrusted: its strings, and the names of files, do nothing wherever they are shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from tests import build
from tests.hostile.program import FACES, line, specdiag, write

COMMANDS = re.compile(r"::|##\[|##vso|\x1b")
PAYLOADS = {
    "escapes": "\x1b]0;title\x07\x1b[2J\x1b[31mred\x9b31m",
    "rich markup": "[red]x[/red] [link=http://x.example]y[/link] [/]",
    "HTML": "<script>alert(1)</script><img src=x onerror=y>&lt;",
    "workflow commands": "::error file=a::b\n::set-output name=x::y\n##[error]z\n##vso[task.complete]",
    "line ends": "a\nb\rc\u2028d\x85e\x0bf\x0cg\0h",
    "direction": "\u202egpj.exe\u2066x\u200b\ufeff",
    "markdown": "![x](http://x.example) `code` | a | b |\n# head\n- *item* @somebody #1 $x$ https://x.example",
    "accents": "e" + "\u0301" * 60,
    "formats": "%s {0} {x!r} \\N{BEL} %0A${HOME} $(id) `id`",
}


def hostile(text: str) -> build.Events:
    """A trace with this text in every string that it may hold."""
    other = text + "2"
    drafters = [
        {"id": text, "model": text, "kind": text, "tokenizer": text},
        {"id": other, "tokenizer": other, "temperature": 1},
    ]
    where: dict[str, Any] = {"request": text, "branch": text, "step": text, "source": text}
    head = build.header(
        trace_id=text,
        engine={"name": text, "version": text},
        recorder={"name": text},
        verification={"rule": text},
        verifier={"id": text, "tokenizer": text},
        tokenizers={text: {"fingerprint": text}},
        labels={text: text},
        drafters=drafters,
    )
    return [
        head,
        head | {"trace_id": other, "verification": {"rule": other}},
        build.block(text, text, context_digest=text, **where) | {"new": text},
        build.block("q", other, parent=text, start=4, **where),
        build.block("z", other + "3", parent="gone" + text, round=1, **where),
        build.verdict(text, 4, request=text, stop=text, next={"token": 1, "kind": text}),
        build.verdict("q", 9, request=text),
        build.verdict("gone" + text, 1, request=text),
        {"type": text, "text": text},
        {"type": "note", "text": text},
        {"type": "consensus", "request": text, "step": text, "quorum": 1, "outcome": "agreed"},
        {"type": "effect", "request": text, "step": text, "branch": text, "key": text, "action": "stage"},
        {"type": "tally", "drafter": text, "window": "interval", "rounds": 5, "proposed": 9, "accepted": 5},
    ]


def harmless(text: str) -> None:
    """No command of a build machine begins in these lines."""
    for each in text.splitlines():
        assert not COMMANDS.search(each), each


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("face", FACES)
def test_strings_of_a_trace_do_nothing(face: str, name: str, tmp_path: Path) -> None:
    """Every string of the trace is shown as plain characters in every face."""
    file = write(tmp_path / "t.jsonl", hostile(PAYLOADS[name]))
    done = specdiag("analyze", "--format", face, "--by", "drafter,branch,label", file)
    assert done.code == 0
    harmless(done.out + done.err)
    if face == "markdown":
        tokens = MarkdownIt("commonmark").enable("table").parse(done.out)
        kinds = {t.type for token in tokens for t in (token, *(token.children or []))}
        assert not kinds & {"link_open", "image"}
        html = [t.content for token in tokens for t in (token, *(token.children or [])) if t.type.startswith("html")]
        assert all(re.fullmatch(r"(</?(br|details|summary|sub)>|[\w ,]|\s)*", each) for each in html), html


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("command", [("validate",), ("analyze", "--strict")])
def test_strings_of_a_trace_do_nothing_in_messages(command: tuple[str, ...], name: str, tmp_path: Path) -> None:
    """Nor do they in the list of `validate` and in the error of strict mode, where they cannot begin a line either."""
    file = write(tmp_path / "t.jsonl", hostile(PAYLOADS[name]))
    done = specdiag(*command, file)
    assert done.code == 2
    harmless(done.out + done.err)
    own = ("specdiag: ", f"  {file}:", "problem: ", "info: ", "  and ", "  Each ")
    advice = [each for each in done.err.splitlines() if "With --lenient" in each]
    assert len(advice) == (command[0] == "analyze")
    for each in (done.out + done.err).splitlines():
        assert each in advice or each.startswith(own), each


@pytest.mark.parametrize("name", PAYLOADS)
def test_broken_lines_do_nothing(name: str, tmp_path: Path) -> None:
    """Nor do the bytes of a line that is no event."""
    text = PAYLOADS[name]
    raw = text.replace("\n", " ").encode()
    bad = [
        raw,
        b'{"type": "note", "' + raw + b'": ',
        line({"type": "proposal", "id": text}),
        line({"type": ["x", text]}),
    ]
    for each in bad:
        file = write(tmp_path / "t.jsonl", build.rounds(3), each + b"\n")
        for done in (specdiag("analyze", file), specdiag("analyze", "--strict", file), specdiag("validate", file)):
            harmless(done.out + done.err)


@pytest.mark.parametrize("name", [n for n in PAYLOADS if n != "accents"])
def test_names_of_files_do_nothing(name: str, tmp_path: Path) -> None:
    """Nor does the name of a file: in every face, in errors, and where there is no such file."""
    text = PAYLOADS[name].replace("/", "\u2215").replace("\0", "")
    file = write(tmp_path / f"{text}.jsonl", build.rounds(3))
    for face in FACES:
        done = specdiag("analyze", "--format", face, file)
        assert done.code == 0
        harmless(done.out + done.err)
    Path(file).write_bytes(b"garbage\n")
    for arguments in (("analyze", file), ("analyze", "--strict", file), ("validate", file), ("analyze", file + "x")):
        done = specdiag(*arguments)
        assert done.code == 2
        harmless(done.out + done.err)
        assert done.err.startswith("specdiag: error: ")
        assert len(done.err.splitlines()) == 2, done.err


def test_a_file_name_that_is_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name in another encoding is shown with its bytes as escapes."""
    monkeypatch.chdir(tmp_path)
    with open(b"caf\xe9.jsonl", "wb") as out:
        out.write(build.lines(build.rounds(3)).encode())
    for face in FACES:
        assert "udce9.jsonl" in specdiag("analyze", "--format", face, "caf\udce9.jsonl").out
    assert "caf\\udce9.json: no such file" in specdiag("analyze", "caf\udce9.json").err
