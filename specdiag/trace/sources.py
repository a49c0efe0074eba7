"""Opening inputs: files, globs, directories and standard input; plain, gzip or zstd; UTF-8 or UTF-16. Gives segments of whole lines.

A plain file is cut by byte ranges, so that several processes can read it; anything else is a stream, cut as it comes. No more than a
segment is held, however long the input or a line of it is.
"""

from __future__ import annotations

import codecs
import glob
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from specdiag.errors import InputError, shown
from specdiag.files import zstd
from specdiag.trace.notes import Notes

SEGMENT = 8 << 20
MAX_LINE = 16 << 20
STDIN = "-"
SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".jsonl.zst", ".ndjson.zst")

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UTF8_MARK = codecs.BOM_UTF8


@dataclass(frozen=True, slots=True)
class Origin:
    """What a segment was made of: for each of its lines the line of the input that it came from; how many lines of the input had been read before,
    and how many lines and bytes were read for it; and what was wrong with them. Lines are those of the whole input."""

    line_of: tuple[int, ...]
    before: int
    lines: int
    size: int
    notes: Notes


@dataclass(frozen=True, slots=True)
class Piece:
    """A segment: whole lines, as bytes or as a range of a plain file. `notes`: (code, text) of trouble met while reading up to here;
    `skipped`: the segment is one line, too long to be held. `origin`: where the lines are not those of the input, but were made of it."""

    data: bytes = b""
    path: str = ""
    begin: int = 0
    end: int = 0
    last: bool = False
    skipped: bool = False
    notes: tuple[tuple[str, str], ...] = ()
    origin: Origin | None = None

    def read(self) -> bytes:
        """The bytes of the segment."""
        return self.head(self.end - self.begin) if self.path else self.data

    def head(self, size: int) -> bytes:
        """Its first bytes."""
        if not self.path:
            return self.data[:size]
        try:
            with open(self.path, "rb") as file:
                file.seek(self.begin)
                return file.read(min(size, self.end - self.begin))
        except OSError as error:
            raise InputError(
                f"{shown(self.path)}: {error.strerror or error}", "It went away while it was read."
            ) from error


def expand(arguments: list[str]) -> list[str]:
    """The inputs that these arguments name: `-`, files, globs, and directories (searched for traces). InputError where there are none."""
    found: list[str] = []
    for argument in arguments:
        if not argument:
            raise InputError(
                "an input without a name", "Give a file, a directory, a glob in quotes, or - for standard input."
            )
        if argument == STDIN or (Path(argument).exists() and not Path(argument).is_dir()):
            matches = [argument]
        elif Path(argument).is_dir():
            matches = _inside(argument)
            _some(
                matches,
                f"{shown(argument)}: no trace in this directory",
                f"A trace ends in one of {', '.join(SUFFIXES)}.",
            )
        else:
            named = glob.glob(argument, recursive=True) if glob.has_magic(argument) else []
            found_in = ([match] if Path(match).is_file() else _inside(match) for match in named)
            matches = sorted({file for files in found_in for file in files})
            _some(
                matches,
                f"{shown(argument)}: no such file",
                "Give a file, a directory, a glob in quotes, or - for standard input.",
            )
        found.extend(match for match in matches if match not in found)
    return found


def _inside(folder: str) -> list[str]:
    """The traces in a folder and below it."""
    return sorted(str(p) for p in Path(folder).rglob("*") if p.name.endswith(SUFFIXES) and p.is_file())


def _some(matches: list[str], what: str, advice: str) -> None:
    if not matches:
        raise InputError(what, advice)


def pieces(name: str, segment: int | None = None) -> Iterator[Piece]:
    """The segments of one input, in order, of about `segment` bytes each."""
    segment = segment or SEGMENT
    try:
        if name == STDIN and sys.stdin is None:
            raise InputError("standard input is closed", "Give a file, or open it.")
        if name == STDIN:
            yield from _stream(io.BufferedReader(_Raw(sys.stdin.buffer)), segment)
            return
        with open(name, "rb") as file:
            # A pipe cannot be read twice, not even its first bytes.
            plain = Path(name).is_file() and _is_plain(file.read(4))
            if plain or Path(name).is_file():
                file.seek(0)
            yield from _ranges(file, name, segment) if plain else _stream(file, segment)
    except OSError as error:
        raise InputError(
            f"{shown(name)}: {error.strerror or error}", "Check that the file exists and can be read."
        ) from error


def _is_plain(head: bytes) -> bool:
    return not (head.startswith((_GZIP, _ZSTD, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, _UTF8_MARK)) or b"\0" in head)


