"""Every exception that specdiag raises on purpose.

    SpecdiagError            exit code 2 unless said otherwise
    +-- UsageError           an option or argument that cannot be
    +-- InputError           an input that cannot be read at all
    |   +-- EmptyInput       no event was read: never an empty report
    +-- TraceError           a line of a trace that breaks the format (strict mode)
    +-- MissingExtra         a package that an optional part needs is not installed

The message of each has two parts: what failed, and what to do about it.
"""

from __future__ import annotations

LONGEST = 200  # characters of a name or a text from outside in a message
IN_A_SENTENCE = 60  # where several may stand in one sentence


class SpecdiagError(Exception):
    """Base of all errors of this package; `exit_code` is what the command line returns for it."""

    exit_code = 2

    def __init__(self, what: str, advice: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.what}\n{self.advice}" if self.advice else self.what


class UsageError(SpecdiagError):
    """An option or argument that cannot be."""


class InputError(SpecdiagError):
    """An input that cannot be opened or read."""


class EmptyInput(InputError):
    """No event was read, so there is nothing that a report could say."""


class TraceError(SpecdiagError):
    """A line that breaks the trace format, in strict mode; `problems` holds every problem of that line."""

    def __init__(self, problems: list[str], advice: str = "") -> None:
        super().__init__("\n".join(problems), advice)
        self.problems = problems


class MissingExtra(SpecdiagError):
    """A package that an optional part needs is not installed."""


def cut(text: str, longest: int = LONGEST) -> str:
    """The text, or its ends where it is too long: what a trace says may be megabytes, and long names often differ at the end."""
    if len(text) <= longest:
        return text
    end = longest // 3
    return f"{text[: longest - end - 1]}…{text[-end:]}"


def shown(text: str) -> str:
    """A file name, or words from a trace, as one line that is not too long: what cannot be printed is written as an escape."""
    text = cut(text)
    return text if text.isprintable() else cut(ascii(text)[1:-1])
