"""Writes the log of a server of any size, the same for the same options: requests, and every so many lines a line of vLLM (0.10.2 and later) on
speculative decoding, with counts that fit each other."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

GAMMA = 3
REQUEST = '(APIServer pid=812) INFO:     10.2.{}.{}:{} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
REPORT = (
    "(APIServer pid=812) INFO 11-02 14:{:02}:{:02} [metrics.py:101] SpecDecoding metrics: Mean acceptance length: {:.2f}, "
    "Accepted throughput: {:.2f} tokens/s, Drafted throughput: {:.2f} tokens/s, Accepted: {} tokens, Drafted: {} tokens, "
    "Per-position acceptance rate: {}, Avg Draft acceptance rate: {:.1f}%\n"
)


def lines(every: int, seed: int = 1) -> Iterator[str]:
    """The lines, without end."""
    chance = random.Random(seed)
    while True:
        for _ in range(every - 1):
            yield REQUEST.format(chance.randrange(256), chance.randrange(256), chance.randrange(1024, 65536))
        rounds = chance.randrange(50, 900)
        reached = [rounds]
        for _ in range(GAMMA):
            reached.append(sum(chance.random() < 0.6 for _ in range(reached[-1])))
        accepted, drafted = sum(reached[1:]), rounds * GAMMA
        rates = ", ".join(f"{n / rounds:.3f}" for n in reached[1:])
        speeds = accepted / 10, drafted / 10
        clock = chance.randrange(60), chance.randrange(60)
        share = 100 * accepted / drafted
        yield REPORT.format(*clock, 1 + accepted / rounds, *speeds, accepted, drafted, rates, share)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--every", type=int, default=1000, help="one line of so many is a report")
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args()
    left = chosen.megabytes * 1_000_000
    with chosen.output.open("w", encoding="ascii") as file:
        for line in lines(chosen.every):
            file.write(line)
            left -= len(line)
            if left <= 0:
                return


if __name__ == "__main__":
    main()
