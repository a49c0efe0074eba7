"""Writing a trace from one's own loop."""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

from specdiag.errors import shown
from specdiag.trace.events import (
    SCHEMA,
    Ballot,
    Consensus,
    DrafterInfo,
    Effect,
    Event,
    Next,
    Note,
    Proposal,
    Software,
    TokenizerInfo,
    Trace,
    Verdict,
    Verification,
    VerifierInfo,
)


def _plain(value: Any) -> Any:
    """Arrays and scalars of numpy, torch and the like, as Python numbers and lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a trace cannot hold a value of type {type(value).__name__}")


class Recorder:
    """Records proposals and verdicts to a file, one line an event, each with one write: a killed process loses at most its last line.

    The file is only ever appended to: a second recorder on it begins a new trace, behind a header of its own. Numbers may come as
    lists, numpy arrays or anything with `tolist`; NaN is written as null. Methods raise OSError where the disk does, and TypeError
    for a value that JSON has no form for; they never drop an event in silence. Safe for several threads: a line is a single append.

        with Recorder("trace.jsonl", drafters=[{"id": "code", "tokenizer": "llama3", "temperature": 0.7}], rule="rejection") as trace:
            block = trace.propose(request="r1", round=0, drafter="code", start=0, tokens=[11, 12], q=[0.9, 0.5])
            trace.verdict(block, accepted=1, p=[0.8, 0.1], u=[0.3, 0.7], next_token=99)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        drafters: Sequence[Mapping[str, Any]] = (),
        verifier: Mapping[str, Any] | None = None,
        tokenizers: Mapping[str, Mapping[str, Any]] | None = None,
        rule: str = "unknown",
        engine: tuple[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        trace_id: str | None = None,
        source: str | None = None,
    ) -> None:
        """`drafters`, `verifier` and `tokenizers` are as in the header of the trace format; `rule` is its `verification.rule`."""
        self._header = Trace(
            schema=SCHEMA,
            trace_id=trace_id or uuid.uuid4().hex,
            engine=Software(*engine) if engine else None,
            recorder=Software("specdiag"),
            verification=Verification(rule),
            drafters=msgspec.convert(list(drafters), list[DrafterInfo]),
            verifier=msgspec.convert(verifier, VerifierInfo) if verifier is not None else None,
            tokenizers=msgspec.convert(dict(tokenizers), dict[str, TokenizerInfo]) if tokenizers else None,
            labels=dict(labels) if labels else None,
            source=source,
        )
        self._source = source
        self._encode = msgspec.json.Encoder(enc_hook=_plain).encode
        self._blocks = itertools.count()
        self._waiting: dict[str, tuple[str, int, int]] = {}  # request, round, tokens
        self._file = -1
        self._path = Path(path)

    def __enter__(self) -> Self:
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            self._append(b"\n")  # a line that a killed process left open must not swallow the header
        self.write(self._header)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        file, self._file = self._file, -1
        os.close(file)

    def write(self, event: Event) -> None:
        """Append any event."""
        self._append(self._encode(event) + b"\n")

    def propose(
        self,
        *,
        request: str,
        round: int,
        drafter: str,
        start: int,
        tokens: Sequence[int],
        parent: str | None = None,
        branch: str | None = None,
        step: str | None = None,
        q: Sequence[float | None] | None = None,
        submitted: Sequence[int] | None = None,
        bytes: Sequence[int] | None = None,
        submitted_bytes: Sequence[int] | None = None,
        gated: int | None = None,
        context_digest: str | None = None,
        ms: float | None = None,
        ts: float | None = None,
        id: str | None = None,
    ) -> str:
        """Record a block; its id, which `verdict` and the `parent` of the next block take."""
        if id is None:
            id = f"p{next(self._blocks)}"
        self._waiting[id] = (request, round, len(tokens if submitted is None else submitted))
        self.write(
            Proposal(
                id=id,
                request=request,
                round=round,
                branch=branch,
                step=step,
                drafter=drafter,
                parent=parent,
                start=start,
                tokens=tokens,  # type: ignore[arg-type]
                submitted=submitted,  # type: ignore[arg-type]
                bytes=bytes,  # type: ignore[arg-type]
                submitted_bytes=submitted_bytes,  # type: ignore[arg-type]
                q=q,  # type: ignore[arg-type]
                gated=gated,
                context_digest=context_digest,
                ms=ms,
                ts=ts,
                source=self._source,
            )
        )
        return id

    def verdict(
        self,
        proposal: str,
        *,
        accepted: int,
        request: str | None = None,
        round: int | None = None,
        judged: int | None = None,
        committed: int | None = None,
        stop: str | None = None,
        p: Sequence[float | None] | None = None,
        u: Sequence[float | None] | None = None,
        gap: Sequence[float | None] | None = None,
        next_token: int | None = None,
        next_kind: Literal["correction", "bonus"] | None = None,
        next_p: float | None = None,
        context_digest: str | None = None,
        ms: float | None = None,
        ts: float | None = None,
        batch: int | None = None,
        context: int | None = None,
    ) -> None:
        """Record the verdict on a block. For one that another process recorded give its `request` and `round`; else KeyError."""
        known = self._waiting.pop(proposal, None)
        if known is None:
            if request is None or round is None:
                raise KeyError(f"{shown(proposal)}: not recorded here: give its request and round")
            known = (request, round, accepted + 1)
        request, round, size = known
        kind = next_kind or ("correction" if accepted < size else "bonus")
        self.write(
            Verdict(
                proposal=proposal,
                request=request,
                round=round,
                accepted=accepted,
                judged=judged,
                committed=committed,
                stop=stop,
                p=p,  # type: ignore[arg-type]
                u=u,  # type: ignore[arg-type]
                gap=gap,  # type: ignore[arg-type]
                context_digest=context_digest,
                next=None if next_token is None else Next(next_token, kind, next_p),
                ms=ms,
                ts=ts,
                batch=batch,
                context=context,
                source=self._source,
            )
        )

    def consensus(
        self,
        *,
        request: str,
        step: str,
        quorum: int,
        ballots: Mapping[str, Any],
        outcome: Literal["agreed", "fallback"],
        value: Any = None,
        ts: float | None = None,
    ) -> None:
        """Record the vote at the end of a step: `ballots` maps a branch to the value it voted for."""
        listed = [Ballot(branch, msgspec.Raw(self._encode(choice))) for branch, choice in ballots.items()]
        chosen = msgspec.UNSET if value is None else msgspec.Raw(self._encode(value))
        self.write(
            Consensus(
                request=request,
                step=step,
                quorum=quorum,
                ballots=listed,
                outcome=outcome,
                value=chosen,
                ts=ts,
                source=self._source,
            )
        )

    def effect(
        self,
        *,
        request: str,
        step: str,
        branch: str,
        key: str,
        action: Literal["stage", "commit", "discard"],
        target: str | None = None,
        args_digest: str | None = None,
        ts: float | None = None,
    ) -> None:
        """Record a side effect that is staged, committed or discarded."""
        self.write(
            Effect(
                request=request,
                step=step,
                branch=branch,
                key=key,
                action=action,
                target=target,
                args_digest=args_digest,
                ts=ts,
                source=self._source,
            )
        )

    def note(self, text: str) -> None:
        """Record a remark; the analysis ignores it."""
        self.write(Note(text=text, source=self._source))

    def _append(self, line: bytes) -> None:
        if self._file < 0:
            raise ValueError("the recorder is closed: use it in a `with` block")
        written = os.write(self._file, line)
        try:
            while written < len(line):  # a nearly full disk, or a signal
                written += os.write(self._file, line[written:])
        except OSError:
            self._take_back(line[:written])
            raise

    def _take_back(self, part: bytes) -> None:
        """Cut the beginning of a line off again, where it still is the end of the file: somebody else may append too."""
        size = os.fstat(self._file).st_size
        if os.pread(self._file, len(part), size - len(part)) == part:
            os.ftruncate(self._file, size - len(part))
