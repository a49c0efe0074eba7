"""Traces whose events contradict each other, repeat, or are built to cost more than their size."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import build
from tests.hostile.program import GOOD, Done, analyze, fates, specdiag, within, write


def chain(length: int, drafters: tuple[str, ...] = ("code", "think"), **fields: Any) -> build.Events:
    """One round: a chain of blocks of two tokens, all accepted but the last."""
    blocks = [
        build.block(f"c{i}", drafters[i % len(drafters)], 2, start=2 * i, parent=f"c{i - 1}" if i else None, **fields)
        for i in range(length)
    ]
    return blocks + [build.verdict(f"c{i}", 2 if i < length - 1 else 1, **fields) for i in range(length)]


def located(done: Done, code: str) -> list[int]:
    """The lines of a note's places."""
    return [place["line"] for place in done.notes[code]["places"]]


def test_a_verdict_before_its_proposal(tmp_path: Path) -> None:
    """A verdict that stands before its proposal is joined all the same, and noted."""
    good = build.rounds(20)
    swapped = [good[0], *[event for pair in zip(good[2::2], good[1::2], strict=True) for event in pair]]
    done = analyze(write(tmp_path / "t.jsonl", swapped))
    assert fates(done) == fates(analyze(write(tmp_path / "u.jsonl", good)))
    assert done.notes["verdict_before_proposal"]["count"] == 20
    assert specdiag("analyze", "--strict", str(tmp_path / "t.jsonl")).code == 0


def test_two_verdicts_for_one_proposal(tmp_path: Path) -> None:
    """The first of two different verdicts stands; the second is a located problem; the same one twice is a note."""
    events = [build.header(), build.block("p"), build.verdict("p", 1), build.verdict("p", 1), build.verdict("p", 3)]
    done = analyze(write(tmp_path / "t.jsonl", events))
    assert done.report["fates"]["accepted"] == 1
    assert located(done, "verdict_conflict") == [5]
    assert located(done, "duplicate_line") == [4]


@pytest.mark.parametrize("parent", ["nobody", "", "p"])
def test_parents_that_are_none(parent: str, tmp_path: Path) -> None:
    """A parent that does not exist, and a block that is its own parent, are problems; the block heads a chain."""
    events = [build.header(), build.block("p", parent=parent), build.verdict("p", 2)]
    done = analyze(write(tmp_path / "t.jsonl", events))
    assert done.report["fates"]["accepted"] == 2
    assert located(done, "parent_cycle" if parent == "p" else "parent_missing") == [2]


def test_a_circle_of_parents(tmp_path: Path) -> None:
    """Blocks that extend each other in a circle, and what hangs on it, each head a chain."""
    blocks = [build.block(f"p{i}", ("code", "think")[i % 2], parent=f"p{(i + 1) % 50}") for i in range(50)]
    blocks.append(build.block("tail", parent="p0", start=4))
    events = [build.header(), *blocks, *[build.verdict(block["id"], 2) for block in blocks]]
    done = analyze(write(tmp_path / "t.jsonl", events))
    assert done.report["fates"]["accepted"] == 102
    assert done.notes["parent_cycle"]["count"] == 51


@pytest.mark.parametrize("requests", [1, 12])
def test_a_tree_of_which_several_paths_are_accepted(requests: int, tmp_path: Path) -> None:
    """Both blocks behind one head may be accepted: a tree is no error, and no share of it exceeds 1."""
    events: build.Events = [build.header()]
    for r in range(requests):
        where: dict[str, Any] = {"request": f"r{r}"}
        ids = [f"{r}.{i}" for i in range(4)]
        events.append(build.block(ids[0], size=1, **where))
        events += [build.block(i, "think", 1, parent=ids[0], start=1, **where) for i in ids[1:]]
        events += [build.verdict(i, 1, **where) for i in ids]
    report = analyze(write(tmp_path / "t.jsonl", events)).report
    for position in report["shared"]["positions"]:
        assert position["acceptance"]["value"] <= 1
        assert position["reach"]["value"] is None or position["reach"]["value"] <= 1


