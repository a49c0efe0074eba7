"""The public surface."""

from __future__ import annotations

import subprocess
import sys

import specdiag


def test_all_is_exactly_what_can_be_imported() -> None:
    """`__all__` names what the package offers, and each name is there."""
    assert sorted(specdiag.__all__) == sorted(specdiag._HOME)
    assert all(getattr(specdiag, name) is not None for name in specdiag.__all__)
    assert dir(specdiag) == specdiag.__all__


def test_importing_the_package_loads_nothing_heavy() -> None:
    """`import specdiag` and the program's entry point load neither numpy nor rich's console nor the analysis."""
    code = "import sys, specdiag, specdiag.cli.app; print([m for m in ('numpy', 'msgspec', 'rich.console', 'specdiag.trace') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_wrong_name_is_an_attribute_error() -> None:
    """A name that is not there fails as for any module."""
    assert not hasattr(specdiag, "frobnicate")
