# SPDX-License-Identifier: Apache-2.0
"""The one SELECT that an agent may run: what is refused, and that what is accepted means the same."""

from __future__ import annotations

import make_answers
import pytest
from make_docs import DOCS

from forensics.agents.one_select import accept
from forensics.errors import UsageError


@pytest.mark.parametrize(
    "statement",
    [
        # files
        "SELECT * FROM parquet.`/etc/passwd`",
        "SELECT * FROM text.`/etc/passwd`",
        "SELECT * FROM `/etc/passwd`",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_files('/etc/passwd')",
        "SELECT * FROM IDENTIFIER('text.`/etc/passwd`')",
        "SELECT (SELECT count(*) FROM csv.`/etc/passwd`) AS n FROM finding",
        "WITH a AS (SELECT * FROM binaryFile.`/etc/passwd`) SELECT * FROM a",
        "WITH `/etc/passwd` AS (SELECT 1) SELECT * FROM `/etc/passwd`",
        "SELECT 1 FROM finding WHERE EXISTS (TABLE text.`/etc/passwd`)",
        "SELECT from_protobuf(witness, 'M', '/etc/passwd') FROM finding",
        "SELECT from_xml(headline, 'a INT', map('rowValidationXSDPath', '/etc/passwd')) FROM finding",
        "SELECT 1 /* /* */ */ FROM text.`/etc/passwd`",
        # other code
        "SELECT reflect('java.lang.System', 'getenv')",
        "SELECT `reflect`('java.lang.System', 'getenv')",
        "SELECT system.builtin.java_method('java.lang.System', 'getenv')",
        "SELECT try_reflect('java.lang.System', 'getenv')",
        "SELECT TRANSFORM(headline) USING 'cat' AS (a) FROM finding",
        "FROM finding SELECT TRANSFORM(headline) USING 'cat'",
        "SELECT * FROM (MAP headline USING 'cat' AS a FROM finding)",
        "SELECT * FROM finding LATERAL VIEW reflect('a', 'b') t AS x",
        # the environment and settings, which Spark inserts even into texts
        "SELECT '${env:HOME}'",
        "SELECT '${spark.master}' FROM finding",
        "SET spark.sql.ansi.enabled = false",
        "RESET",
        "SELECT current_user()",
        # writing
        "INSERT INTO finding SELECT * FROM finding",
        "WITH a AS (SELECT 1) INSERT INTO finding SELECT * FROM a",
        "FROM finding INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT *",
        "INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT * FROM finding",
        "CREATE TABLE x AS SELECT 1",
        "CREATE OR REPLACE TEMPORARY VIEW finding AS SELECT 1",
        "DROP VIEW finding",
        "CACHE TABLE finding",
        "ADD JAR '/tmp/x.jar'",
        "DECLARE x INT DEFAULT 1",
        "EXECUTE IMMEDIATE 'SELECT 1'",
        # not one SELECT over views
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP VIEW finding",
        "SHOW TABLES",
        "DESCRIBE finding",
        "EXPLAIN SELECT 1",
        "SELECT * FROM nowhere",
        "SELECT * FROM global_temp.finding",
        "SELECT * FROM range(10)",
        "",
        "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
        "SELECT '" + "x" * 20_000 + "'",
    ],
)
def test_anything_else_is_refused(statement: str) -> None:
    with pytest.raises(UsageError):
        accept(statement, 10)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM finding WHERE severity = 'critical' ORDER BY from_ts LIMIT 5 OFFSET 10",
        "WITH a AS (SELECT resource, count(*) AS n FROM ownership GROUP BY resource) SELECT * FROM a JOIN unowned AS u USING (resource) WHERE n > 1",
        "SELECT explode(witness) AS id FROM finding UNION ALL SELECT event_id FROM event",
        "SELECT f.finding_id, w FROM finding AS f LATERAL VIEW explode(f.witness) t AS w",
        "SELECT max_by(headline, from_ts), count_if(severity = 'note') FILTER (WHERE verdict IS NOT NULL) FROM finding -- why\n",
        "SELECT transform(filter(witness, x -> x IS NOT NULL), x -> upper(x)) FROM finding",
        "SELECT row_number() OVER (PARTITION BY group_id ORDER BY from_ts) FROM finding WHERE from_ts BETWEEN '2026-03-01' AND from_ts + INTERVAL 5 MINUTES",
        "SELECT CAST(get_json_object(facts, '$.by_ms') AS DECIMAL(10, 2)) FROM finding WHERE headline RLIKE 'w\\\\d+'",
    ],
)
def test_ordinary_queries_are_accepted(statement: str) -> None:
    assert accept(statement, 10).text


def test_statements_of_the_docs_are_accepted() -> None:
    seen = 0
    for name in make_answers.PAGES:
        for line in (DOCS / name).read_text(encoding="utf-8").splitlines():
            if line.startswith("forensics sql"):
                (command,) = make_answers.commands(line)
                if "-e" in command:
                    seen += 1
                    assert accept(command[command.index("-e") + 1], 10)
    assert seen > 2


def test_only_what_was_checked_is_run() -> None:
    """Spark ends this comment at the carriage return, other parsers at the end of the line."""
    assert accept("SELECT 1 AS a -- \rFROM text.`/etc/passwd`", 10).text == "SELECT 1 AS `a` LIMIT 10"


def test_doubled_quotes_stay_one_text() -> None:
    assert accept("SELECT 'it''s' AS a, \"x\"\"y\" AS b", 10).text == "SELECT 'it\\'s' AS `a`, 'x\"y' AS `b` LIMIT 10"


def test_a_select_without_a_limit_gets_one() -> None:
    assert accept("SELECT * FROM finding", 101).text == "SELECT * FROM `finding` LIMIT 101"
    assert accept("SELECT * FROM finding LIMIT 3", 101).text == "SELECT * FROM `finding` LIMIT 3"


def test_the_reason_and_the_nearest_view_are_given() -> None:
    with pytest.raises(UsageError, match=r"(?s)no view `findings`.*`finding`"):
        accept("SELECT * FROM findings", 10)
    with pytest.raises(UsageError, match="function `reflect` is not allowed"):
        accept("SELECT reflect('a', 'b')", 10)


@pytest.mark.spark
def test_accepted_statements_run_on_spark(spark) -> None:
    """The text that is written again means the same to Spark."""
    statements = {
        "SELECT 'it''s', \"a\\nb\", r'\\d', '\\\\d', 'ü' AS u": ["it's", "a\nb", "\\d", "\\d", "ü"],
        "SELECT transform(sequence(1, 3), x -> x * 2), named_struct('a', 1).a, map('k', 1)['k']": [[2, 4, 6], 1, 1],
        "SELECT 'w12' RLIKE 'w\\\\d+', timestampdiff(SECOND, timestamp'2026-01-01 00:00:00', timestamp'2026-01-01 00:01:00')": [True, 60],
        "SELECT regexp_extract('a7', '([a-z])(\\\\d)', 2), nvl(NULL, 1), if(1 > 2, 'x', 'y'), 7 DIV 2, 7 % 4": ["7", 1, "y", 3, 3],
    }
    for statement, expected in statements.items():
        assert list(spark.sql(accept(statement, 10).text).first()) == expected
