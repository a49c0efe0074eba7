"""The trace: typed events, reader, recorder, and the ledger in columns."""
