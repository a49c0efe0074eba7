"""Tests of specdiag.cli."""
