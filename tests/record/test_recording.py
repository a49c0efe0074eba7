"""What `specdiag record` writes: a trace that the analysis reads without a problem, and whose every verdict can be computed again."""

from __future__ import annotations

import errno
import gzip
import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from specdiag.analysis import analyze
from specdiag.errors import InputError, MissingExtra, SpecdiagError, UsageError
from specdiag.record.backends import hf_tokenizer
from specdiag.record.vocabulary import joined
from specdiag.summary import Options
from specdiag.trace.recorder import Recorder
from tests.compare import differences
from tests.record.conftest import FAR, LOOKUP, NEAR, VERIFIER, WRITTEN, Record, events

ARRANGEMENTS: list[dict[str, Any]] = [
    {},
    {"partition": True},
    {"alone_every": 2},
    {"topology": "turns"},
    {"topology": "shadow"},
    {"topology": "branches"},
    {"topology": "branches", "quorum": 2},
    {"rule": "exact_match"},
    {"rule": "greedy"},
    {"rule": "greedy", "topology": "shadow"},
]


@pytest.mark.parametrize("options", ARRANGEMENTS, ids=str)
def test_a_recording_is_a_clean_trace(record: Record, options: dict[str, Any]) -> None:
    """Read strictly there is no problem and no note, every figure is the plain reference's, and every verdict recomputes."""
    path = record(**options)
    report = analyze(str(path), Options(strict=True, replicates=0))
    assert [item.code for item in report.integrity] == []
    assert differences(report, events(path)) == []
    recomputed = report.rates["verdicts_recomputed"]
    if options.get("rule", "rejection") == "rejection":
        assert recomputed.numerator == recomputed.denominator
        assert recomputed.denominator


@pytest.mark.parametrize("options", [options for options in ARRANGEMENTS if "quorum" not in options], ids=str)
def test_starts_count_the_output(record: Record, options: dict[str, Any]) -> None:
    """On each branch the first block of a round starts where the tokens committed before it end."""
    rounds: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    found = events(record(**options))
    verdicts = {event["proposal"]: event for event in found if event["type"] == "verdict"}
    gained: dict[tuple[str, str, int], int] = defaultdict(int)
    for event in (event for event in found if event["type"] == "proposal"):
        verdict = verdicts[event["id"]]
        place = (event["request"], event.get("branch", "main"))
        if event.get("parent") is None:
            rounds[place].append((event["round"], event["start"]))
        kept = verdict.get("committed", verdict["accepted"])
        if verdict.get("stop") != "branch_lost":
            gained[(*place, event["round"])] += kept + ("next" in verdict)
    for place, begun in rounds.items():
        at = begun[0][1]
        for number in range(begun[-1][0] + 1):
            assert {start for round, start in begun if round == number} == {at}
            at += gained[(*place, number)]
        assert at - begun[0][1] == 24


def test_the_same_command_writes_the_same_bytes(record: Record) -> None:
    """Without times nothing in a trace depends on anything but the command; another seed gives another trace."""
    first, second = record("a.jsonl").read_bytes(), record("b.jsonl").read_bytes()
    assert first == second
    other = record("c.jsonl", seed=1)
    assert other.read_bytes() != first
    assert events(other)[0]["trace_id"] != events(record("d.jsonl"))[0]["trace_id"]


def test_times_change_nothing_else(record: Record) -> None:
    """With times the same trace has milliseconds for each block and once a round for its verification."""
    plain, timed = events(record("a.jsonl")), events(record("b.jsonl", times=True))
    rounds = {(event["request"], event["round"]) for event in timed if event["type"] == "verdict"}
    assert sum("ms" in event for event in timed if event["type"] == "verdict") == len(rounds)
    assert all(event.pop("ms") >= 0 for event in timed if event["type"] == "proposal")
    for event in timed:
        event.pop("ms", None)
    assert timed == plain


def test_a_recording_over_an_older_one_replaces_it(record: Record) -> None:
    """The output is one trace, not one behind another."""
    record()
    assert sum(event["type"] == "trace" for event in events(record(seed=2))) == 1


def test_a_partition_keeps_tokenizers_apart(record: Record) -> None:
    """No block extends one of another tokenizer; without a partition some do."""
    for partition in (True, False):
        found = events(record(f"{partition}.jsonl", partition=partition))
        tokenizer = {drafter["id"]: drafter["tokenizer"] for drafter in found[0]["drafters"]}
        author = {event["id"]: event["drafter"] for event in found if event["type"] == "proposal"}
        crossings = [
            event
            for event in found
            if event.get("parent") and tokenizer[author[event["parent"]]] != tokenizer[event["drafter"]]
        ]
        assert (crossings == []) is partition
        assert any(event.get("parent") for event in found)


