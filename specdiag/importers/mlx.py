"""MLX: the tokens that mlx-lm streams, each with whether it came from the drafter.

Source: mlx_lm/generate.py of 0.32.0 (d78bf58e): one `GenerationResponse` a token, of which the last one of a request has a `finish_reason`.
A round gives its accepted drafts, then a token of the verifier; only where the output ends with a draft, the end or a stop token cut the
last round, and it may have accepted more. Every round proposes at least one draft; how many, and which were refused, is not said. Prefill
samples no token of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from specdiag.importers.fields import count
from specdiag.importers.interface import DRAFTER, Found, Importer, Output, Trouble
from specdiag.importers.nested import holders
from specdiag.importers.source import Source
from specdiag.trace.events import TallyEvent

MOST = 4096  # accepted tokens of one round; a longer run is no round


@dataclass(slots=True)
class Stream:
    """A request so far: what its responses have in common, how many tokens came, and how many rounds ended with each number of drafts."""

    line: int
    key: tuple[str, ...]
    tokens: int = 0
    run: int = 0
    ended: dict[int, int] = field(default_factory=dict)

    def add(self, from_draft: bool) -> None:
        """One more token."""
        self.tokens += 1
        if from_draft:
            self.run += 1
        else:
            self.ended[self.run] = self.ended.get(self.run, 0) + 1
            self.run = 0

    def tally(self) -> TallyEvent:
        """Its counts. Of a stream without a draft nobody knows whether it had a drafter: then its rounds are not given."""
        if self.run:
            self.ended[self.run] = self.ended.get(self.run, 0) + 1
        accepted = sum(length * number for length, number in self.ended.items())
        longest = max(self.ended, default=0)
        reached = [sum(n for length, n in self.ended.items() if length >= i) for i in range(1, longest + 1)]
        return TallyEvent(
            drafter=DRAFTER,
            window="request",
            requests=1,
            rounds=sum(self.ended.values()) if accepted else None,
            accepted=accepted,
            completion_tokens=self.tokens,
            reached=reached if accepted else None,
            definitions="mlx",
        )


def read(source: Source) -> Iterator[Output]:
    """One request from its first token to the one with a `finish_reason`. One whose tokens are not all there, or not its own, is left out."""
    stream: Stream | None = None
    for line, value in source.values():
        for response in holders(value, "from_draft"):
            last = response.get("finish_reason") is not None
            following = stream.tokens + 1 if stream else 1
            number = count(response.get("generation_tokens"))
            ours = stream is not None and stream.key == _key(response)
            # A release may say the last token again, with the reason why it is the last.
            again = ours and last and number == following - 1
            if not again:
                if stream is not None and not (ours and number == following):
                    yield _left(stream)
                    stream = None
                if stream is None and number == 1:
                    stream = Stream(line, _key(response))
                if stream is None:
                    continue
                stream.add(response["from_draft"] is True)
            if stream is not None and (last or stream.run > MOST):
                yield Found(stream.line, stream.tally()) if last else _left(stream)
                stream = None
    if stream is not None:
        yield _left(stream)


def _key(response: dict[str, Any]) -> tuple[str, ...]:
    """What is the same in all responses of a request."""
    return tuple(repr(response.get(name))[:80] for name in ("prompt_tokens", "prompt_tps"))


def _left(stream: Stream) -> Trouble:
    return Trouble(stream.line, "report_unreadable", f"request of which {stream.tokens} tokens are there, and no end")


IMPORTERS = (
    Importer(
        name="mlx/stream",
        reads="the responses of `mlx_lm.stream_generate` as JSON, one a token (`from_draft`)",
        carries="rounds, accepted tokens, rounds by position, output tokens of each request",
        lacks="proposed tokens, so no acceptance rate; what the last round accepted behind the end of the output",
        recognise=lambda head: b'"from_draft"' in head and b'"generation_tokens"' in head,
        read=read,
    ),
)
