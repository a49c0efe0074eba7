"""Decoding of trace lines, which learns the fields and types it does not know.

msgspec decodes into typed structs in C, and can either drop unknown fields without a word or refuse them. The format grows by addition,
so neither will do: a field or type met for the first time is learned (the struct grows by a raw field), and from then on decodes at full
speed, is counted exactly, and is written back unchanged. What can be learned is bounded, since a trace is untrusted: fields beyond the bound
are dropped by a decoder that does not mind them, and counted by their names.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Hashable
from typing import Any, cast

import msgspec

from specdiag.trace.events import EVENT_TYPES, Event, Proposal, Verdict

MAX_LEARNED = 256
MAX_LESSONS = 32  # each makes the decoder anew, at the cost of some hundred lines
Absent = msgspec.UNSET


class UnknownEvent(msgspec.Struct, gc=False, kw_only=True):
    """Base of the structs made for event types that this release does not know: they owe nothing to the ones it knows."""


class LeanProposal(
    msgspec.Struct, gc=False, tag_field="type", tag="proposal", forbid_unknown_fields=True, kw_only=True
):
    """Base of the structs that have some fields of a `Proposal`."""


class LeanVerdict(msgspec.Struct, gc=False, tag_field="type", tag="verdict", forbid_unknown_fields=True, kw_only=True):
    """Base of the structs that have some fields of a `Verdict`."""


_LEAN: dict[type[Event], type[msgspec.Struct]] = {Proposal: LeanProposal, Verdict: LeanVerdict}
_OPTIONAL = {f.name for full in _LEAN for f in msgspec.structs.fields(full) if not f.required}
_UNFIT = re.compile(r'[\\"\x00-\x1f]')  # characters that msgspec does not take in a name
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`")
_OBJECTS = msgspec.json.Decoder(dict[str, msgspec.Raw])

Surplus = list[tuple[int, list[str]]]
"""Of events: which one, and the names of its fields that were not learned."""


class Codec:
    """Decodes lines into events; `learn` teaches it a JSON object's unknown type or fields."""

    def __init__(self) -> None:
        self.types: dict[str, type[Any]] = dict(EVENT_TYPES)
        self.learned: dict[str, list[str]] = {}
        self.lessons = 0
        self.surplus = False  # whether a line has had fields that cannot be learned
        self._optional: frozenset[str] = frozenset()  # fields that lines have had so far
        self._rebuild()

    def _rebuild(self) -> None:
        union = functools.reduce(operator.or_, self.types.values())
        self._decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(union)
        self._loose: msgspec.json.Decoder[Event] | None = None

    def decode(self, line: bytes) -> Event:
        """One event from one line; msgspec.DecodeError where the line breaks the format."""
        _check_text(line)
        return self._decoder.decode(line)

    def decode_lines(self, chunk: bytes) -> list[Event]:
        """All events of whole lines; msgspec.DecodeError where any of them breaks the format."""
        _check_text(chunk)
        return self._decoder.decode_lines(chunk)

    def decode_lean(self, chunk: bytes) -> list[Any]:
        """The same, with proposals and verdicts as structs that lack the fields that no line has had: less to fill, and less to read."""
        while not self.learned:
            try:
                _check_text(chunk)
                return _lean_decoder(self._optional).decode_lines(chunk)
            except msgspec.ValidationError as error:
                unknown = _UNKNOWN.match(str(error))
                if unknown is None or unknown[1] not in _OPTIONAL - self._optional:
                    raise
                self._optional |= {unknown[1]}
        return self.decode_lines(chunk)

    def decode_surplus(self, chunk: bytes) -> tuple[list[Event], Surplus]:
        """All events of whole lines, without the fields that were not learned, and the names of these; msgspec.DecodeError where a line
        breaks the format otherwise. An event of an unknown type owes us no names."""
        _check_text(chunk)
        if self._loose is None:
            self._loose = msgspec.json.Decoder(functools.reduce(operator.or_, map(_relaxed, self.types.values())))
        events = self._loose.decode_lines(chunk)
        surplus: Surplus = []
        for place, (event, fields) in enumerate(zip(events, _OBJECTS.decode_lines(chunk), strict=True)):
            known = names_of(type(event))
            if not fields.keys() <= known and not isinstance(event, UnknownEvent):
                surplus.append((place, [name for name in fields if name not in known]))
        return events, surplus

    def learn(self, obj: dict[str, Any]) -> bool:
        """Grow the struct of this object's type by the fields it lacks. False where there was nothing to learn, or too much was."""
        tag = obj.get("type")
        if not isinstance(tag, str) or _UNFIT.search(tag):
            return False
        known = self.types.get(tag, UnknownEvent)
        have = names_of(known)
        new = [name for name in obj if name not in have and not _UNFIT.search(name)]
        if not new and tag in self.types:
            return False
        if sum(map(len, self.learned.values())) + len(self.learned) + len(new) > MAX_LEARNED:
            return False
        if self.lessons == MAX_LESSONS:
            return False
        self.lessons += 1
        self.learned.setdefault(tag, []).extend(new)
        self.types[tag] = _grown(tag, known, new, len(have))
        self._rebuild()
        return True

    def unknown_fields(self, tag: str) -> list[str]:
        """Names of the learned fields of a type, as they stand in the JSON."""
        return self.learned.get(tag, [])


