"""What decoding alone costs: the events of a trace, by the decoder and into the structs that specdiag uses, and nothing done with them."""

from __future__ import annotations

import argparse
import functools
import operator
from typing import Any

import msgspec

from specdiag.trace.events import EVENT_TYPES

CHUNK = 64 * 1024


def line_by_line(path: str, decoder: msgspec.json.Decoder[Any]) -> int:
    """Decode each line on its own; the number of events."""
    number = 0
    with open(path, "rb") as file:
        for line in file:
            decoder.decode(line)
            number += 1
    return number


def chunked(path: str, decoder: msgspec.json.Decoder[Any]) -> int:
    """Decode so many whole lines at a time; the number of events."""
    number, rest = 0, b""
    with open(path, "rb") as file:
        while block := file.read(CHUNK):
            end = block.rfind(b"\n") + 1
            if end:
                number += len(decoder.decode_lines(rest + block[:end]))
                rest = block[end:]
            else:
                rest += block
    return number + len(decoder.decode_lines(rest))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--chunked", action="store_true", help=f"decode {CHUNK // 1024} kB of whole lines at a time")
    chosen = parser.parse_args()
    decoder = msgspec.json.Decoder(functools.reduce(operator.or_, EVENT_TYPES.values()))
    print((chunked if chosen.chunked else line_by_line)(chosen.file, decoder))


if __name__ == "__main__":
    main()
