"""The tests of specdiag."""
