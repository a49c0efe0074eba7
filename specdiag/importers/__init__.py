"""Logs and result files of engines, made into traces."""
