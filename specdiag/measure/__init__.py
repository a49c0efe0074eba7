"""Pure functions on the ledger: counts that add up, and rates derived from them. No I/O."""
