"""What can be made of a line that does not decode: its events, and every problem it has, each with its path.

This is the slow road, taken for bad lines only. It never guesses a value: a field is read, counts as missing, or the line is left out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import msgspec

from specdiag.trace.codec import Codec, UnknownEvent, fields_of, names_of
from specdiag.trace.events import SCHEMA, SCHEMA_MAJOR, SCHEMA_NAME, Event

MAX_SALVAGED_LINE = 1 << 20  # longer lines are only named: building their objects could cost a hundred times their size
MAX_RESTARTS = 16
PLACEHOLDER = 1.797e308  # C's DBL_MAX, which loggers write where they have no value

_RESTART = re.compile(r'\{\s*"type"\s*:')
_NUMBERS_THAT_MAY_MISS = {"q", "p", "u", "gap", "ms", "ts", "next", "drafters", "verifier", "tokenizers", "labels"}
_IDS = {"id", "request", "proposal", "parent", "branch", "step", "drafter", "source", "key"}
_CONTROL = re.compile(r"[\x00-\x1f]")


class Problem(NamedTuple):
    """A code of the catalogue, the field path, what was expected and found, and how often."""

    code: str
    path: str
    text: str
    times: int = 1


class Salvaged(NamedTuple):
    """What a line gave: its events, each with the JSON that says the same, and its problems."""

    events: list[Event]
    problems: list[Problem]
    texts: list[bytes]


def salvage(line: bytes, codec: Codec, *, last: bool = False) -> Salvaged:
    """Events and problems of one line. `last`: the input ends here without a newline, so a broken line is a torn one."""
    if line.startswith(b"\xef\xbb\xbf"):
        line = line[3:]
        head = [Problem("byte_order_mark", "$", "")]
    else:
        head = []
    if not line.strip():
        return Salvaged([], head, [])
    known = _known_at_last(line, codec)
    if known is not None:
        return Salvaged([known[0]], [*head, *known[1]], [line])
    if len(line) > MAX_SALVAGED_LINE:
        return Salvaged([], [*head, _too_big(line, codec)], [])
    text, problems = _text(line)
    events: list[Event] = []
    texts: list[bytes] = []
    found, trouble = _objects(text, last)
    problems = [*head, *problems, *trouble]
    for parsed in found:
        obj, clean = _well_formed(parsed)
        if not clean:
            problems.append(Problem("invalid_utf8", "$", "half of a surrogate pair"))
        event, more, said = _event(obj, codec)
        problems.extend(more)
        if event is not None:
            events.append(event)
            texts.append(said)
    return Salvaged(events, problems, texts)


def _known_at_last(line: bytes, codec: Codec) -> tuple[Event, list[Problem]] | None:
    """The event, where all that was wrong with its line is a field or a type met for the first time, or one too many to be learned."""
    try:
        line.decode()
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        kind = msgspec.json.decode(fields["type"], type=str)
        if codec.learn({**fields, "type": kind}):
            return codec.decode(line), []
        if kind not in codec.types:
            return cast(Event, UnknownEvent()), [_unknown_type(kind)]
        (event,), surplus = codec.decode_surplus(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError):
        return None
    codec.surplus = True
    return event, [unlearned(names) for _, names in surplus]


def unlearned(names: list[str]) -> Problem:
    """One problem for all fields of a line that could not be learned."""
    return Problem("unknown_field", f"$.{names[0]}"[:80], f"and {len(names) - 1} more" if names[1:] else "", len(names))


def _unknown_type(kind: str) -> Problem:
    return Problem("unknown_type", "$.type", kind[:80])


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


def _event(obj: Any, codec: Codec) -> tuple[Any, list[Problem], bytes]:
    """The event, its problems, and the JSON that it was read from in the end."""
    if not isinstance(obj, dict):
        return None, [Problem("not_json", "$", f"expected an object, got {_kind(obj)}")], b""
    if not isinstance(obj.get("type"), str):
        return None, [Problem("bad_field", "$.type", f"expected a string, got {_kind(obj.get('type'))}")], b""
    codec.learn(obj)
    struct = codec.types.get(obj["type"])
    if struct is None:
        kept, problems = _finite(obj, "$", _is_infinite)
        return UnknownEvent(), [_unknown_type(obj["type"]), *problems], _json(kept)
    repaired, problems, lost = _repair(obj, struct)
    if lost:
        return None, problems, b""
    try:
        text = _json(repaired)
        (event,), surplus = codec.decode_surplus(text)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        return None, [*problems, Problem("bad_field", "$", str(error))], b""
    return event, problems + [unlearned(names) for _, names in surplus], text


def _json(obj: dict[str, Any]) -> bytes:
    # The standard library's, since msgspec writes no integer beyond 64 bits, and tokens may be any.
    return json.dumps(obj, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _repair(obj: dict[str, Any], struct: type[Event]) -> tuple[dict[str, Any], list[Problem], bool]:
    """The object with every value either as the struct wants it or left out; whether the event is lost."""
    out = {"type": obj["type"]}
    lost = False
    problems: list[Problem] = []
    for field in fields_of(struct):
        name = field.encode_name
        if name not in obj:
            if field.required:
                problems.append(Problem("bad_field", f"$.{name}", "required, and missing"))
                lost = True
            continue
        if obj[name] is None and not field.required:
            continue
        if _is_raw(field.type):
            out[name], more = _finite(obj[name], f"$.{name}", _is_infinite)
            problems.extend(more)
            continue
        value, more = _missing(name, obj[name])
        problems.extend(more)
        if value is None and obj[name] is not None:
            continue
        wrong = list(_mismatches(value, field.type, f"$.{name}"))
        problems.extend(Problem("bad_field" if field.required else "bad_optional_field", *w) for w in wrong)
        if not wrong:
            out[name] = value
        lost = lost or (bool(wrong) and field.required)
    for name in obj.keys() - names_of(struct):  # what could not be learned
        out[name], more = _finite(obj[name], f"$.{name}", _is_infinite)
        problems.extend(more)
    return out, problems, lost


def _missing(name: str, value: Any) -> tuple[Any, list[Problem]]:
    """NaN and the like become missing where a number may be; numbers become strings where an id must be."""
    if name in _IDS and isinstance(value, (int, float)) and not isinstance(value, bool):
        exact = isinstance(value, int) or value.is_integer()
        return str(int(value)) if exact else repr(value), [Problem("id_not_string", f"$.{name}", f"got {value!r}"[:80])]
    if name not in _NUMBERS_THAT_MAY_MISS:
        return value, []
    return _finite(value, f"$.{name}", _is_no_value)


def _finite(value: Any, path: str, is_none: Callable[[Any], bool]) -> tuple[Any, list[Problem]]:
    """The value with null for each number in it that is none."""
    problems: list[Problem] = []

    def kept(value: Any, path: str) -> Any:
        if is_none(value):
            problems.append(Problem("not_finite", path[:80], repr(value)))
            return None
        if isinstance(value, list):
            return [kept(v, f"{path}[{i}]") if isinstance(v, (float, list, dict)) else v for i, v in enumerate(value)]
        return {k: kept(v, f"{path}.{k}") for k, v in value.items()} if isinstance(value, dict) else value

    return kept(value, path), problems


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


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
