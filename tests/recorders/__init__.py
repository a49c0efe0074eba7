"""Tests of specdiag.recorders."""