def test_lines_logged_by_two_ranks(tmp_path: Path) -> None:
    """What two ranks both logged counts once."""
    good = build.rounds(20)
    twice = [good[0], *[event | {"source": f"rank{k}", "ts": k} for event in good[1:] for k in range(2)]]
    done = analyze(write(tmp_path / "t.jsonl", twice))
    assert fates(done) == fates(analyze(write(tmp_path / "u.jsonl", good)))
    assert done.notes["duplicate_line"]["count"] == 40


def test_ids_used_again_by_a_later_request(tmp_path: Path) -> None:
    """Ids that begin anew in each request are kept apart."""
    events: build.Events = [build.header()]
    for r in range(30):
        where = {"request": f"r{r}"}
        events += [build.block("p0", **where), build.verdict("p0", r % 5, **where)]  # type: ignore[arg-type]
    done = analyze(write(tmp_path / "t.jsonl", events))
    assert done.report["fates"]["accepted"] == 60
    assert done.report["integrity"] == []


@pytest.mark.parametrize("id", ["request", "round"])
def test_one_id_for_everything(id: str, tmp_path: Path) -> None:
    """An engine that gives all blocks the same id costs time in proportion to the trace."""
    events: build.Events = [build.header()]
    for i in range(1500):
        where: dict[str, Any] = {"request": f"r{i}"} if id == "request" else {"round": i}
        events += [build.block("p", start=i, **where), build.verdict("p", 1, **where)]
    file = write(tmp_path / "t.jsonl", events)
    with within(3):
        assert analyze(file, "--replicates", "0").report["fates"]["accepted"] == 1500


@pytest.mark.parametrize("drafters", [("code",), ("code", "think")])
def test_a_deep_chain(drafters: tuple[str, ...], tmp_path: Path) -> None:
    """A chain of a thousand blocks costs time in proportion to its length, and every token has its fate."""
    file = write(tmp_path / "t.jsonl", [build.header()], chain(1000, drafters))
    with within(2):
        report = analyze(file, "--replicates", "20").report
    assert report["fates"]["accepted"] == 1999


def test_many_drafters_on_one_chain(tmp_path: Path) -> None:
    """A chain of a hundred drafters is analyzed in seconds."""
    names = tuple(f"d{i}" for i in range(100))
    declared = [{"id": name, "tokenizer": name} for name in names]
    file = write(tmp_path / "t.jsonl", [build.header(drafters=declared)], chain(100, names))
    with within(4):
        report = analyze(file, "--replicates", "20").report
    assert len(report["drafters"]) == 100


def test_a_hundred_drafters(tmp_path: Path) -> None:
    """A hundred drafters, each with a block of its own, are listed, in every face."""
    names = [f"d{i}" for i in range(100)]
    events = [build.header(drafters=[{"id": name, "tokenizer": "a"} for name in names])]
    for i, name in enumerate(names):
        events += [build.block(f"p{i}", name, 2, round=i), build.verdict(f"p{i}", 0, round=i)]
    file = write(tmp_path / "t.jsonl", events)
    with within(4):
        assert len(analyze(file, "--replicates", "0").report["drafters"]) == 100
    for face in ("console", "markdown"):
        assert "d99" in specdiag("analyze", "--replicates", "0", "--format", face, file).out


def small_memory() -> None:
    """Give the process 2 GB of address space."""
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


@pytest.mark.parametrize("name", ["a long block", "many positions reached"])
def test_a_large_line_costs_little_memory(name: str, tmp_path: Path) -> None:
    """A line of half a megabyte does not cost gigabytes, whatever list it holds."""
    size = 170_000
    tally = {"type": "tally", "drafter": "code", "window": "interval", "rounds": 9, "proposed": 9, "accepted": 5}
    events = {
        "a long block": [
            build.block("p", size=1) | {"tokens": [1] * size},
            build.block("q", "think", parent="p", start=size),
            build.verdict("p", size),
            build.verdict("q", 1),
        ],
        "many positions reached": [tally | {"reached": [1] * size}],
    }[name]
    file = write(tmp_path / "t.jsonl", [build.header()], events)
    done = subprocess.run(
        [sys.executable, "-m", "specdiag", "analyze", file, "--lenient", "-q"],
        capture_output=True,
        text=True,
        timeout=3,
        preexec_fn=small_memory,
        env={"OPENBLAS_NUM_THREADS": "1", "PATH": ""},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout) < 100_000


