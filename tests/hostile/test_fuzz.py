"""Random damage to real and drawn traces: whatever comes, it is a report whose identities hold, or an error of ours."""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import specdiag
from specdiag.errors import SpecdiagError
from specdiag.render import console, markdown
from specdiag.render import json as json_face
from specdiag.trace import sources
from tests.conftest import TRACES
from tests.hostile.program import ACTS
from tests.strategies import odd_traces

BOUNDED = settings(
    deadline=None,
    max_examples=60,
    # Without shrinking: that could take minutes, and the bytes that failed are kept for the next run anyway.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
VALUES = [
    b"NaN",
    b"-Infinity",
    b"1.797e308",
    b"1e400",
    b"5e-324",
    b"-1",
    b"1.0",
    b"-0",
    b"true",
    b"null",
    b"[]",
    b"{}",
    b'""',
    b'"x"',
    b'"\\ud800"',
    b'"\\u0000"',
    b'"\xff"',
    b"9007199254740993",
    b"18446744073709551616",
    b"-9007199254740992",
    b"[[[[",
    b"[null]",
    b'{"a": 1}',
]
NAMES = [b'"parent"', b'"accepted"', b'"type"', b'"ts"', b'""', b'"a\\"b"', b'"\\ud800"', b'"start"', b'"submitted"']
_VALUE = re.compile(rb'(?<=[:,\[])\s*(?:-?[0-9.e+]+|"[^"]*"|null|true|\[[^\[\]]*\])')
_NAME = re.compile(rb'"\w+"(?=\s*:)')


def _real() -> list[bytes]:
    """Some lines of each bundled trace."""
    out = []
    for path in sorted(TRACES.glob("*.jsonl*")):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        out.append(b"".join(data.splitlines(keepends=True)[:25]))
    return out


REAL = _real()


@st.composite
def originals(draw: st.DrawFn) -> bytes:
    """The bytes of a trace before anything happens to it."""
    if draw(st.booleans()):
        return draw(st.sampled_from(REAL))
    return b"".join(json.dumps(event).encode() + b"\n" for event in draw(odd_traces()))


def _places(draw: st.DrawFn, data: bytes) -> tuple[int, int]:
    begin = draw(st.integers(0, len(data)))
    return begin, min(len(data), begin + draw(st.sampled_from([0, 1, 3, 40, 700])))


def _cut(draw: st.DrawFn, data: bytes) -> bytes:
    return data[: draw(st.integers(0, len(data)))]


def _flip(draw: st.DrawFn, data: bytes) -> bytes:
    begin, _ = _places(draw, data)
    return (
        data[:begin]
        + bytes(byte ^ (1 << draw(st.integers(0, 7))) for byte in data[begin : begin + 1])
        + data[begin + 1 :]
    )


def _drop(draw: st.DrawFn, data: bytes) -> bytes:
    begin, end = _places(draw, data)
    return data[:begin] + data[end:]


def _double(draw: st.DrawFn, data: bytes) -> bytes:
    begin, end = _places(draw, data)
    return data[:end] + data[begin:]


def _insert(draw: st.DrawFn, data: bytes) -> bytes:
    begin, _ = _places(draw, data)
    return data[:begin] + draw(st.binary(max_size=8)) + data[begin:]


def _splice(draw: st.DrawFn, data: bytes) -> bytes:
    begin, _ = _places(draw, data)
    other = draw(st.sampled_from(REAL))
    first, behind = _places(draw, other)
    return data[:begin] + other[first:behind] + data[begin:]


def _interleave(draw: st.DrawFn, data: bytes) -> bytes:
    size = draw(st.sampled_from([7, 64, 512]))
    other = draw(st.sampled_from(REAL))[: len(data)]
    return b"".join(data[i : i + size] + other[i : i + size] for i in range(0, min(len(data), 20 * size), size))


def _shuffle(draw: st.DrawFn, data: bytes) -> bytes:
    return b"".join(draw(st.permutations(data.splitlines(keepends=True))))


def _replace(draw: st.DrawFn, data: bytes) -> bytes:
    pattern, choices = draw(st.sampled_from([(_VALUE, VALUES), (_NAME, NAMES)]))
    found = list(pattern.finditer(data))
    if not found:
        return data
    place = found[draw(st.integers(0, len(found) - 1))]
    return data[: place.start()] + draw(st.sampled_from(choices)) + data[place.end() :]


def _ends(draw: st.DrawFn, data: bytes) -> bytes:
    end = draw(st.sampled_from([b"\r\n", b"\n\n", b" ", b"", b"\r", b"\n\0"]))
    return data.replace(b"\n", end, draw(st.sampled_from([1, 3, -1])))


def _pack(draw: st.DrawFn, data: bytes) -> bytes:
    return draw(st.sampled_from([gzip.compress(data, 1), data.decode(errors="replace").encode("utf-16")]))


DAMAGE: list[Callable[[st.DrawFn, bytes], bytes]] = [
    _cut,
    _flip,
    _drop,
    _double,
    _insert,
    _splice,
    _interleave,
    _shuffle,
    _replace,
    _replace,
    _replace,
    _ends,
    _pack,
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A trace to which up to five things happened."""
    data = draw(originals())
    for damage in draw(st.lists(st.sampled_from(DAMAGE), min_size=1, max_size=5)):
        data = damage(draw, data)
    return data


def sane(report: specdiag.Report) -> None:
    """What holds for every report."""
    assert all(identity.holds for identity in report.identities)
    counts: dict[str, Any] = {name: getattr(report.fates, name) for name in report.fates.__struct_fields__}
    assert min(counts.values()) >= 0
    assert sum(sum(item.events.values()) for item in report.inputs) > 0
    for name in ("draft_acceptance", "judged_acceptance", "joint_acceptance", "expected_acceptance"):
        value = report.rates[name].value
        assert value is None or 0 <= value <= 1
    for text in (console.render(report), markdown.render(report), json_face.render(report)):
        assert not ACTS.search(text)


@BOUNDED
@given(damaged(), st.sampled_from([400, 3000, 1 << 22]), st.booleans(), st.sampled_from([(), ("branch", "label")]))
def test_any_bytes_give_a_report_or_an_error_of_ours(
    data: bytes, segment: int, strict: bool, by: tuple[str, ...]
) -> None:
    """No damage makes anything but a sane report or a SpecdiagError, in both modes and however the input is cut."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "SEGMENT", segment)
        path = Path(folder) / "t.jsonl"
        path.write_bytes(data)
        try:
            report = specdiag.analyze(str(path), specdiag.Options(strict=strict, replicates=10, by=by))
        except SpecdiagError as error:
            assert str(error)  # noqa: PT017
        else:
            sane(report)


@BOUNDED
@given(damaged())
def test_any_bytes_can_be_gone_through(data: bytes) -> None:
    """Nor does reading event by event, and each event can be written back."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.jsonl"
        path.write_bytes(data)
        try:
            for event in specdiag.read(str(path), strict=False):
                event.rewritten(seen=1)
        except SpecdiagError as error:
            assert str(error)  # noqa: PT017
