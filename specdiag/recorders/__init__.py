"""Recorders that hook into other people's programs."""