def test_bytes_are_those_of_the_tokens(record: Record) -> None:
    """Byte lengths are given for every token, and a crossing block says the same text in both vocabularies unless it was cut."""
    found = events(record())
    ours, theirs = hf_tokenizer.load("bpe:500"), hf_tokenizer.load("bpe:400@1/2")
    crossed = 0
    for event in (event for event in found if event["type"] == "proposal" and event["tokens"]):
        own = theirs if event["drafter"] in ("far", "written") else ours
        submitted = event.get("submitted", event["tokens"])
        assert event["bytes"] == [len(own.token_bytes(token)) for token in event["tokens"]]
        assert event["submitted_bytes"] == [len(ours.token_bytes(token)) for token in submitted]
        assert ("q" in event) is (event["drafter"] != "written")
        if own is theirs and event["drafter"] == "far":
            crossed += 1
            assert joined(own, event["tokens"]) == joined(ours, submitted)
    assert crossed


def test_shadows_are_judged_and_lost(record: Record) -> None:
    """Every drafter is judged on every prefix; in each round one is kept, and they take turns."""
    found = events(record(topology="shadow"))
    author = {event["id"]: event["drafter"] for event in found if event["type"] == "proposal"}
    kept: dict[tuple[str, int], list[str]] = defaultdict(list)
    seen: dict[tuple[str, int], int] = defaultdict(int)
    for event in (event for event in found if event["type"] == "verdict"):
        seen[event["request"], event["round"]] += 1
        if event.get("stop") != "branch_lost":
            kept[event["request"], event["round"]].append(author[event["proposal"]])
        else:
            assert event["committed"] == 0
    assert set(seen.values()) == {4}
    assert all(names == [["near", "far", "written", "look"][round % 4]] for (_, round), names in kept.items())


@pytest.mark.parametrize("quorum", [1, 2, 3])
def test_an_effect_commits_only_where_the_step_agreed(record: Record, quorum: int) -> None:
    """Each branch stages one effect a step; one commits where the ballots reach the quorum, else all are discarded."""
    found = events(
        record(drafters=[NEAR, FAR, WRITTEN], topology="branches", quorum=quorum, prompts="corpus:6", max_tokens=30)
    )
    votes = {(event["request"], event["step"]): event for event in found if event["type"] == "consensus"}
    effects: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for event in (event for event in found if event["type"] == "effect"):
        effects[event["request"], event["step"]].append((event["action"], event["branch"]))
    outcomes = {event["outcome"] for event in votes.values()}
    assert "agreed" in outcomes if quorum == 1 else "fallback" in outcomes
    for place, vote in votes.items():
        ballots = {ballot["branch"]: ballot.get("value") for ballot in vote["ballots"]}
        actions = [action for action, _ in effects[place]]
        agreed = vote["outcome"] == "agreed"
        most = max([list(ballots.values()).count(value) for value in ballots.values() if value is not None], default=0)
        assert agreed is (most >= quorum)
        assert actions.count("stage") == 3
        assert actions.count("commit") == agreed
        assert actions.count("discard") == 3 - agreed
        for action, branch in effects[place]:
            assert action != "commit" or ballots[branch] == vote["value"]


def test_only_the_branch_that_won_a_vote_reaches_the_output(record: Record) -> None:
    """The blocks of every other branch of the step are lost."""
    found = events(record(drafters=[NEAR, FAR, WRITTEN], topology="branches", quorum=2, prompts="corpus:6"))
    won = {(e["request"], e["step"]): e["branch"] for e in found if e["type"] == "effect" and e["action"] == "commit"}
    step = {e["id"]: (e["request"], e["step"], e["branch"]) for e in found if e["type"] == "proposal"}
    assert won
    for event in (event for event in found if event["type"] == "verdict"):
        request, name, branch = step[event["proposal"]]
        assert (event.get("stop") == "branch_lost") is (won.get((request, name)) != branch)


@pytest.mark.parametrize("name", ["t.jsonl.gz", "t.jsonl.zst"])
def test_compressed_recordings_hold_the_same(record: Record, name: str) -> None:
    """The name of the output says how it is compressed; equal commands give equal bytes there too."""
    plain = record().read_bytes()
    packed = record(name)
    report = analyze(str(packed), Options(strict=True, replicates=0))
    assert report.rounds
    if name.endswith(".gz"):
        assert gzip.decompress(packed.read_bytes()) == plain
    assert packed.read_bytes() == record(f"again.{name}").read_bytes()
    assert len(list(packed.parent.iterdir())) == 3


