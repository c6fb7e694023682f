"""Accept one SELECT over a case's views. Nothing else that an engine understands gets through: no file, no setting, no code, no second statement.

A statement is parsed, checked against lists of what is allowed, and written again from its parsed form. The engine gets only this text, so it cannot
read anything in the original that the check did not see (a comment, a quote).
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import TokenType, exp

from forensics.case import view_files
from forensics.errors import UsageError, did_you_mean
from forensics.report.query import Statement, own, parsed, saved_queries

_DIALECT = "spark"
_LONGEST = 20_000
_NAME = re.compile(r"\w+")
_FIX = "Write one SELECT over the views of the case. Without a statement, this tool lists the views."
#: Words that may precede a parenthesis: keywords, then functions. Spark's other functions can read files (from_protobuf, from_xml) or run code (reflect).
_WORDS = frozenset(
    """
    ALL AND AS BETWEEN BY CASE CUBE DISTINCT DIV ELSE EXCEPT EXISTS FILTER FROM HAVING ILIKE IN INTERSECT JOIN LATERAL LIKE LIMIT NOT ON OR OVER RLIKE
    ROLLUP SELECT SETS THEN UNION USING VALUES WHEN WHERE

    ABS AGGREGATE ANY ANY_VALUE APPROX_COUNT_DISTINCT APPROX_PERCENTILE ARRAY ARRAYS_OVERLAP ARRAYS_ZIP ARRAY_AGG ARRAY_COMPACT ARRAY_CONTAINS
    ARRAY_DISTINCT ARRAY_EXCEPT ARRAY_INTERSECT ARRAY_JOIN ARRAY_MAX ARRAY_MIN ARRAY_POSITION ARRAY_REMOVE ARRAY_SIZE ARRAY_SORT ARRAY_UNION AVG
    BOOL_AND BOOL_OR CARDINALITY CAST CEIL CHAR_LENGTH COALESCE COLLECT_LIST COLLECT_SET CONCAT CONCAT_WS CONTAINS COUNT COUNT_IF CUME_DIST DATEDIFF
    DATE_ADD DATE_DIFF DATE_FORMAT DATE_PART DATE_SUB DATE_TRUNC DAY DENSE_RANK ELEMENT_AT ENDSWITH EVERY EXPLODE EXPLODE_OUTER EXTRACT FIRST
    FIRST_VALUE FLATTEN FLOOR FORALL FORMAT_NUMBER FORMAT_STRING FROM_UNIXTIME GET GET_JSON_OBJECT GREATEST GROUPING HOUR IF IFNULL INITCAP INLINE
    INLINE_OUTER INSTR INTERVAL ISNOTNULL ISNULL LAG LAST LAST_VALUE LEAD LEAST LEFT LEN LENGTH LOCATE LOWER LPAD LTRIM MAP MAP_CONTAINS_KEY MAP_ENTRIES
    MAP_FROM_ENTRIES MAP_KEYS MAP_VALUES MAX MAX_BY MEAN MEDIAN MIN MINUTE MIN_BY MOD MODE MONTH NAMED_STRUCT NTH_VALUE NTILE NULLIF NVL NVL2
    PERCENTILE PERCENTILE_APPROX PERCENT_RANK POSEXPLODE POSITION RANK REGEXP_COUNT REGEXP_EXTRACT REGEXP_EXTRACT_ALL REGEXP_LIKE REGEXP_REPLACE
    REGEXP_SUBSTR REPLACE REVERSE RIGHT ROUND ROW_NUMBER RPAD RTRIM SECOND SEQUENCE SHA2 SIGN SIZE SLICE SOME SORT_ARRAY SPLIT SPLIT_PART STARTSWITH
    STDDEV STRING STRUCT SUBSTR SUBSTRING SUBSTRING_INDEX SUM TIMESTAMPADD TIMESTAMPDIFF TIMESTAMP_MILLIS TIMESTAMP_SECONDS TO_DATE TO_JSON TO_TIMESTAMP
    TRANSFORM TRIM TRUNC TRY_CAST TRY_DIVIDE TRY_ELEMENT_AT TRY_TO_TIMESTAMP TYPEOF UNIX_MILLIS UNIX_SECONDS UNIX_TIMESTAMP UPPER WIDTH_BUCKET XXHASH64
    YEAR ZIP_WITH
    """.split()  # noqa: SIM905
)


def accept(text: str, rows: int) -> Statement:
    """Return a statement that an engine may run.

    Args:
        text: the user's statement.
        rows: the number of rows that the caller reads; a SELECT without LIMIT gets it as its limit.

    Raises:
        UsageError: it is not one SELECT over views of the case, or uses something that is not allowed.
    """
    if len(text) > _LONGEST:
        raise _refused(f"it has more than {_LONGEST:,} characters")
    statements = own(text, None)
    if len(statements) != 1:
        raise _refused(f"there are {len(statements)} statements")
    try:
        query = parsed(statements[0].text)
    except RecursionError as e:
        raise _refused("it is nested too deeply") from e
    except sqlglot.errors.SqlglotError as e:
        raise _refused(str(e).split("\n")[0]) from e
    if not isinstance(query, exp.Query):
        raise _refused("it is not a SELECT")
    _check_tables(query)
    if isinstance(query, exp.Select) and not query.args.get("limit"):
        query = query.limit(rows)
    written = query.sql(_DIALECT, comments=False)
    _check_words(written)
    return Statement(written)


def _check_tables(query: exp.Query) -> None:
    """Check that all tables are views of the case or names of WITH."""
    known = {view.name.lower() for view in view_files.views().values()}
    own_names = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    if strange := next((name for name in own_names if not _NAME.fullmatch(name)), None):
        raise _refused(f"`{strange}` is not a plain name")
    for table in query.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or table.db or table.catalog:
            raise _refused(f"`{table.sql(_DIALECT)[:200]}` is not a view of the case")
        if table.name.lower() not in known | own_names:
            raise _refused(f"there is no view `{table.name[:200]}`", did_you_mean(table.name, saved_queries("public"), _FIX))


def _check_words(written: str) -> None:
    """Check the statement as it will be run: its functions are known, and nothing has a meaning outside SQL."""
    if "${" in written:  # Spark replaces it by an environment variable or a setting, even in a text
        raise _refused("`${` is not allowed")
    tokens = sqlglot.tokenize(written, read=_DIALECT)
    for before, word, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if word.token_type == TokenType.USING and after.token_type == TokenType.STRING:
            raise _refused("a script cannot be run")
        is_call = after.token_type == TokenType.L_PAREN and word.text[:1].isidentifier()
        if is_call and word.text.upper() not in _WORDS and (before is None or before.token_type != TokenType.ALIAS):
            raise _refused(
                f"the function `{word.text[:200]}` is not allowed here", "Use Spark SQL's ordinary functions for text, numbers, times and lists."
            )


def _refused(why: str, fix: str = _FIX) -> UsageError:
    return UsageError("The statement was not run.", why=why, where="statement", fix=fix)