def test_unknown_fields_do_not_slow_reading_down(tmp_path: Path) -> None:
    """A log with two fields of its own in every line is read about as fast as one without."""
    events = build.rounds(1500)
    file = write(tmp_path / "t.jsonl", [events[0]], [event | {"gpu": 3, "kv": {"a": 1}} for event in events[1:]])
    with within(2):
        assert analyze(file, "--replicates", "0").notes["unknown_field"]["count"] == 6000


def test_a_new_field_in_every_line(tmp_path: Path) -> None:
    """Nor does a log in which every line has a field of another name take minutes."""
    events = build.rounds(1500)
    file = write(tmp_path / "t.jsonl", [event | {f"f{i}": 1} for i, event in enumerate(events)])
    with within(3):
        analyze(file, "--replicates", "0")


def test_a_placeholder_in_every_line(tmp_path: Path) -> None:
    """A logger that writes NaN in every line is slower to read, not unreadable."""
    text = build.lines(build.rounds(3000)).replace('"round"', '"ms": NaN, "round"').encode()
    with within(4):
        done = analyze(write(tmp_path / "t.jsonl", text), "--replicates", "0")
    assert done.notes["not_finite"]["count"] == 6000


ROLES = [
    ("*shared", "think"),
    ("code", "*shared"),
    ("x *shared", "think"),
    ("shared", "think"),
    ("independent", "think"),
    ("", "think"),
    ("code", ""),
    ("submitted x", "accepted x"),
    ("*digest", "think"),
    ("all", "solo"),
    ("code", "code\0"),
    ("\0", "think"),
    ("code", "code "),
    ("total", "others"),
]


def two_drafters(first: str, second: str) -> build.Events:
    """Shared, parallel and solo rounds of two drafters over twelve requests, with times."""
    declared = [{"id": first, "tokenizer": "a"}, {"id": second, "tokenizer": "b"}]
    events: build.Events = [build.header(drafters=declared)]
    for r in range(12):
        for number, (who, behind) in enumerate(
            [((first, second), True), ((first, second), False), ((first,), False), ((second,), False)]
        ):
            where: dict[str, Any] = {"request": f"r{r}", "round": number}
            for i, name in enumerate(who):
                parent = f"{r}.{number}.0" if i and behind else None
                start = 10 * number + (3 if parent else 0)
                events.append(
                    build.block(f"{r}.{number}.{i}", name, 3, parent=parent, start=start, ms=1.0 + i, **where)
                )
            accepted = (3, 1) if behind else (1 + number % 2, 2)
            ids = [f"{r}.{number}.{i}" for i in range(len(who))]
            events += [build.verdict(i, a, ms=5.0, **where) for i, a in zip(ids, accepted, strict=False)]
    return events


def figures(report: dict[str, Any]) -> dict[str, Any]:
    """All figures that do not hang on a name."""
    drafters = sorted(
        str({name: rate["value"] for name, rate in view["rates"].items()} | view["fates"])
        for drafter in report["drafters"]
        for view in drafter["views"].values()
    )
    parts = {
        "pooled": {name: rate["value"] for name, rate in report["rates"].items()},
        "shared": {name: rate["value"] for name, rate in report["shared"]["rates"].items()},
        "time": sorted(str(rate["value"]) for rate in report["time"]["rates"].values()),
        "thrash": {name: rate["value"] for name, rate in report["thrash"]["rates"].items()},
        "blame": sorted(tokens for row in report["blame"]["tokens"] for tokens in row),
    }
    return parts | {"drafters": drafters, "fates": report["fates"]}


