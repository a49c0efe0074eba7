"""Tests of `specdiag.simulate`."""