def fields_of(kind: type[Any]) -> tuple[Any, ...]:
    """The fields of a struct. Looking them up compiles every annotation anew, so it is done once for each."""
    return _fields_of(cast(Hashable, kind))


@functools.lru_cache(maxsize=4 * MAX_LEARNED)
def _fields_of(kind: Any) -> tuple[Any, ...]:
    return msgspec.structs.fields(kind)


def names_of(kind: type[Any]) -> frozenset[str]:
    """The names that fields of a struct have in the JSON, `type` among them."""
    return _names_of(cast(Hashable, kind))


@functools.lru_cache(maxsize=4 * MAX_LEARNED)
def _names_of(kind: Any) -> frozenset[str]:
    return frozenset({"type", *(field.encode_name for field in fields_of(kind))})


def learned_of(kind: type[Any]) -> tuple[tuple[str, str], ...]:
    """(attribute, name in the JSON) of the fields of a struct that were learned."""
    return _learned_of(cast(Hashable, kind))


@functools.lru_cache(maxsize=4 * MAX_LEARNED)
def _learned_of(kind: Any) -> tuple[tuple[str, str], ...]:
    return tuple((f.name, f.encode_name) for f in fields_of(kind) if f.name != f.encode_name)


def tag_of(kind: type[Any]) -> str:
    """The `type` under which events of this struct stand in a trace."""
    tag = kind.__struct_config__.tag
    return "unknown" if tag is None else str(tag)


@functools.lru_cache
def _lean_decoder(optional: frozenset[str]) -> msgspec.json.Decoder[Any]:
    kinds: list[Any] = [kind for kind in EVENT_TYPES.values() if kind not in _LEAN]
    for full, base in _LEAN.items():
        fields = [f for f in msgspec.structs.fields(full) if f.required or f.name in optional]
        kinds.append(
            msgspec.defstruct(
                base.__name__,
                [(f.name, f.type) if f.required else (f.name, f.type, f.default) for f in fields],
                bases=(base,),
                kw_only=True,
                gc=False,
            )
        )
    return msgspec.json.Decoder(functools.reduce(operator.or_, kinds))


def whole(event: Any) -> Any:
    """The event as the struct of its type: with all of its fields, and without what was learned."""
    kind = EVENT_TYPES.get(tag_of(type(event)))
    if kind is None or type(event) is kind:
        return event
    names = set(kind.__struct_fields__)
    return kind(**{name: value for name, value in msgspec.structs.asdict(event).items() if name in names})


def _grown(tag: str, base: type[Any], names: list[str], serial: int) -> type[Any]:
    # Attribute names are made up, since a JSON name need not be an identifier, nor safe to set on a class.
    attributes = {f"x{serial}_{i}": name for i, name in enumerate(names)}
    return msgspec.defstruct(
        base.__name__,
        [(attribute, msgspec.Raw | msgspec.UnsetType, Absent) for attribute in attributes],
        bases=(base,),
        tag_field="type",
        tag=tag,
        rename=attributes,
        kw_only=True,
        gc=False,
        omit_defaults=True,
        forbid_unknown_fields=True,
    )


def _relaxed(kind: type[Any]) -> type[Any]:
    """The struct, dropping the fields that it does not know."""
    return msgspec.defstruct(
        kind.__name__, [], bases=(kind,), tag_field="type", tag=tag_of(kind), gc=False, forbid_unknown_fields=False
    )


def _check_text(data: bytes) -> None:
    """What is kept raw is not looked at by msgspec, so that it would take for text what is none."""
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise msgspec.DecodeError(str(error)) from None


_ENCODER = msgspec.json.Encoder()


def encode(event: Event) -> bytes:
    """One event as one line of JSON, without its newline; fields at their default are left out, unknown ones are kept."""
    return _ENCODER.encode(event)
