"""A few of the sums that `specdiag analyze` makes, by DuckDB from the same file: tokens submitted and accepted, and Σ min(1, p/q), by drafter.

DuckDB is told the types of the columns, reads only those it needs, and uses two threads.
"""

from __future__ import annotations

import argparse
import json

import duckdb

COLUMNS = {
    "type": "VARCHAR",
    "id": "VARCHAR",
    "proposal": "VARCHAR",
    "drafter": "VARCHAR",
    "tokens": "INTEGER[]",
    "q": "DOUBLE[]",
    "p": "DOUBLE[]",
    "accepted": "INTEGER",
    "judged": "INTEGER",
}
QUERY = """
    WITH event AS (SELECT * FROM read_ndjson($file, columns = {columns})),
    block AS (
        SELECT a.drafter, len(a.tokens) AS size, b.accepted, a.q, b.p,
            coalesce(b.judged, least(b.accepted + 1, len(a.tokens))) AS judged
        FROM event a JOIN event b ON a.id = b.proposal
        WHERE a.type = 'proposal' AND b.type = 'verdict'
    )
    SELECT drafter, sum(size), sum(accepted),
        sum(list_sum(list_transform(range(1, 1 + judged), lambda i: least(1, p[i] / q[i]))))
    FROM block GROUP BY drafter ORDER BY drafter
"""


def sums(file: str, threads: int = 2) -> list[dict[str, object]]:
    """One row a drafter."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    connection.execute("SET preserve_insertion_order = false")
    rows = connection.execute(
        QUERY.replace("{columns}", json.dumps(COLUMNS).replace('"', "'")), {"file": file}
    ).fetchall()
    names = ("drafter", "submitted", "accepted", "expected")
    return [dict(zip(names, (row[0], int(row[1]), int(row[2]), float(row[3] or 0)), strict=True)) for row in rows]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    print(json.dumps(sums(chosen.file, chosen.threads), indent=2))


if __name__ == "__main__":
    main()
