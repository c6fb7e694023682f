# SPDX-License-Identifier: Apache-2.0
"""Own SQL only reads a case: what reads files, writes or runs programs is refused, and what is accepted means the same."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import made_case
import make_answers
import pytest
import sqlglot
from make_docs import DOCS
from typer.testing import CliRunner

from forensics import engines
from forensics.case import view_files
from forensics.cli import app
from forensics.engines.sail_sql import with_escaped_quotes
from forensics.errors import UsageError
from forensics.report import query
from forensics.report.read_only import Guard, Refused, same_place

#: One script in each line.
HOSTILE = (
    r"""
SET spark.sql.sources.default=text; CREATE TABLE ta (value STRING) LOCATION '/etc/passwd'; SELECT * FROM ta
SET spark.sql.sources.default=text; SELECT * FROM `/etc/passwd`
CREATE TABLE tb LOCATION '/etc/passwd' AS SELECT * FROM finding
CREATE TABLE tc AS SELECT 1 AS a
CREATE TABLE td STORED AS TEXTFILE LOCATION '/etc/passwd' AS SELECT 'x' AS a
CREATE EXTERNAL TABLE te (value STRING) STORED AS TEXTFILE LOCATION '/etc/passwd'; SELECT * FROM te
CREATE DATABASE dd LOCATION '/etc/passwd'
DESCRIBE EXTENDED `text`.`/etc/passwd`
EXPLAIN EXTENDED SELECT * FROM `text`.`/etc/passwd`
CACHE TABLE zz AS SELECT * FROM `text`.`/etc/passwd`; SELECT * FROM zz
CACHE LAZY TABLE zz2 OPTIONS ('storageLevel'='DISK_ONLY') SELECT * FROM `text`.`/etc/passwd`; SELECT * FROM zz2
TABLE `text`.`/etc/passwd`
FROM `text`.`/etc/passwd` SELECT *
FROM `text`.`/etc/passwd` |> SELECT *
FROM `text`.`/etc/passwd` |> EXTEND 1 AS x |> DROP x
FROM `text`.`/etc/passwd` |> AGGREGATE count(*)
SELECT 1 |> UNION ALL TABLE `text`.`/etc/passwd`
CREATE TEMPORARY VIEW v1 AS SELECT * FROM `text`.`/etc/passwd`; SELECT * FROM v1
CREATE OR REPLACE TEMP VIEW v2 AS (TABLE `text`.`/etc/passwd`); SELECT * FROM v2
CREATE OR REPLACE GLOBAL TEMP VIEW v3 AS FROM `text`.`/etc/passwd` SELECT *; SELECT * FROM global_temp.v3
BEGIN DECLARE x STRING; SET x = (SELECT value FROM `text`.`/etc/passwd`); SELECT x; END
DECLARE VARIABLE vv STRING DEFAULT 'a'; SET VAR vv = (SELECT first(value) FROM `text`.`/etc/passwd`); SELECT vv
DECLARE OR REPLACE VARIABLE v5 STRING DEFAULT (SELECT first(value) FROM `text`.`/etc/passwd`); SELECT v5
SET VARIABLE vv = (SELECT first(value) FROM text.`/etc/passwd`); SELECT vv
SELECT * FROM read_files('/etc/passwd')
SELECT * FROM read_text('/etc/passwd')
SELECT * FROM read_csv('/etc/passwd')
SELECT * FROM read_parquet('/etc/passwd')
SELECT * FROM '/etc/passwd'
SELECT * FROM `file:///etc/passwd`
SELECT * FROM `/etc/passwd`
SELECT reflect('java.lang.System','getProperty','user.home')
SELECT java_method('java.lang.System','getenv','HOME')
SELECT try_reflect('java.lang.System','getenv','HOME')
SELECT reflect('java.lang.System','setProperty','a.b','c')
SELECT reflect('java.nio.file.Files','readString','/etc/passwd')
SELECT reflect('org.apache.spark.util.Utils','deleteRecursively','/etc/passwd')
SELECT java_method('org.apache.commons.io.FileUtils','readFileToString','/etc/passwd')
SELECT java_method('org.apache.hadoop.util.Shell','execCommand','id')
SELECT from_protobuf(cast('a' as binary), 'M', '/etc/passwd')
SELECT from_xml('<a>1</a>','a INT', map('rowValidationXSDPath','/etc/passwd'))
SELECT from_csv('1','a INT', map('x','/etc/passwd'))
SELECT '${env:HOME}'
SELECT '${system:user.home}'
CREATE TEMPORARY FUNCTION ff AS 'java.lang.Runtime' USING JAR '/etc/passwd'
CREATE FUNCTION ff AS 'java.lang.Runtime'
CREATE TEMPORARY FUNCTION ff AS 'org.apache.hadoop.hive.ql.udf.UDFConv'
ANALYZE TABLE `text`.`/etc/passwd` COMPUTE STATISTICS
REFRESH TABLE `text`.`/etc/passwd`
SELECT TRANSFORM(headline) USING 'cat /etc/passwd' AS (a) FROM finding
FROM finding MAP headline USING 'cat /etc/passwd' AS a
COPY (SELECT 1) TO '/etc/passwd'
EXPORT TABLE finding TO '/etc/passwd'
WITH x AS (SELECT 1 a) FROM x INSERT OVERWRITE LOCAL DIRECTORY '/etc/passwd' SELECT a
INSERT/**/INTO x SELECT 1
EXPLAIN INSERT OVERWRITE DIRECTORY '/etc/passwd' USING text SELECT 'x'
REPLACE TABLE tt LOCATION '/etc/passwd' AS SELECT 1
CREATE OR REPLACE TABLE tt LOCATION '/etc/passwd' AS SELECT 1 a
SHOW CREATE TABLE finding
SELECT * FROM text . `secret`
SELECT * FROM `text`.secret
SELECT * FROM text.secret
SELECT * FROM (SELECT * FROM `text`.`secret`)
SELECT * FROM spark_catalog.text.`/etc/passwd`
SELECT * FROM `org.apache.spark.sql.execution.datasources.v2.text.TextDataSourceV2`.`/etc/passwd`
SELECT * FROM `binaryFile`.`/etc/passwd`
SELECT * FROM `image`.`/etc/passwd`
SELECT * FROM STREAM `text`.`/etc/passwd`
SELECT * FROM STREAM(`text`.`/etc/passwd`)
SELECT * FROM jdbc.`jdbc:derby:;databaseName=/etc/passwd;create=true`
SELECT * FROM `text`.`/etc/passwd` TABLESAMPLE (100 PERCENT) REPEATABLE (1)
SELECT * FROM finding f JOIN `text`.`/etc/passwd` t ON true LIMIT 1
SELECT * FROM finding WHERE EXISTS (SELECT * FROM `text`.`/etc/passwd`)
VALUES ((SELECT first(value) FROM `text`.`/etc/passwd`))
SELECT (FROM `text`.`/etc/passwd` |> AGGREGATE first(value))
DESCRIBE QUERY SELECT * FROM `text`.`/etc/passwd`
SELECT * FROM IDENTIFIER ('text.`/etc/passwd`')
EXECUTE IMMEDIATE 'SELECT * FROM text.`/etc/passwd`'
EXECUTE/**/IMMEDIATE 'SELECT * FROM text.`/etc/passwd`'
CREATE TABLE tf (a INT) LOCATION '/etc/passwd'
CREATE TABLE IF NOT EXISTS tg LIKE finding LOCATION '/etc/passwd'
CREATE VIEW pv AS SELECT 1 AS a
CREATE TABLE th (v STRING) TBLPROPERTIES('a'='b')
MSCK REPAIR TABLE x
SET spark.sql.warehouse.dir
SET CATALOG spark_catalog
COMMENT ON TABLE finding IS 'x'
SELECT * FROM RANGE(3)
SELECT sum(id) FROM range(10)
SELECT current_user(), version(), input_file_name() FROM finding LIMIT 1
SELECT * FROM collations() LIMIT 1
SELECT * FROM sql_keywords() LIMIT 1
SELECT * FROM python_datasource.`x`
ADD FILE '/etc/passwd'
LIST FILES
ADD ARCHIVE '/etc/passwd'
SELECT * FROM finding LATERAL VIEW reflect('a', 'b') t AS x
WITH reflect(a, b) AS (SELECT 1, 2) SELECT reflect('a', 'b') FROM reflect
SELECT system.builtin.java_method('java.lang.System', 'getenv')
SELECT `reflect`('java.lang.System', 'getenv')
SELECT 1 /* /* */ */ FROM text.`/etc/passwd`
SELECT * FROM finding AS OF TIMESTAMP '2026-01-01'
SELECT * FROM finding VERSION AS OF 1
SELECT * FROM JSON_TABLE('a', 'b')
SELECT :x
SELECT ?
SELECT * FROM finding INTO OUTFILE '/tmp/x'
SELECT xpath('<a/>', 'a')
SHOW TABLES IN text
SHOW VIEWS; DROP VIEW finding
CREATE TEMPORARY VIEW x USING csv OPTIONS (path '/etc/passwd')
CREATE TEMPORARY VIEW `/etc/passwd` AS SELECT 1
DECLARE x STRING DEFAULT 'a' || (SELECT value FROM text.`/etc/passwd`)
SET VAR gap_ms = 1) UNION (SELECT 1 FROM text.`/etc/passwd`
RESET
USE text
CALL x()
SELECT CAST(1 AS nothing)
EXPLAIN EXPLAIN SELECT * FROM text.`/etc/passwd`
SELECT * FROM finding, text.`/etc/passwd`
SELECT * FROM (FROM text.`/etc/passwd`)
SELECT 1 UNION ALL (TABLE text.`/etc/passwd`)
SELECT headline FROM finding LATERAL VIEW explode(witness) `t AS ``q`` UNION ALL SELECT ``value`` FROM ``text``.``/etc/passwd``` AS y
""".strip().splitlines()
    + ["INSERT\nOVERWRITE DIRECTORY '/etc/passwd' USING text SELECT 'x'", "SELECT 1 -- \nFROM text.`/etc/passwd`; SELECT * FROM text.`/etc/passwd`"]
)

#: One statement in each line: Spark's language of queries.
ORDINARY = r"""
SELECT *, 1 FROM finding WHERE severity = 'critical' ORDER BY from_ts LIMIT 5 OFFSET 1
WITH a AS (SELECT resource, count(*) AS n FROM ownership GROUP BY resource) SELECT * FROM a JOIN unowned AS u USING (resource) WHERE n > 1 ORDER BY 1
SELECT f.finding_id, w FROM finding AS f LATERAL VIEW explode(f.witness) t AS w ORDER BY 1, 2
SELECT f.finding_id, p, w FROM finding AS f LATERAL VIEW OUTER posexplode(f.witness) t AS p, w ORDER BY 1, 2, 3
SELECT max_by(headline, from_ts), count_if(severity = 'note') FILTER (WHERE verdict IS NOT NULL) FROM finding
SELECT finding_id, row_number() OVER (PARTITION BY group_id ORDER BY from_ts, finding_id) AS n, sum(occurrences) OVER w FROM finding WINDOW w AS (ORDER BY finding_id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) ORDER BY 1
SELECT 'it''s', "a\nb", '\\d', 'ü' AS u, "x""y", 'a' 'b', 'a' || 'b'
SELECT transform(sequence(1, 3), x -> x * 2), named_struct('a', 1).a, map('k', 1)['k'], filter(array(1,2,3), x -> x > 1), aggregate(array(1,2), 0, (acc, x) -> acc + x), exists(array(1,2), x -> x = 2), array(1,2,3)[1]
SELECT 'w12' RLIKE 'w\\d+', 'w12' LIKE 'w%', 'w12' NOT LIKE 'x%', timestampdiff(SECOND, timestamp'2026-01-01 00:00:00', timestamp'2026-01-01 00:01:00'), 1 <=> NULL, NOT (1 = 2), 5 BETWEEN 1 AND 6, 5 NOT BETWEEN 1 AND 6
SELECT regexp_extract('a7', '([a-z])(\\d)'), regexp_extract('a7', '([a-z])(\\d)', 2), nvl(NULL, 1), if(1 > 2, 'x', 'y'), 7 DIV 2, 7 % 4, -7 % 4, 7 / 2, coalesce(NULL, 2), 1L, 1.5D, 2S, 1.50BD, 1e3
SELECT date_trunc('HOUR', from_ts), date_format(from_ts, 'yyyy-MM-dd HH:mm'), from_ts + INTERVAL 5 MINUTES, from_ts - INTERVAL '1' DAY, extract(HOUR FROM from_ts), unix_millis(from_ts), to_timestamp('2026-01-01 10:00:00'), date '2026-01-01', datediff(date'2026-01-03', date'2026-01-01'), date_add(date'2026-01-01', 3) FROM finding ORDER BY finding_id
SELECT CAST(get_json_object(facts, '$.by_ms') AS DECIMAL(10, 2)), get_json_object(facts, '$.a[0]["b"]'), cast(1 AS STRING), try_cast('x' AS INT), CAST('a' AS VARCHAR(3)), 3::string FROM finding ORDER BY finding_id
SELECT severity, verdict, count(*) FROM finding GROUP BY GROUPING SETS ((severity), (verdict), ()) ORDER BY 1, 2, 3
SELECT severity, verdict, count(*) FROM finding GROUP BY ROLLUP (severity, verdict) ORDER BY 1, 2, 3
SELECT severity, count(DISTINCT group_id, rule) AS n FROM finding GROUP BY severity HAVING n > 0 ORDER BY n DESC NULLS LAST, severity
SELECT DISTINCT severity FROM finding ORDER BY severity
SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(n, c)
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(n, c) ORDER BY n
VALUES (1, 2), (3, 4)
SELECT n FROM (SELECT 1 AS n UNION ALL SELECT 2 UNION SELECT 2) ORDER BY n
SELECT finding_id FROM finding EXCEPT SELECT finding_id FROM finding WHERE severity = 'note' ORDER BY 1
SELECT finding_id FROM finding INTERSECT SELECT finding_id FROM finding ORDER BY 1
SELECT count(*) FROM ownership a LEFT ANTI JOIN split_brain b ON a.resource = b.resource
SELECT count(*) FROM ownership a LEFT SEMI JOIN split_brain b ON a.resource = b.resource
SELECT count(*) FROM ownership a CROSS JOIN split_brain b
SELECT count(*) FROM ownership a FULL OUTER JOIN split_brain b ON a.resource = b.resource
SELECT count(*) FROM ownership NATURAL JOIN (SELECT DISTINCT resource FROM ownership)
SELECT a.resource, (SELECT count(*) FROM ownership b WHERE b.resource = a.resource) AS n FROM ownership a WHERE a.resource IN (SELECT resource FROM split_brain) AND EXISTS (SELECT 1 FROM finding) ORDER BY 1, 2
SELECT CASE severity WHEN 'note' THEN 1 ELSE 0 END, CASE WHEN severity = 'note' THEN 'x' END FROM finding ORDER BY finding_id
SELECT collect_set(severity), array_sort(collect_list(severity)), first(severity, true), last_value(severity) IGNORE NULLS OVER (ORDER BY finding_id) FROM finding GROUP BY severity, finding_id ORDER BY finding_id
SELECT trim('  x '), trim(BOTH 'a' FROM 'aba'), ltrim(' x'), substring('abc', 2, 1), substr('abc' FROM 2), position('b' IN 'abc'), position('b', 'abc'), locate('b', 'abc'), overlay('abcd' PLACING 'X' FROM 2 FOR 1), split('a,b', ','), split_part('a.b', '.', 2)
SELECT explode(array(1,2)) AS x
SELECT x.a.b FROM (SELECT struct(struct(1 AS b) AS a) AS x)
SELECT stop_hi IS NOT NULL AND NOT resource = 'x' OR resource IN ('a', 'b') FROM ownership ORDER BY ownership_id
SELECT stop_hi IS NULL = true, (stop_hi IS NOT NULL) = true, a + b * 2 - (3 - b), - (- a), 1 - (2 - 3), NOT a = 1 AND b = 2 OR a = 2 FROM (SELECT 1 AS a, 2 AS b) JOIN ownership ORDER BY 1
SELECT percentile(occurrences, 0.5), percentile_approx(occurrences, 0.5), approx_count_distinct(rule), stddev(occurrences), median(occurrences) FROM finding
SELECT * FROM (SELECT severity, occurrences FROM finding) PIVOT (sum(occurrences) FOR severity IN ('note', 'warning', 'critical'))
SELECT /*+ BROADCAST(f) */ f.rule FROM finding f ORDER BY 1
SELECT clock_skew_ms, gap_ms + 1 FROM finding LIMIT 1
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r
FROM finding SELECT rule ORDER BY rule
SELECT rule FROM finding SORT BY rule LIMIT 3
SELECT * EXCEPT (headline) FROM (SELECT 1 AS headline, 2 AS b)
SELECT severity, count(*) FROM finding GROUP BY ALL ORDER BY ALL
SELECT to_json(struct(1 AS a, 'x' AS b)), to_json(named_struct('a', 1)), from_json('{"a":1}', 'a INT').a, str_to_map('a:1,b:2'), concat_ws(',', array('a', 'b')), array_join(array('a'), ',')
SELECT lag(rule, 1, 'none') OVER (ORDER BY finding_id), lead(rule) OVER (ORDER BY finding_id), ntile(2) OVER (ORDER BY finding_id), rank() OVER (ORDER BY severity) FROM finding ORDER BY finding_id
SELECT current_timestamp() > timestamp'2020-01-01', current_date > date'2020-01-01', year(date'2026-05-01'), month(date'2026-05-01'), dayofweek(date'2026-05-01'), last_day(date'2026-05-01')
SELECT count(*) FROM ownership TABLESAMPLE (100 PERCENT)
SELECT x, y FROM (SELECT 1 AS id) LATERAL VIEW inline(array(struct(1 AS x, 2 AS y))) AS x, y
SELECT * FROM ownership o, LATERAL (SELECT o.resource AS r) ORDER BY ownership_id
SELECT count(*) FROM event_row
SELECT 'a' LIKE ANY ('a%', 'b'), 'a' LIKE ALL ('a%'), 'A' ILIKE 'a', 'a_' LIKE 'a!_' ESCAPE '!'
SELECT bit_and(occurrences), 5 & 3, 5 | 3, 5 ^ 3, ~5, 1 << 2, shiftleft(1, 2) FROM finding
SELECT * FROM explode(sequence(1, 3)) AS t(x)
SELECT interval '1 02:03:04' day to second, interval 1 hour 30 minutes, X'1F', cast('2026-01-01' as timestamp_ntz)
SELECT sum(occurrences) FILTER (WHERE severity = 'note'), listagg(rule, ',') WITHIN GROUP (ORDER BY rule), string_agg(rule) FROM finding
SELECT timestampadd(MINUTE, 5, timestamp'2026-01-01 00:00:00'), date_diff(DAY, date'2026-01-01', date'2026-01-03'), dateadd(DAY, 1, date'2026-01-01'), trunc(date'2026-05-07', 'MM'), months_between(date'2026-05-07', date'2026-01-07'), from_unixtime(0), to_date('2026-01-01', 'yyyy-MM-dd'), unix_timestamp('1970-01-01 00:00:01')
""".strip().splitlines()


def refused(script: str) -> Refused:
    guard = Guard()
    with pytest.raises(Refused) as error:
        for _, statement in view_files.placed_statements(script):
            guard.accept(statement)
    return error.value


@pytest.mark.parametrize("script", HOSTILE)
def test_what_is_not_known_to_only_read_views_is_refused(script: str) -> None:
    assert refused(script).why


def test_no_engine_starts_for_refused_sql_and_the_error_says_what_lifts_it(tmp_path: Path, monkeypatch) -> None:
    case = made_case.written(tmp_path / "case").root
    monkeypatch.setattr(engines, "engine", lambda *_, **__: pytest.fail("an engine starts"))
    (tmp_path / "theirs.sql").write_text("SELECT 1;\nSELECT * FROM finding WHERE EXISTS (TABLE text.`/etc/passwd`)")
    for arguments, place in (
        (["-e", "FROM finding MAP headline USING 'cat' AS a"], "-e, line 1, column 18"),
        (["-f", str(tmp_path / "theirs.sql")], "line 2, column "),
    ):
        for engine in (engines.SPARK, engines.SAIL):
            done = CliRunner().invoke(app, ["sql", *arguments, "--case", str(case), "--engine", engine])
            assert isinstance(done.exception, UsageError)
            assert done.exception.what == "The statement was not run, because a query only reads a case."
            assert place in done.exception.where
            assert "--unrestricted" in done.exception.fix


@pytest.mark.parametrize(
    ("statement", "what", "column", "fix"),
    [
        ("SELEC 1", "SQL syntax error at `SELEC`.", 1, "Did you mean `SELECT`?"),
        ("SELECT * FROM ownershp", "There is no view `ownershp`.", 15, "Did you mean `ownership`?"),
        ("SELECT 'findings' FROM finding WHERE EXISTS (SELECT 1 FROM Findings)", "There is no view `Findings`.", 9, "Did you mean `finding`?"),
        ("DESCRIBE zzz", "There is no view `zzz`.", 10, "`forensics sql --list` lists the views and rules."),
    ],
)
def test_a_misspelt_word_is_named_with_the_nearest_and_its_place(statement: str, what: str, column: int, fix: str) -> None:
    with pytest.raises(UsageError) as said:
        query.own(statement, None)
    assert (said.value.what, said.value.why, said.value.fix) == (what, "", fix)
    assert said.value.where == f"-e, line 1, column {column}"


def test_unrestricted_sql_is_not_looked_at() -> None:
    assert [s.text for s in query.own("TABLE text.`/etc/passwd`; SET a = 1", None, unrestricted=True)] == ["TABLE text.`/etc/passwd`", "SET a = 1"]


#: What would read a file if it were written without its quotes, each as it continues at one place.
INJECTED = (
    "t AS `q` UNION ALL SELECT `value` FROM `text`.`/etc/passwd`",
    "t FROM `text`.`/etc/passwd` --",
    "t) FROM `text`.`/etc/passwd` --",
    "DAY FROM `text`.`/etc/passwd` AS t",
    "'t' FROM `text`.`/etc/passwd`",
)


@pytest.mark.parametrize("statement", ORDINARY)
def test_a_name_can_contain_no_more_of_a_query(statement: str) -> None:
    text = with_escaped_quotes(statement)
    for token in sqlglot.tokenize(text, read="spark"):
        if not re.fullmatch(r"`?[A-Za-z_]\w*`?", text[token.start : token.end + 1]):
            continue
        for name in INJECTED:
            quoted = "`" + name.replace("`", "``") + "`"
            try:
                written = Guard().accept(f"{text[: token.start]}{quoted}{text[token.end + 1 :]}")
            except Refused:
                continue
            assert "/etc/passwd" not in written or any(other.text == name for other in sqlglot.tokenize(written, read="spark")), token.text


@pytest.mark.parametrize("statement", ORDINARY)
def test_ordinary_queries_are_accepted(statement: str) -> None:
    assert Guard().accept(statement)


@pytest.mark.parametrize(
    ("statement", "written"),
    [
        ("show  views", "show views"),
        ("SHOW TABLES LIKE 'own*'", "SHOW TABLES LIKE 'own*'"),
        ("SHOW COLUMNS FROM finding", "SHOW COLUMNS IN `finding`"),
        ("desc finding", "DESCRIBE `finding`"),
        ("DESCRIBE TABLE EXTENDED finding", "DESCRIBE EXTENDED `finding`"),
        ("DESCRIBE FUNCTION upper", "DESCRIBE FUNCTION upper"),
        ("explain formatted select 1", "EXPLAIN FORMATTED SELECT 1"),
        ("DESCRIBE QUERY SELECT 1 AS a", "DESCRIBE QUERY SELECT 1 AS `a`"),
        ("SET VAR gap_ms = 5 * 1000", "SET VAR gap_ms = 5 * 1000"),
        ("CREATE OR REPLACE TEMP VIEW mine (a, b) AS SELECT 1, 2", "CREATE OR REPLACE TEMPORARY VIEW `mine` (`a`, `b`) AS SELECT 1, 2"),
        ("SELECT gap_ms, x.gap_ms FROM event_row AS x", "SELECT gap_ms, `x`.`gap_ms` FROM `event_row` AS `x`"),
        ("SELECT /*+ BROADCAST(f) */ 'it''s', \"x\"\"y\" FROM finding f -- why", "SELECT 'it\\'s', 'x\"y' FROM `finding` AS `f`"),
    ],
)
def test_a_statement_is_written_again(statement: str, written: str) -> None:
    assert [Guard().accept(text) for _, text in view_files.placed_statements(statement)] == [written]


def test_later_statements_know_the_views_and_variables_of_earlier_ones() -> None:
    guard = Guard()
    with pytest.raises(Refused, match="there is no view `mine`"):
        guard.accept("SELECT * FROM mine")
    guard.accept("CREATE TEMPORARY VIEW mine AS SELECT * FROM finding")
    guard.accept("DECLARE VARIABLE least INT = 3")
    assert guard.accept("SELECT * FROM Mine WHERE occurrences > least") == "SELECT * FROM `Mine` WHERE `occurrences` > least"


def test_reasons_name_the_nearest_view_the_function_and_the_place() -> None:
    found = refused("SELECT * FROM findings")
    assert (found.why, found.fix) == ("there is no view `findings`", "Did you mean `finding`?")
    assert "`reflect` is not allowed" in refused("SELECT reflect('a', 'b')").why
    wrong = "SELECT 1,\n  x y z FROM finding"
    found = refused(wrong)
    assert found.why == "SQL syntax error at `z`"
    assert found.at == wrong.index("z")


def test_a_place_in_what_runs_is_found_in_what_was_written() -> None:
    original = "SELECT a.x, 'ä''x' /* nothing */,\n nothing FROM finding a WHERE x IS NOT NULL"
    written = Guard().accept(original)
    assert same_place(original, written, written.index("`nothing`")) == original.index("nothing FROM")
    assert same_place(original, written, written.index("NOT NULL")) == original.index("NOT NULL")
    assert same_place(original, written, written.index("AS `a`")) is None
    assert same_place(original, written, None) is None


def meaningful(text: str) -> Counter[str]:
    """The names, texts and numbers of a query, without a place of NULLs that holds anyway."""
    kinds = {sqlglot.TokenType.VAR, sqlglot.TokenType.STRING, sqlglot.TokenType.NUMBER, sqlglot.TokenType.IDENTIFIER}
    bare = re.sub(r"\b(\d+)L\b", r"\1", with_escaped_quotes(text))
    bare = re.sub(r"\bDESC NULLS LAST\b", "DESC", re.sub(r"(?<!DESC) NULLS FIRST\b", "", bare))
    return Counter(token.text.lower() for token in sqlglot.tokenize(bare, read="spark") if token.token_type in kinds)


def test_the_product_s_own_queries_lose_nothing() -> None:
    views = [view for view in view_files.views().values() if not view.computed]
    for view in views[:: len(views) // 12]:
        again = Guard().accept(view.query)
        lost = meaningful(view.query) - meaningful(again)
        assert not lost, view.name


def test_sql_of_the_docs_is_accepted() -> None:
    seen = 0
    for name in (*make_answers.PAGES, "../README.md"):
        for statement in re.findall(r'-e "((?:SELECT|WITH)[^"]+)"', (DOCS / name).read_text(encoding="utf-8")):
            if "..." not in statement:
                seen += 1
                assert query.own(statement, None)
    assert seen > 8


@pytest.mark.engine
def test_accepted_queries_give_the_rows_of_the_original(tmp_path: Path, any_engine) -> None:
    case = made_case.written(tmp_path / "case")

    def rows(statement: str) -> object:
        try:
            return query.first_rows(lambda: any_engine, case, [query.Statement(statement)], 1000)[1]
        except UsageError as e:  # what this engine does not support
            return e.what

    ran = 0
    for statement in ORDINARY:
        expected = rows(statement)
        ran += not isinstance(expected, str)
        assert isinstance(expected, str) or rows(Guard().accept(statement)) == expected, statement
    assert ran > len(ORDINARY) * 0.7
