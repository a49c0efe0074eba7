"""Tests of specdiag.measure."""
