"""The version, said once: the build reads it from here. Looking it up in the installed distribution would cost every call 15 ms."""

from __future__ import annotations

__version__ = "0.1.0"