@pytest.mark.parametrize(("first", "second"), ROLES)
def test_a_drafter_may_have_any_name(first: str, second: str, tmp_path: Path) -> None:
    """No name of a drafter changes a figure, be it one of our own words."""
    expected = figures(analyze(write(tmp_path / "t.jsonl", two_drafters("P", "Q"))).report)
    assert figures(analyze(write(tmp_path / "u.jsonl", two_drafters(first, second))).report) == expected


LONG = "n" * 100_000


def long_names(count: int) -> build.Events:
    """A trace in which whatever has a name has one of a hundred thousand characters; drafters differ at the end."""
    names = [f"{LONG}{i}" for i in range(count)]
    declared = [{"id": name, "tokenizer": name, "temperature": i} for i, name in enumerate(names)]
    engine = {"name": LONG, "version": LONG}
    events: build.Events = [build.header(trace_id=LONG, engine=engine, drafters=declared, labels={LONG: LONG})]
    events += [build.header(trace_id=LONG + "b", engine=engine | {"name": "e"}, drafters=declared)]
    for r in range(3):
        where: dict[str, Any] = {"request": f"{LONG}{r}"}
        for i, name in enumerate(names):
            parent, start = (f"{names[i - 1]}{r}", 4 * i) if i else (None, 0)
            events.append(build.block(f"{name}{r}", name, parent=parent, start=start, ms=1.0, **where))
        events += [build.verdict(f"{name}{r}", 3 if not i else 0, ms=1.0, **where) for i, name in enumerate(names)]
    return events


@pytest.mark.parametrize("count", [1, 2, 5])
def test_long_names(count: int, tmp_path: Path) -> None:
    """Names of a hundred thousand characters are cut in the faces for people, and drafters can still be told apart."""
    file = write(tmp_path / "t.jsonl", long_names(count))
    for face in ("console", "markdown"):
        done = specdiag("analyze", "--format", face, "--by", "drafter,label", file)
        assert max(map(len, done.out.splitlines())) <= (80 if face == "console" else 1500)
        assert len(done.out) < 25_000
        assert all(f"n{i}" in done.out for i in range(count))


@pytest.mark.parametrize("wrong", [{"accepted": 9}, {"proposal": LONG + "x"}, {"\n" * 1000: 1}, {"stop": 5}])
def test_long_names_in_messages(wrong: dict[str, Any], tmp_path: Path) -> None:
    """Neither an error nor the place of a note holds more than the ends of what a trace says."""
    events = long_names(1)
    file = write(tmp_path / "t.jsonl", events[:-1], [events[-1] | wrong | {LONG: 1}])
    assert len(specdiag("validate", file).out) < 5_000
    assert len(specdiag("analyze", "--strict", file).err) < 2_000
    places = [place for note in analyze(file, "--lenient").report["integrity"] for place in note["places"]]
    assert places
    assert max(len(place["path"] + place["text"]) for place in places) <= 400


def test_long_arguments(tmp_path: Path) -> None:
    """Nor does an error repeat an argument of a hundred thousand characters."""
    file = write(tmp_path / "t.jsonl", GOOD)
    for arguments in ((LONG,), (file, "--by", LONG), (file, "-f", LONG), (file, f"--{LONG}"), (file, "-o", LONG)):
        assert len(specdiag("analyze", *arguments).err) < 2_000
    assert len(specdiag(LONG).err) < 2_000


HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "schema missing": ({"type": "trace"}, "$.schema"),
    "schema a number": (build.header(schema=1), "$.schema"),
    "drafters an object": (build.header(drafters={"code": {}}), "$.drafters"),
    "id a number": (build.header(drafters=[{"id": 5}]), "$.drafters[0].id"),
    "temperature a string": (build.header(drafters=[{"id": "code", "temperature": "0"}]), "$.drafters[0].temperature"),
    "rule a number": (build.header(verification={"rule": 5}), "$.verification.rule"),
    "labels a list": (build.header(labels=["a"]), "$.labels"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_of_wrong_types(name: str, tmp_path: Path) -> None:
    """A header with a field of the wrong type is a problem at that field, and the rounds count."""
    header, path = HEADERS[name]
    done = analyze(write(tmp_path / "t.jsonl", [header], build.rounds(20)[1:]))
    assert done.report["fates"]["accepted"] == 40
    assert (1, path) in [(p["line"], p["path"]) for n in done.report["integrity"] for p in n["places"]]


@pytest.mark.parametrize("schema", ["specdiag/2", "specdiag/999999999999", "other/1", "", "specdiag/x", "specdiag/²"])
@pytest.mark.parametrize("late", [False, True])
def test_schemas_that_cannot_be_read(schema: str, late: bool, tmp_path: Path) -> None:
    """A newer major or another schema is one clear error, wherever the header stands."""
    good = build.rounds(5) if late else []
    file = write(tmp_path / "t.jsonl", good, [build.header(schema=schema)])
    done = specdiag("analyze", file)
    assert done.code == 2
    assert f"{file}:{len(good) + 1}: $.schema" in done.err


@pytest.mark.parametrize("schema", ["specdiag/1", "specdiag/1.5", "specdiag/0"])
def test_older_and_minor_schemas(schema: str, tmp_path: Path) -> None:
    """Every older major and any minor is read."""
    assert analyze(write(tmp_path / "t.jsonl", [build.header(schema=schema)], build.rounds(5)[1:])).code == 0


def test_headers_twice_and_drafters_twice(tmp_path: Path) -> None:
    """A header that stands twice changes nothing; one that contradicts the first, or itself, is a finding."""
    good = build.rounds(20)
    assert analyze(write(tmp_path / "t.jsonl", [good[0]], good)).report["integrity"] == []
    other = build.header(drafters=[{"id": "code", "tokenizer": "z", "temperature": 0}])
    report = analyze(write(tmp_path / "t.jsonl", good, [other])).report
    assert report["integrity"] or report["mixed"]
    twice = build.header(drafters=[{"id": "code", "tokenizer": "a"}, {"id": "code", "tokenizer": "b"}])
    report = analyze(write(tmp_path / "t.jsonl", [twice], good[1:])).report
    assert report["integrity"] or report["mixed"]


def test_mixed_traces(tmp_path: Path) -> None:
    """Traces of different engines and rules in one input are read, and the report says that it mixes them."""
    other = build.header(trace_id="u", verification={"rule": "greedy"}, engine={"name": "e", "version": "2"})
    file = write(tmp_path / "t.jsonl", build.rounds(10), [other], build.rounds(10)[1:])
    assert analyze(file).report["mixed"]


@pytest.mark.parametrize("by", ["branch", "label", "label:build", "branch,label", "branch,branch", "position,drafter"])
@pytest.mark.parametrize("kind", ["verdict", "tally", "rounds"])
def test_slices_of_any_trace(by: str, kind: str, tmp_path: Path) -> None:
    """`--by` works on a trace without a block, and counts of an engine are no slice."""
    tally = {"type": "tally", "drafter": "code", "window": "interval", "rounds": 5, "proposed": 9, "accepted": 5}
    events = {
        "verdict": [build.header(), build.verdict("p", 1)],
        "tally": [build.header(), tally],
        "rounds": [*build.rounds(10), tally],
    }[kind]
    rows = analyze(write(tmp_path / "t.jsonl", events), "--by", by).report["slices"]
    assert all(row["fates"]["proposed"] for row in rows), rows
    assert not {"code", "interval"} & {v for row in rows for k, v in row["by"].items() if k != "drafter"}


@pytest.mark.parametrize("label", ["", " ", "=", ", ", "(no label)", "\x1b[31m", "é" * 5000])
def test_odd_labels(label: str, tmp_path: Path) -> None:
    """Labels may be any text."""
    events = [build.header(labels={label: label, "build": 5, "on": True, "none": None}), *build.rounds(10)[1:]]
    file = write(tmp_path / "t.jsonl", events)
    for face in ("console", "json", "markdown"):
        assert specdiag("analyze", "--format", face, "--by", "label,label:build", file).code == 0
