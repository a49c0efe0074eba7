"""Tests of specdiag.trace."""
