"""The version, read from the installed distribution."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("specdiag-cli")
except PackageNotFoundError:  # running from a checkout that is not installed
    __version__ = "0+unknown"
