"""Tests of specdiag.scale."""
