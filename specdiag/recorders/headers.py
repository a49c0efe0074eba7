"""A recorder whose header follows what is recorded: what a header says is known only when the first request comes."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import msgspec

from specdiag.trace.events import SCHEMA, Trace
from specdiag.trace.recorder import Recorder


class Headed:
    """One file with a trace for each setting: what is recorded under another setting stands under a header of its own."""

    def __init__(
        self, path: str | os.PathLike[str], *, labels: Mapping[str, str], trace_id: str | None, source: str | None
    ) -> None:
        self._path, self._labels, self._source = path, labels, source
        self._id = trace_id or uuid.uuid4().hex
        self._ids: dict[bytes, str] = {}
        self._setting = b""
        self._recorder: Recorder | None = None

    def __enter__(self) -> Self:
        # Where the file cannot be written, fail now and not behind the first pass of a model.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._recorder is not None:
            self._recorder.__exit__(kind, error, trace)

    def under(self, engine: tuple[str, str], header: Mapping[str, Any]) -> Recorder:
        """The recorder, what follows being under this header: `rule`, `drafters`, `verifier`, `tokenizers`, `labels`."""
        setting = msgspec.json.encode(header, order="deterministic")
        named = {
            "labels": {**header["labels"], **self._labels},
            "trace_id": self._ids.setdefault(setting, f"{self._id}.{len(self._ids)}" if self._ids else self._id),
            "source": self._source,
        }
        if self._recorder is None:
            self._recorder = Recorder(self._path, **{**header, **named}, engine=engine).__enter__()
        elif setting != self._setting:
            software = {"engine": dict(zip(("name", "version"), engine, strict=True)), "recorder": {"name": "specdiag"}}
            fields = {name: value for name, value in header.items() if name != "rule"}
            whole = {**fields, **named, **software, "schema": SCHEMA, "verification": {"rule": header["rule"]}}
            self._recorder.write(msgspec.convert({"type": "trace", **whole}, Trace))
        self._setting = setting
        return self._recorder
