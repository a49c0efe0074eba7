"""`python -m specdiag`."""

from __future__ import annotations

from specdiag.cli.start import main

if __name__ == "__main__":
    main()
