"""Writes a trace of any size, the same for the same options, line by line: memory does not grow with it.

Every verdict follows from its own numbers: a position is accepted iff u * q <= p. With the defaults a round takes about 440 bytes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VOCABULARY = 128_000
RATIOS = (0.25, 0.6, 0.9, 1.3, 2.0)  # p / q of one token; the drafters differ in how often they meet which
WEIGHTS = ((3, 2, 1, 2, 2), (2, 2, 2, 3, 3), (1, 1, 2, 3, 4), (4, 2, 1, 1, 2))


@dataclass(frozen=True)
class Shape:
    """What the trace is to look like. `chain`: blocks of a round, each extending the one before it; 0: one block, without a parent."""

    rounds: int = 400_000
    gamma: int = 5
    rounds_per_request: int = 100
    drafters: int = 3
    concurrency: int = 1
    chain: int = 0
    log_u: bool = False
    seed: int = 1


@dataclass
class Request:
    """A request under way."""

    name: str
    round: int = 0
    start: int = 0


class Maker:
    """Makes the lines of a trace."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.random = random.Random(shape.seed)
        self.names = [f"draft-{i + 1}" for i in range(shape.drafters)]
        self.ratios = [
            [ratio for ratio, weight in zip(RATIOS, WEIGHTS[i % len(WEIGHTS)], strict=True) for _ in range(weight)]
            for i in range(shape.drafters)
        ]
        self.blocks = itertools.count()

    def lines(self) -> Iterator[str]:
        """The header, then the rounds of so many requests at a time: all proposals of a step, then all its verdicts."""
        shape = self.shape
        yield self._header()
        left, numbers = shape.rounds, itertools.count()
        active: list[Request] = []
        while left:
            while len(active) < min(shape.concurrency, left):
                active.append(Request(f"req-{next(numbers):06d}"))
            steps = [self._round(request) for request in active[:left]]
            left -= len(steps)
            for proposals, _ in steps:
                yield from proposals
            for _, verdicts in steps:
                yield from verdicts
            active = [request for request in active if request.round < shape.rounds_per_request]

    def _header(self) -> str:
        return _line(
            {
                "type": "trace",
                "schema": "specdiag/1",
                "trace_id": f"made-{self.shape.seed}",
                "verification": {"rule": "rejection"},
                "drafters": [
                    {"id": name, "kind": "model", "tokenizer": name, "temperature": 0.7} for name in self.names
                ],
                "verifier": {"id": "verifier", "tokenizer": "verifier", "temperature": 0.7},
            }
        )

    def _round(self, request: Request) -> tuple[list[str], list[str]]:
        """Proposals and verdicts of the request's next round. Drafters take turns; behind a refusal nothing is judged."""
        shape, parent, came = self.shape, "null", True
        proposals, verdicts = [], []
        start, committed = request.start, 0
        for place in range(max(shape.chain, 1)):
            drafter = (request.round + place) % shape.drafters
            name = f"p{next(self.blocks)}"
            where = f'"request":"{request.name}","round":{request.round}'
            tokens, q, p, u, accepted = self._block(drafter)
            ts = f"1764000000.{request.round % 1000:03d}"
            proposals.append(
                f'{{"type":"proposal","id":"{name}",{where},"drafter":"{self.names[drafter]}","parent":{parent},'
                f'"start":{start},"tokens":[{tokens}],"q":[{q}],"ms":3.125,"ts":{ts}}}\n'
            )
            verdict = f'{{"type":"verdict","proposal":"{name}",{where},'
            if came:
                draws = f'"u":[{u}],' if shape.log_u else ""
                ended = accepted < shape.gamma or place + 1 >= shape.chain
                kind = "correction" if accepted < shape.gamma else "bonus"
                own = f'"next":{{"token":{self.random.randrange(VOCABULARY)},"kind":"{kind}"}},' if ended else ""
                verdict += f'"accepted":{accepted},"p":[{p}],{draws}{own}"ms":21.5,"ts":{ts}}}\n'
                committed += accepted
            else:
                verdict += f'"accepted":0,"judged":0,"p":[{p}],"ms":21.5,"ts":{ts}}}\n'
            verdicts.append(verdict)
            came = came and accepted == shape.gamma
            parent, start = f'"{name}"', start + shape.gamma
        request.round += 1
        request.start += committed + 1
        return proposals, verdicts

    def _block(self, drafter: int) -> tuple[str, str, str, str, int]:
        """Tokens, q, p and u as text, and how many are accepted. The numbers are rounded first and judged then."""
        draw, ratios = self.random.random, self.ratios[drafter]
        gamma, count = self.shape.gamma, len(self.ratios[drafter])
        tokens = [int(draw() * VOCABULARY) for _ in range(gamma)]
        q = [round(draw() * 0.999 + 0.0005, 6) for _ in range(gamma)]
        p = [min(1.0, round(value * ratios[int(draw() * count)], 6)) for value in q]
        u: list[float] = []
        accepted = 0
        for mine, its in zip(q, p, strict=True):
            u.append(round(draw(), 6))
            if u[-1] * mine > its:
                break
            accepted += 1
        return (*(",".join(map(repr, numbers)) for numbers in (tokens, q, p, u)), accepted)  # type: ignore[return-value]


def _line(event: dict[str, object]) -> str:
    return json.dumps(event, separators=(",", ":")) + "\n"


def write(shape: Shape, path: Path) -> None:
    """Write the trace: all of it, or nothing under that name."""
    unfinished = path.with_name(path.name + ".part")
    with open(unfinished, "w", encoding="ascii") as file:
        file.writelines(Maker(shape).lines())
    unfinished.replace(path)


def main() -> None:
    """The command line."""
    default = Shape()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=default.rounds)
    parser.add_argument("--gamma", type=int, default=default.gamma, help="tokens of a block")
    parser.add_argument("--rounds-per-request", type=int, default=default.rounds_per_request)
    parser.add_argument("--drafters", type=int, default=default.drafters)
    parser.add_argument("--concurrency", type=int, default=default.concurrency, help="requests under way at a time")
    parser.add_argument(
        "--chains",
        type=int,
        default=default.chain,
        metavar="N",
        help="make each round a chain of N blocks of different drafters",
    )
    parser.add_argument("--u", action="store_true", help="log the draws, too")
    parser.add_argument("--seed", type=int, default=default.seed)
    chosen = parser.parse_args()
    if (
        min(chosen.rounds, chosen.chains) < 0
        or min(chosen.gamma, chosen.rounds_per_request, chosen.drafters, chosen.concurrency) < 1
    ):
        parser.error("numbers must be positive")
    write(
        Shape(
            rounds=chosen.rounds,
            gamma=chosen.gamma,
            rounds_per_request=chosen.rounds_per_request,
            drafters=chosen.drafters,
            concurrency=chosen.concurrency,
            chain=chosen.chains,
            log_u=chosen.u,
            seed=chosen.seed,
        ),
        chosen.output,
    )


if __name__ == "__main__":
    main()
