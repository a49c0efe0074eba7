"""What can be made of a line that does not decode: its events, and every problem it has, each with its path.

This is the slow road, taken for bad lines only. It never guesses a value: a field is read, counts as missing, or the line is left out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from specdiag.trace.codec import Codec, UnknownEvent, fields_of
from specdiag.trace.events import SCHEMA, SCHEMA_MAJOR, SCHEMA_NAME, Event

MAX_SALVAGED_LINE = 1 << 20  # longer lines are only named: building their objects could cost a hundred times their size
MAX_RESTARTS = 16
PLACEHOLDER = 1.797e308  # C's DBL_MAX, which loggers write where they have no value

_RESTART = re.compile(r'\{\s*"type"\s*:')
_NUMBERS_THAT_MAY_MISS = {"q", "p", "u", "gap", "ms", "ts"}
_IDS = {"id", "request", "proposal", "parent", "branch", "step", "drafter", "source", "key"}
# A wrong value here costs the field, not the line: no count of the ledger hangs on it.
_ADDITIVE = {
    "q",
    "p",
    "u",
    "gap",
    "ms",
    "ts",
    "source",
    "bytes",
    "submitted_bytes",
    "context_digest",
    "next",
    "batch",
    "context",
    "labels",
    "drafters",
    "verifier",
    "tokenizers",
    "verification",
    "engine",
    "recorder",
}
_CONTROL = re.compile(r"[\x00-\x1f]")


class Problem(NamedTuple):
    """A code of the catalogue, the field path, and what was expected and found."""

    code: str
    path: str
    text: str


class Salvaged(NamedTuple):
    """What a line gave."""

    events: list[Event]
    problems: list[Problem]


def salvage(line: bytes, codec: Codec, *, last: bool = False) -> Salvaged:
    """Events and problems of one line. `last`: the input ends here without a newline, so a broken line is a torn one."""
    if line.startswith(b"\xef\xbb\xbf"):
        line = line[3:]
        head = [Problem("byte_order_mark", "$", "")]
    else:
        head = []
    if not line.strip():
        return Salvaged([], head)
    known = _known_at_last(line, codec)
    if known is not None:
        return Salvaged([known], head)
    if len(line) > MAX_SALVAGED_LINE:
        return Salvaged([], [*head, _too_big(line, codec)])
    text, problems = _text(line)
    events: list[Event] = []
    found, trouble = _objects(text, last)
    problems = [*head, *problems, *trouble]
    for parsed in found:
        obj, clean = _well_formed(parsed)
        if not clean:
            problems.append(Problem("invalid_utf8", "$", "half of a surrogate pair"))
        event, more = _event(obj, codec)
        problems.extend(more)
        if event is not None:
            events.append(event)
    return Salvaged(events, problems)


def _known_at_last(line: bytes, codec: Codec) -> Event | None:
    """The event, where all that was wrong with its line is a field or a type met for the first time."""
    try:
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        kind = msgspec.json.decode(fields["type"], type=str)
        return codec.decode(line) if codec.learn({**fields, "type": kind}) else None
    except (msgspec.DecodeError, RecursionError, KeyError):
        return None


def _too_big(line: bytes, codec: Codec) -> Problem:
    try:
        codec.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        return Problem("not_json", "$", f"{str(error)[:200]}; the line is too long to look further")
    raise AssertionError("a line that decodes is not salvaged")


def _text(line: bytes) -> tuple[str, list[Problem]]:
    problems = []
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        text = line.decode(errors="replace")
        problems.append(Problem("invalid_utf8", "$", f"byte {error.start + 1} of the line"))
    return text.strip(" \t\r\n"), problems


def _objects(text: str, last: bool) -> tuple[list[Any], list[Problem]]:
    """Every JSON value of the line, and what was wrong between them."""
    decoder = json.JSONDecoder(strict=False)
    found: list[Any] = []
    problems: list[Problem] = []
    position = restarts = 0
    while position < len(text):
        try:
            value, end = decoder.raw_decode(text, position)
        except RecursionError:
            return found, [*problems, Problem("too_deep", "$", f"at character {position + 1}")]
        except json.JSONDecodeError as error:
            said = f"{error.msg.removesuffix(' at')} at character {error.pos + 1}"
            restart = _RESTART.search(text, position + 1)
            if restart and restarts < MAX_RESTARTS:
                problems.append(Problem("restarted_line", "$", f"begun again at character {restart.start() + 1}"))
                position, restarts = restart.start(), restarts + 1
                continue
            torn = last or (text[position] == "{" and not text.endswith("}"))
            return found, [*problems, Problem("torn_line" if torn else "not_json", "$", said)]
        except ValueError as error:  # a number of thousands of digits
            return found, [*problems, Problem("not_json", "$", str(error)[:200])]
        if _CONTROL.search(text, position, end):
            problems.append(Problem("control_character", "$", ""))
        found.append(value)
        position = end
        while position < len(text) and text[position] in " \t\r,":
            position += 1
    if len(found) > 1:
        problems.append(Problem("joined_lines", "$", f"{len(found)} events"))
    return found, problems


def _well_formed(value: Any) -> tuple[Any, bool]:
    """The value with halves of surrogate pairs, which are no characters, replaced; whether there were none."""
    text = json.dumps(value, ensure_ascii=False)
    clean = text.encode(errors="replace").decode()
    return (value, True) if clean == text else (json.loads(clean), False)


def _event(obj: Any, codec: Codec) -> tuple[Any, list[Problem]]:
    if not isinstance(obj, dict):
        return None, [Problem("not_json", "$", f"expected an object, got {_kind(obj)}")]
    if not isinstance(obj.get("type"), str):
        return None, [Problem("bad_field", "$.type", f"expected a string, got {_kind(obj.get('type'))}")]
    codec.learn(obj)
    struct = codec.types.get(obj["type"])
    if struct is None:
        return UnknownEvent(), [Problem("unknown_type", "$.type", obj["type"][:80])]
    repaired, problems, lost = _repair(obj, struct)
    if lost:
        return None, problems
    try:
        event = codec.decode(msgspec.json.encode(repaired))
    except (msgspec.DecodeError, msgspec.MsgspecError, RecursionError, OverflowError) as error:
        return None, [*problems, Problem("bad_field", "$", str(error))]
    return event, problems


def _repair(obj: dict[str, Any], struct: type[Event]) -> tuple[dict[str, Any], list[Problem], bool]:
    """The object with every value either as the struct wants it or left out; whether the event is lost."""
    out = {"type": obj["type"]}
    lost = False
    fields = fields_of(struct)
    known = {field.encode_name for field in fields} | {"type"}
    # What could not be learned any more is left out of the event, and still counted.
    problems = [Problem("unknown_field", f"$.{name}"[:80], "") for name in obj if name not in known]
    for field in fields:
        name = field.encode_name
        if name not in obj:
            if field.required:
                problems.append(Problem("bad_field", f"$.{name}", "required, and missing"))
                lost = True
            continue
        if obj[name] is None and not field.required:
            continue
        if _is_raw(field.type):
            out[name] = obj[name]
            continue
        value, more = _missing(name, obj[name])
        problems.extend(more)
        if value is None and obj[name] is not None:
            continue
        wrong = list(_mismatches(value, field.type, f"$.{name}"))
        additive = name in _ADDITIVE and not field.required
        problems.extend(Problem("bad_optional_field" if additive else "bad_field", *w) for w in wrong)
        if not wrong:
            out[name] = value
        lost = lost or (bool(wrong) and not additive)
    return out, problems, lost


def _missing(name: str, value: Any) -> tuple[Any, list[Problem]]:
    """NaN and the like become missing where a number may be; numbers become strings where an id must be."""
    if name in _IDS and isinstance(value, (int, float)) and not isinstance(value, bool):
        exact = isinstance(value, int) or value.is_integer()
        return str(int(value)) if exact else repr(value), [Problem("id_not_string", f"$.{name}", f"got {value!r}"[:80])]
    if name not in _NUMBERS_THAT_MAY_MISS:
        return value, []
    if _is_no_value(value):
        return None, [Problem("not_finite", f"$.{name}", repr(value))]
    if isinstance(value, list):
        problems = [Problem("not_finite", f"$.{name}[{i}]", repr(v)) for i, v in enumerate(value) if _is_no_value(v)]
        return [None if _is_no_value(v) else v for v in value], problems
    return value, []


def _is_no_value(value: Any) -> bool:
    return isinstance(value, float) and (not math.isfinite(value) or abs(value) >= PLACEHOLDER)


def _is_raw(kind: Any) -> bool:
    return kind is msgspec.Raw or msgspec.Raw in getattr(kind, "__args__", ())


def _mismatches(value: Any, kind: Any, path: str) -> Iterator[tuple[str, str]]:
    """(path, what is wrong) of every part of the value that is not of this type."""
    error = _mismatch(value, kind)
    if error is None:
        return
    inner = []
    if isinstance(value, list) and " - at `$[" in error:
        inner = [(i, e) for i, v in enumerate(value) if (e := _mismatch([v], kind))]
    if inner:
        yield from ((f"{path}[{i}]{_deeper(e).removeprefix('[0]')}", _said(e)) for i, e in inner)
    else:
        yield path + _deeper(error), _said(error)


def _mismatch(value: Any, kind: Any) -> str | None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return str(error)
    except (RecursionError, OverflowError) as error:
        return str(error)
    return None


def _said(message: str) -> str:
    return message.partition(" - at `")[0].replace("`", "")


def _deeper(message: str) -> str:
    path = message.partition(" - at `$")[2].rstrip("`")
    return path.removeprefix("[...]")


def _kind(value: Any) -> str:
    names = {
        dict: "an object",
        list: "an array",
        str: "a string",
        bool: "a boolean",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "nothing" if value is None else "something else")


def schema_trouble(schema: str) -> tuple[str, str] | None:
    """(what, advice) where this release cannot read that schema: it reads `specdiag/N` with N up to its own major."""
    name, _, major = schema.partition("/")
    number = major.partition(".")[0]
    if name != SCHEMA_NAME or not number.isascii() or not number.isdigit() or len(number) > 9:
        return f"$.schema: expected {SCHEMA}, got {schema[:80]!r}", "This is not a specdiag trace."
    if int(number) > SCHEMA_MAJOR:
        return (
            f"$.schema: {schema[:80]!r} is newer than this release reads ({SCHEMA})",
            "Upgrade specdiag-cli to read this trace.",
        )
    return None