def _ranges(file: IO[bytes], name: str, segment: int) -> Iterator[Piece]:
    """Byte ranges of about `segment` bytes that end behind a newline."""
    size = file.seek(0, io.SEEK_END)
    begin = 0
    while begin < size:
        end, too_long = _line_end(file, begin, min(begin + segment, size), size)
        start = _line_start(file, begin, begin + segment) if too_long else end
        if start > begin:
            yield Piece(path=name, begin=begin, end=start, last=end >= size)
        if too_long:
            yield Piece(skipped=True, last=end >= size)
        begin = end


def _line_end(file: IO[bytes], begin: int, at: int, size: int) -> tuple[int, bool]:
    """Where the line that holds byte `at - 1` ends, and whether it is too long to be held."""
    file.seek(at - 1)
    position = at - 1
    while position < size:
        block = file.read(1 << 16)
        if not block:  # the file became shorter while it was read: there is nothing more to come
            return size, False
        newline = block.find(b"\n")
        if newline >= 0:
            position += newline + 1
            break
        position += len(block)
    return min(position, size), position - at > MAX_LINE


def _line_start(file: IO[bytes], begin: int, at: int) -> int:
    """Where the line that holds byte `at - 1` begins."""
    file.seek(begin)
    return begin + file.read(at - begin).rfind(b"\n") + 1


class _Raw(io.RawIOBase):
    """Standard input as a raw stream, so that peeking works on a pipe and closing leaves it open."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _stream(file: Any, segment: int) -> Iterator[Piece]:
    """Segments of a stream, decompressed and as UTF-8. Trouble while reading ends the stream with a note on the last segment."""
    buffered = file if isinstance(file, io.BufferedReader) else io.BufferedReader(file)
    notes: list[tuple[str, str]] = []
    blocks = _as_utf8(_decompressed(buffered, notes), notes)
    held, dropping = b"", False
    for block in blocks:
        if dropping:
            newline = block.find(b"\n")
            if newline < 0:
                continue
            block, dropping = block[newline + 1 :], False
        held += block
        if len(held) < segment:
            continue
        cut = held.rfind(b"\n") + 1
        if cut:
            yield Piece(data=held[:cut], notes=tuple(notes))
            notes.clear()
            held = held[cut:]
        elif len(held) > MAX_LINE:
            yield Piece(skipped=True)
            held, dropping = b"", True
    yield Piece(data=held, last=True, notes=tuple(notes))


def _decompressed(file: io.BufferedReader, notes: list[tuple[str, str]]) -> Iterator[bytes]:
    head = file.peek(4)[:4]
    stream: Any = file
    if head.startswith(_GZIP):
        stream = gzip.GzipFile(fileobj=file)
    elif head.startswith(_ZSTD):
        stream = zstd("reading").ZstdFile(file)
    while True:
        try:
            # Not read(): that would lose what it had before an error.
            block = stream.read1(1 << 18)
        except EOFError as error:
            notes.append(("truncated_stream", str(error)))
            return
        except (zlib.error, gzip.BadGzipFile, ValueError, ArithmeticError) as error:
            notes.append(("corrupt_stream", str(error)))
            return
        except Exception as error:  # the zstd error class has different homes in different Python versions
            if type(error).__name__ != "ZstdError":
                raise
            # A window may be 2^31 bytes large, which anybody can ask for in a file of a few bytes.
            code = "large_window" if "too much memory" in str(error) else "corrupt_stream"
            notes.append((code, str(error)))
            return
        if not block:
            return
        yield block


def _as_utf8(blocks: Iterator[bytes], notes: list[tuple[str, str]]) -> Iterator[bytes]:
    first = b""
    while len(first) < 4 and (block := next(blocks, b"")):
        first += block
    encoding = _utf16(first)
    if encoding:
        notes.append(("utf_16", encoding))
        decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        yield decoder.decode(first).removeprefix("\ufeff").encode(errors="replace")
        for block in blocks:
            yield decoder.decode(block).encode(errors="replace")
        yield decoder.decode(b"", final=True).encode(errors="replace")
        return
    if first.startswith(_UTF8_MARK):
        notes.append(("byte_order_mark", "at the start of the input"))
        first = first[len(_UTF8_MARK) :]
    yield first
    yield from blocks


def _utf16(first: bytes) -> str:
    if first.startswith(codecs.BOM_UTF16_LE) or first[1:2] == b"\0" != first[:1]:
        return "utf-16-le"
    if first.startswith(codecs.BOM_UTF16_BE) or first[:1] == b"\0" != first[1:2]:
        return "utf-16-be"
    return ""