def test_an_interrupted_recording_is_a_trace(record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was recorded before an interruption can be read."""
    write, count = Recorder.verdict, iter(range(40))

    def interrupted(self: Recorder, *arguments: Any, **named: Any) -> None:
        if next(count, None) is None:
            raise KeyboardInterrupt
        write(self, *arguments, **named)

    monkeypatch.setattr(Recorder, "verdict", interrupted)
    for name in ("t.jsonl", "t.jsonl.gz"):
        with pytest.raises(KeyboardInterrupt):
            record(name)
        assert analyze(str(tmp_path / name), Options(strict=True, replicates=0)).inputs
        count = iter(range(40))


def test_an_error_leaves_no_file(record: Record, tmp_path: Path) -> None:
    """A command that cannot be does not touch an older trace."""
    before = record().read_bytes()
    with pytest.raises(UsageError):
        record(drafters=[NEAR, NEAR])
    assert (tmp_path / "t.jsonl").read_bytes() == before


def test_a_trace_replaces_nothing_that_a_model_is_made_from(record: Record, tmp_path: Path) -> None:
    """An output that a specification names as an input is refused, and stays as it was."""
    text = tmp_path / "text.txt"
    text.write_text("some text to train on\n" * 50)
    with pytest.raises(UsageError, match="is made from"):
        record("text.txt", drafters=[f"x=ngram:corpus={text},tokenizer=bpe:300"])
    assert text.read_text().startswith("some text")


def test_text_to_train_on_may_be_short_but_not_empty(record: Record, tmp_path: Path) -> None:
    """A model of one letter proposes what it can; one of nothing is an error."""
    (tmp_path / "short.txt").write_text("a")
    (tmp_path / "empty.txt").write_text(" \n")
    assert events(record(drafters=[f"x=ngram:order=4,corpus={tmp_path / 'short.txt'}", NEAR]))
    with pytest.raises(UsageError, match="no text in it"):
        record("u.jsonl", drafters=[f"x=ngram:corpus={tmp_path / 'empty.txt'}"])


def test_behind_a_link_the_file_is_written(record: Record, tmp_path: Path) -> None:
    """The link stays a link; one that leads nowhere but to itself is an error."""
    (tmp_path / "real.jsonl").write_text("old")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    record("link.jsonl")
    assert (tmp_path / "link.jsonl").is_symlink()
    assert events(tmp_path / "real.jsonl")
    with pytest.raises(InputError, match=r"loop\.jsonl"):
        record("loop.jsonl")


def test_arguments_that_are_not_text_touch_nothing(record: Record, tmp_path: Path) -> None:
    """Bytes of an argument that are not UTF-8 are refused before an older trace is replaced."""
    before = record().read_bytes()
    for options in ({"labels": ["x=\udcff"]}, {"drafters": ["\udcff=lookup"]}):
        with pytest.raises(UsageError, match="not UTF-8"):
            record(**options)
    assert (tmp_path / "t.jsonl").read_bytes() == before


def test_a_full_disk_leaves_whole_lines(record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a line does not fit, its beginning is taken back, and the error names the file."""
    write, room = os.write, 3000

    def short(file: int, data: bytes) -> int:
        nonlocal room
        if room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(file, data[:room])
        room -= written
        return written

    monkeypatch.setattr(os, "write", short)
    with pytest.raises(InputError, match=r"t\.jsonl: No space left"):
        record()
    assert len(events(tmp_path / "t.jsonl")) > 1


PARTS = f"{NEAR}|{FAR}|{WRITTEN}|{LOOKUP}".split("|")
WRONG: list[tuple[dict[str, Any], type[SpecdiagError], str]] = [
    ({"drafters": ["x=unknown:y"]}, UsageError, "no backend 'unknown'"),
    ({"drafters": ["x=ngram:order=9"]}, UsageError, "order=9"),
    ({"drafters": ["x=ngram:colour=red"]}, UsageError, "no option colour"),
    ({"drafters": ["x=ngram:order=3,order=4"]}, UsageError, "not a new key=value"),
    ({"drafters": ["x=ngram:order=3,tokens=many"]}, UsageError, "tokens=many"),
    ({"drafters": ["x=ngram:temperature=nan"]}, UsageError, "temperature=nan"),
    ({"drafters": ["x=ngram:top_p=0"]}, UsageError, "top_p=0"),
    ({"drafters": ["x=ngram:map=magic"]}, UsageError, "map=magic"),
    ({"drafters": ["x=ngram:tokenizer=bpe:12"]}, UsageError, "no such size"),
    ({"drafters": ["x=ngram:tokenizer=nowhere.json"]}, UsageError, "nowhere.json"),
    ({"drafters": ["x=ngram:corpus=3/2"]}, UsageError, "corpus=3/2"),
    ({"drafters": ["x=lookup:order=3"]}, UsageError, "no option order"),
    ({"drafters": PARTS[:1] * 2}, UsageError, "the same name"),
    ({"verifier": "lookup"}, UsageError, "no verifier"),
    ({"prompts": "corpus:none"}, UsageError, "corpus:none"),
    ({"prompts": "nowhere.txt"}, InputError, "nowhere.txt"),
    ({"quorum": 2}, UsageError, "branches"),
    ({"quorum": 9, "topology": "branches"}, UsageError, "--quorum 9"),
    ({"partition": True, "topology": "turns"}, UsageError, "no meaning"),
    ({"alone_every": 3, "topology": "turns"}, UsageError, "no meaning"),
    ({"output": Path("-")}, UsageError, "to a file"),
    ({"drafters": ["x=ngram:order=3,"]}, UsageError, "not a new key=value"),
    ({"labels": ["x"]}, UsageError, "NAME=VALUE"),
    ({"output": Path("/nowhere/at/all.jsonl")}, InputError, "all.jsonl"),
]


@pytest.mark.parametrize(("options", "kind", "said"), WRONG, ids=str)
def test_what_cannot_be_is_refused(
    record: Record, options: dict[str, Any], kind: type[SpecdiagError], said: str, tmp_path: Path
) -> None:
    """Each wrong option gives one error that names it, and writes nothing."""
    with pytest.raises(kind) as caught:
        record(**options)
    assert said in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_backend_that_is_not_installed_says_which_extra(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra to install."""
    monkeypatch.setitem(sys.modules, "specdiag.record.backends.llama_cpp", None)
    with pytest.raises(MissingExtra) as caught:
        record(drafters=["x=llama-cpp:model.gguf"])
    assert "specdiag-cli[llama-cpp]" in str(caught.value)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    hf_tokenizer.trained.cache_clear()
    hf_tokenizer.load.cache_clear()
    with pytest.raises(MissingExtra) as caught:
        record(drafters=["x=ngram:tokenizer=bpe:333"])
    assert "specdiag-cli[record]" in str(caught.value)


def test_prompts_come_from_lines_or_json(record: Record, tmp_path: Path) -> None:
    """A prompt a line, or an object a line with its own id; the same text gives the same output."""
    plain, objects = tmp_path / "p.txt", tmp_path / "p.jsonl"
    plain.write_bytes("def naïve(\nimport \n\n".encode())
    objects.write_text(
        json.dumps({"id": "n", "prompt": "def naïve("}) + "\n" + json.dumps({"prompt": "import "}) + "\n"
    )
    first, second = events(record(prompts=str(plain))), events(record("u.jsonl", prompts=str(objects)))
    assert {event.get("request") for event in first} == {None, "r0", "r1"}
    assert {event.get("request") for event in second} == {None, "n", "r1"}
    assert [event.get("tokens") for event in first] == [event.get("tokens") for event in second]
    with pytest.raises(UsageError, match="its own prompts"):
        record("p.txt", prompts=str(plain))


def test_the_header_says_what_ran(record: Record) -> None:
    """Models, tokenizers with fingerprints, seed, rule, arrangement, and the versions and texts that they came from."""
    header = events(record(seed=5, labels=["build=x"]))[0]
    assert header["verification"] == {"rule": "rejection"}
    assert {"topology": "chain", "seed": "5", "build": "x"}.items() <= header["labels"].items()
    assert {"verifier.corpus_sha256", "near.tokenizers", "far.map", "python", "numpy"} <= set(header["labels"])
    assert [drafter["max_draft_tokens"] for drafter in header["drafters"]] == [3] * 4
    marks = {name: one["fingerprint"] for name, one in header["tokenizers"].items()}
    assert marks == {name: hf_tokenizer.load(f"bpe:{size}").fingerprint for name, size in _sizes(marks)}
    assert VERIFIER.endswith(f"temperature={header['verifier']['temperature']}")


def _sizes(marks: dict[str, str]) -> list[tuple[str, str]]:
    return [(name, {"bpe-500": "500", "bpe-400-1of2": "400@1/2"}[name]) for name in marks]
