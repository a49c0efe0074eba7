"""Simulated traces, from a mechanism with stated parameters."""
