"""Tests of what a broken log, a malicious trace or an impatient user does to the program."""
