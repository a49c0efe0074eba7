"""Recording real traces: drafters and a verifier, one exact loop of verification, and backends that run models."""
