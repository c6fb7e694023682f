"""Compare the ingest of a log in which every line is relevant with DuckDB, which extracts the header and one message's fields from the same file.

    pip install duckdb
    python bench/make_log.py LOGS OUT --gigabytes 0.3 --relevant 1.0
    python bench/ingest_vs_duckdb.py OUT [--jobs 2] [--rounds 1]

DuckDB reads lines, extracts time, level, logger and source line of each and the generation and member ID of one message with `regexp_extract`, and
writes Parquet: a small part of what ingest finds in them. Both run as separate processes, alternately, on the same number of cores.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ingest_vs_spark import INGEST, KEPT, compare

DUCKDB = r"""
import sys, duckdb
db = duckdb.connect(config={"threads": int(sys.argv[3])})
head, tail = r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] ([A-Z]+) ", r" \(([\w.$]+)(?::(\d+))?\)$"
joined = r"Successfully joined group with generation Generation\{generationId=(\d+), memberId='([^']*)'"
rows = db.execute(f'''COPY (
  SELECT try_strptime(h.ts, '%Y-%m-%d %H:%M:%S,%g') AS ts, h.level, t.logger, t.source_line, j.generation, j.member_id, line AS message
  FROM (SELECT line, regexp_extract(line, '{head}', ['ts', 'level']) AS h, regexp_extract(line, '{tail}', ['logger', 'source_line']) AS t,
      regexp_extract(line, '{joined.replace(chr(39), chr(39) * 2)}', ['generation', 'member_id']) AS j
    FROM read_csv(?, columns={{'line': 'VARCHAR'}}, delim=chr(1), quote='', escape='', header=false, auto_detect=false, strict_mode=false, max_line_size=10000000)))
  TO '{sys.argv[2]}' (FORMAT parquet)''', [sys.argv[1]]).fetchone()[0]
print(rows, "rows")
"""
#: The same with the columns that Spark extracts, for the lines that Spark keeps.
DUCKDB_AS_SPARK = (
    DUCKDB.replace("j.generation, j.member_id", r"regexp_extract(line, 'generation(?:Id=| )(\d+)', 1) AS generation")
    .replace(",\n      regexp_extract(line, '{joined.replace(chr(39), chr(39) * 2)}', ['generation', 'member_id']) AS j", "")
    .replace("max_line_size=10000000)))", f"max_line_size=10000000) WHERE regexp_matches(line, '{KEPT}')))")
    .replace("(f'''", "(rf'''")
)


def main() -> None:
    """Run both alternately and print the ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("log", type=Path, help="one file")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    best = compare(args.log, args.jobs, args.rounds, {"ingest": INGEST, "duckdb": DUCKDB})
    print(f"ratio of wall times {best['duckdb'].wall / best['ingest'].wall:.2f} (above 1: ingest is faster)")


if __name__ == "__main__":
    main()
