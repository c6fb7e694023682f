"""Accept SQL that only reads a case's views, and write it again: no file, no setting, no program, nothing that is not known to be harmless.

A user's statement may come from someone else: a file of queries, a notebook, an agent. Engines understand more SQL than any list of forbidden words
covers, so this works the other way: a statement is parsed, each part of it must be known, and the engine gets only the text that is written from the
parsed form. It cannot read anything in the original that the check did not see (a comment, a quote, an unusual blank).
"""

from __future__ import annotations

import logging
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from forensics.case import view_files
from forensics.engines.sail_sql import with_escaped_quotes
from forensics.errors import did_you_mean
from forensics.schema import TABLES

if TYPE_CHECKING:
    from sqlglot import Dialect
    from sqlglot.expressions import Expr, Query

_NAME = re.compile(r"\w+")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TYPES = "BIGINT|BOOLEAN|DATE|DOUBLE|FLOAT|INT|INTEGER|LONG|STRING|TIMESTAMP"
#: What precedes an expression or a query in the statements that are no query themselves.
_DECLARE = re.compile(
    rf"DECLARE\s+(?:OR\s+REPLACE\s+)?(?:VAR(?:IABLE)?\s+)?(?P<name>{_PLAIN.pattern})\s+(?P<type>{_TYPES})\s+(?:DEFAULT\b|=)(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
_SET = re.compile(rf"SET\s+VAR(?:IABLE)?\s+(?P<name>{_PLAIN.pattern})\s*=(?P<rest>.+)", re.IGNORECASE | re.DOTALL)
_CREATE = re.compile(
    rf"CREATE\s+(?P<replace>OR\s+REPLACE\s+)?TEMP(?:ORARY)?\s+VIEW\s+(?P<name>{_PLAIN.pattern})(?P<columns>\s*\([\w\s,]*\))?\s+AS\b(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
_EXPLAIN = re.compile(r"(?P<how>EXPLAIN(?:\s+(?:EXTENDED|CODEGEN|COST|FORMATTED))?|DESC(?:RIBE)?\s+QUERY)\s(?P<rest>.+)", re.IGNORECASE | re.DOTALL)
_DESCRIBE = re.compile(
    r"DESC(?:RIBE)?\s+(?:TABLE\s+)?(?P<extended>EXTENDED\s+)?`?(?P<name>\w+)`?|SHOW\s+COLUMNS\s+(?:IN|FROM)\s+`?(?P<of>\w+)`?", re.IGNORECASE
)
_SHOW = re.compile(r"(?:SHOW\s+(?:VIEWS|TABLES|FUNCTIONS)(?:\s+LIKE\s+'[\w*|]*')?|DESC(?:RIBE)?\s+FUNCTION\s+(?:EXTENDED\s+)?\w+)", re.IGNORECASE)
#: Functions that compute a value from their arguments only. Others read files (from_protobuf, from_xml), run code (reflect), or describe the machine.
_FUNCTIONS = frozenset(
    """
    abs acos acosh add_months aggregate any any_value approx_count_distinct approx_percentile array array_agg array_append array_compact array_contains
    array_distinct array_except array_insert array_intersect array_join array_max array_min array_position array_prepend array_remove array_repeat
    array_size array_sort array_union arrays_overlap arrays_zip ascii asin asinh assert_true atan atan2 atanh avg base64 bigint bin binary bit_and
    bit_count bit_get bit_length bit_or bit_xor bool_and bool_or boolean bround btrim cardinality cbrt ceil ceiling char char_length character_length chr
    coalesce collate collation collect_list collect_set concat concat_ws contains conv convert_timezone corr cos cosh cot count count_if covar_pop
    covar_samp crc32 csc cume_dist curdate current_date current_timestamp current_timezone date date_add date_diff date_format date_from_unix_date
    date_part date_sub date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear decimal decode degrees dense_rank div double e
    element_at elt encode endswith equal_null every exists exp explode explode_outer expm1 extract factorial filter find_in_set first first_value flatten
    float floor forall format_number format_string from_json from_unixtime from_utc_timestamp get get_json_object getbit greatest grouping grouping_id hash
    hex histogram_numeric hour hypot if ifnull ilike initcap inline inline_outer instr int is_variant_null isnan isnotnull isnull json_array_length
    json_object_keys json_tuple kurtosis lag last last_day last_value lcase lead least left len length levenshtein like listagg ln localtimestamp locate log
    log10 log1p log2 lower lpad ltrim luhn_check make_date make_dt_interval make_interval make_timestamp make_timestamp_ltz make_timestamp_ntz
    make_ym_interval map map_concat map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with mask max
    max_by md5 mean median min min_by minute mod mode monotonically_increasing_id month monthname months_between named_struct nanvl negative next_day now
    nth_value ntile nullif nullifzero nvl nvl2 octet_length overlay parse_json parse_url percent_rank percentile percentile_approx percentile_cont
    percentile_disc pi pmod posexplode posexplode_outer position positive pow power printf quarter quote radians raise_error rand randn random rank reduce
    regexp regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace reverse right rint rlike round row_number rpad rtrim schema_of_json
    schema_of_variant sec second sentences sequence session_window sha sha1 sha2 shiftleft shiftright shiftrightunsigned shuffle sign signum sin sinh size
    skewness slice smallint some sort_array soundex space split split_part sqrt stack startswith std stddev stddev_pop stddev_samp str_to_map string
    string_agg struct substr substring substring_index sum tan tanh timestamp timestamp_micros timestamp_millis timestamp_seconds timestampadd timestampdiff
    tinyint to_binary to_char to_date to_json to_number to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar
    transform transform_keys transform_values translate trim trunc try_add try_avg try_cast try_divide try_element_at try_mod try_multiply try_parse_json
    try_parse_url try_subtract try_sum try_to_binary try_to_date try_to_number try_to_timestamp try_url_decode try_variant_get typeof ucase unbase64 unhex
    unix_date unix_micros unix_millis unix_seconds unix_timestamp upper url_decode url_encode uuid var_pop var_samp variance variant_explode
    variant_explode_outer variant_get weekday weekofyear width_bucket window window_time xxhash64 year zeroifnull zip_with
    """.split()  # noqa: SIM905
)
#: Those that make rows, and may follow FROM.
_GENERATORS = frozenset(
    (
        "explode",
        "explode_outer",
        "inline",
        "inline_outer",
        "json_tuple",
        "posexplode",
        "posexplode_outer",
        "stack",
        "variant_explode",
        "variant_explode_outer",
    )
)
#: Parts of a query, as the parser names them.
_PARTS = frozenset(
    """
    Add Alias Aliases All And Anonymous Any Between BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor Boolean Bracket Case Cast
    Cluster Collate Column ColumnDef Concat CTE Cube CurrentDate CurrentTimestamp DPipe DataType DataTypeParam Distinct Distribute Div Dot EQ Escape Except
    Exists Extract Filter From GT GTE Group GroupingSets Having HexString ILike Identifier If IgnoreNulls In IntDiv Intersect Interval IntervalSpan Is Join
    LT LTE Lambda Lateral Like LikeAll LikeAny Limit Literal Mod Mul NEQ Neg Not Null NullSafeEQ NullSafeNEQ Offset Or Order Ordered Overlay Paren Pivot
    PivotAlias PivotAny RawString RegexpILike RegexpLike RespectNulls Rollup Select Sort Star StrPosition Sub Subquery Substring Table TableAlias TableSample
    Trim TryCast Tuple Union UnpivotColumns Values Var Where Window WindowSpec With WithinGroup
    """.split()  # noqa: SIM905
)
#: Functions whose first argument is a unit of time if there are three, and these units.
_OF_UNITS = frozenset(("date_add", "date_diff", "dateadd", "datediff", "timestampadd", "timestampdiff"))
_UNITS = frozenset("MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY DAYOFYEAR WEEK MONTH QUARTER YEAR".split())  # noqa: SIM905
_TABLE_PARTS = {"this", "alias", "joins", "laterals", "sample", "pivots"}
#: First words of the statements that may run.
_BEGINNINGS = ("SELECT", "WITH", "VALUES", "TABLE", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "CREATE", "DECLARE", "SET")
_ONLY = "Use SELECT, VALUES, SHOW, DESCRIBE, EXPLAIN, CREATE TEMPORARY VIEW, DECLARE or SET VAR."


class Refused(Exception):  # noqa: N818  (the caller makes an error of it, which names the place)
    """A statement that is not known to only read views.

    Attributes:
        why: the reason.
        fix: what the user can do; empty if the reason says it.
        at: offset of the place in the statement; None if unknown.
    """

    def __init__(self, why: str, fix: str = "", at: int | None = None) -> None:
        super().__init__(why)
        self.why, self.fix, self.at = why, fix, at


class Unparsed(Refused):
    """A statement whose first word is misspelt. Others that cannot be parsed may be known to an engine."""


class NoView(Refused):
    """A statement that names no view of the case, such as a misspelt one."""

    def __init__(self, name: str, fix: str) -> None:
        super().__init__(f"there is no view `{name[:200]}`", fix)
        self.name = name


class Guard:
    """Accepts the statements of one session, which may read the views and variables that earlier ones have created."""

    def __init__(self) -> None:
        self._views: set[str] = set()
        self._variables = set(_thresholds())

    def accept(self, statement: str) -> str:
        """Return a statement as an engine may run it.

        Args:
            statement: one statement, without comments that begin with `--`.

        Raises:
            Refused: it is not known to only read views.
        """
        text = statement.strip()
        if found := _DECLARE.fullmatch(text):
            value = self._expression(found["rest"])
            self._variables.add(found["name"].lower())
            return f"DECLARE OR REPLACE VARIABLE {found['name']} {found['type'].upper()} DEFAULT {value}"
        if found := _SET.fullmatch(text):
            return f"SET VAR {found['name']} = {self._expression(found['rest'])}"
        if found := _CREATE.fullmatch(text):
            query = self.written(self.query(found["rest"]))
            self._views.add(found["name"].lower())
            columns = f" ({', '.join(f'`{name}`' for name in _NAME.findall(found['columns']))})" if found["columns"] else ""
            return f"CREATE {'OR REPLACE ' if found['replace'] else ''}TEMPORARY VIEW `{found['name']}`{columns} AS {query}"
        if found := _EXPLAIN.fullmatch(text):
            return f"{' '.join(found['how'].upper().split())} {self.written(self.query(found['rest']))}"
        if found := _DESCRIBE.fullmatch(text):
            self._check_view(found["name"] or found["of"])
            if found["of"]:
                return f"SHOW COLUMNS IN `{found['of']}`"
            return f"DESCRIBE {'EXTENDED ' if found['extended'] else ''}`{found['name']}`"
        if _SHOW.fullmatch(text):
            return " ".join(text.split())
        return self.written(self.query(text))

    def query(self, statement: str) -> Query:
        """Return a query as a tree, all of whose parts are known.

        Raises:
            Refused: as for `accept`.
        """
        from sqlglot import exp

        try:
            tree = _parsed(statement)
            if not isinstance(tree, exp.Query | exp.Values):
                raise Refused("it is not a query", _ONLY)
            self._check(tree)
        except RecursionError as e:
            raise Refused("it is nested too deeply") from e
        return tree  # type: ignore[return-value]

    def written(self, query: Query) -> str:
        """Return the text of a query that was accepted.

        Raises:
            Refused: the text would have another meaning than the query.
        """
        from sqlglot.errors import SqlglotError

        try:
            text = _text(query)
            again = _parsed(text)
            self._check(again)  # what the engine gets, too: a name that is written without quotes could contain more of a query
            same = _text(again) == text
        except RecursionError as e:
            raise Refused("it is nested too deeply") from e
        except SqlglotError as e:
            raise Refused("it cannot be written as one query with the same meaning") from e
        if not same:
            raise Refused("its meaning depends on the order in which operators are applied", "Add parentheses around conditions.")
        if "${" in text:  # Spark replaces it by a setting or an environment variable, even in a text
            raise Refused("`${` reads a setting or an environment variable", "Write '$' || '{' instead.")
        return text

    def _expression(self, text: str) -> str:
        return self.written(self.query(f"SELECT {text}")).removeprefix("SELECT ")

    def _check(self, query: Expr) -> None:
        """Check the parts of a query, and quote its names, so that none of them can be a keyword."""
        from sqlglot import exp

        own = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
        unquoted = {lateral.alias for lateral in query.find_all(exp.Lateral)} - {""}  # the parser writes them as they are
        if strange := next((name for name in sorted(own | unquoted) if not _NAME.fullmatch(name)), None):
            raise Refused(f"`{strange[:200]}` is not a plain name")
        for hint in list(query.find_all(exp.Hint)):
            hint.pop()
        for part in query.walk():
            if type(part).__name__ not in _PARTS:
                raise Refused(f"`{_shown(part)}` is not known to only read views", _ONLY)
            match part:
                case exp.Table():
                    self._check_table(part, own)
                case exp.Anonymous():
                    _check_function(part)
                case exp.DataType() if part.this == exp.DType.USERDEFINED:
                    raise Refused(f"there is no type `{_shown(part)}`")
                case exp.Var() if not _PLAIN.fullmatch(part.name.replace(" ", "_")):
                    raise Refused(f"`{_shown(part)}` is not a plain word")
                case exp.Identifier():
                    part.set("quoted", not self._is_variable(part))

    def _is_variable(self, name: Expr) -> bool:
        """Return True if a name refers to a variable, which Sail knows only without quotes."""
        from sqlglot import exp

        return isinstance(name.parent, exp.Column) and not name.parent.args.get("table") and name.name.lower() in self._variables

    def _check_table(self, table: Any, own: set[str]) -> None:  # noqa: ANN401  (sqlglot's types are imported late)
        from sqlglot import exp

        if isinstance(table.this, exp.Anonymous) and table.this.name.lower() in _GENERATORS:
            return
        if isinstance(table.this, exp.Anonymous) and table.this.name.lower() == "range":
            raise Refused("the function `range` is not allowed after FROM", "Use explode(sequence(0, 9)).")
        if not isinstance(table.this, exp.Identifier) or {name for name, value in table.args.items() if value} - _TABLE_PARTS:
            raise Refused(f"`{_shown(table)}` is not a view of the case")
        if table.name.lower() not in own:
            self._check_view(table.name)

    def _check_view(self, name: str) -> None:
        known = self._views | {view.name.lower() for view in view_files.views().values()} | set(TABLES)
        if name.lower() not in known:
            public = [view.name for view in view_files.views().values() if view.kind == "public"]
            raise NoView(name, did_you_mean(name, public, "") or did_you_mean(name, known, ""))


def _check_function(call: Any) -> None:  # noqa: ANN401  (sqlglot's types are imported late)
    from sqlglot import exp

    name, arguments = call.name.lower(), call.expressions
    if name not in _FUNCTIONS:
        raise Refused(f"the function `{call.name[:200]}` is not allowed", "Use Spark SQL's ordinary functions for text, numbers, times and lists.")
    if name in _OF_UNITS and len(arguments) == 3 and isinstance(arguments[0], exp.Column) and arguments[0].name.upper() in _UNITS:  # noqa: PLR2004
        arguments[0].replace(exp.Var(this=arguments[0].name.upper()))


def _shown(part: Expr) -> str:
    return part.sql(_dialect())[:200]


@lru_cache(maxsize=1)
def _thresholds() -> tuple[str, ...]:
    return tuple(re.findall(r"VARIABLE (\w+)", view_files.thresholds_sql()))


def _text(query: Expr) -> str:
    return query.sql(_dialect(), comments=False, normalize_functions=False)


def _parsed(statement: str) -> Expr:
    """Parse a statement.

    Raises:
        Refused: it is not SQL that the parser knows.
    """
    import sqlglot

    # With quotes in texts escaped by a backslash: the parser would take `''` for the end of a text and the beginning of another.
    text = with_escaped_quotes(statement)
    try:
        return sqlglot.parse_one(text, read=_dialect())
    except sqlglot.errors.ParseError as e:
        _refuse(e, text)
    except sqlglot.errors.SqlglotError as e:
        raise Refused(str(e).split("\n")[0]) from e


def _refuse(error: Any, text: str) -> NoReturn:  # noqa: ANN401  (sqlglot's types are imported late)
    """Raise what the parser found, with its place."""
    begin = _NAME.match(text)
    word = begin[0] if begin else ""
    if word.upper() not in _BEGINNINGS and (meant := did_you_mean(word, _BEGINNINGS, "")):
        raise Unparsed(f"SQL syntax error at `{word}`", meant, 0) from error
    found = error.errors[0] if error.errors else {}
    word = found.get("highlight") or ""
    if not word:
        raise Refused(f"SQL syntax error: {str(error).splitlines()[0]}", _ONLY) from error
    line_begin = sum(map(len, text.splitlines(keepends=True)[: found["line"] - 1]))
    raise Refused(f"SQL syntax error at `{word[:200]}`", _ONLY, max(0, line_begin + found["col"] - len(word))) from error


@cache
def _dialect() -> Dialect:
    """Return Spark's dialect without the parser's knowledge of functions, which it would write again under other names and with other arguments."""
    from sqlglot import exp
    from sqlglot.dialects.spark import Spark

    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # otherwise it warns about each statement that it does not parse
    parser: Any = Spark.parser_class
    generator: Any = Spark.generator_class
    syntax = ("CAST", "EXTRACT", "OVERLAY", "POSITION", "SUBSTR", "SUBSTRING", "TRIM", "TRY_CAST")

    class Plain(Spark):
        class Parser(parser):  # type: ignore[misc]
            FUNCTIONS: dict[str, Any] = {}
            ARRAY_CONSTRUCTORS: dict[str, Any] = {}
            FUNCTION_PARSERS = {name: parse for name, parse in parser.FUNCTION_PARSERS.items() if name in syntax}
            NO_PAREN_FUNCTION_PARSERS = {name: parse for name, parse in parser.NO_PAREN_FUNCTION_PARSERS.items() if name == "CASE"}

        class Generator(generator):  # type: ignore[misc]
            def not_sql(self, expression: Any) -> str:  # noqa: ANN401
                """Write `x IS NOT NULL` and `x NOT IN (...)`, as users do."""
                inner = expression.this
                if isinstance(inner, exp.Is | exp.In | exp.Between | exp.Like | exp.ILike | exp.RegexpLike):
                    left, whole = self.sql(inner, "this"), self.sql(inner)
                    word = " IS" if isinstance(inner, exp.Is) else ""
                    if whole.startswith(f"{left}{word} "):
                        return f"{left}{word} NOT{whole[len(left) + len(word) :]}"
                return str(super().not_sql(expression))

    return Plain()


def same_place(original: str, written: str, at: int | None) -> int | None:
    """Return where the word at an offset of the written statement is in the original; None if that is not clear."""
    if at is None:
        return None
    before, after = _words(original), _words(written)
    word = next((word for word, begin in after if begin == at), None)
    ours = [begin for other, begin in after if other == word]
    theirs = [begin for other, begin in before if other == word]
    return theirs[ours.index(at)] if word is not None and len(ours) == len(theirs) else None


def _words(text: str) -> list[tuple[str, int]]:
    import sqlglot

    try:
        return [(token.text.lower(), token.start) for token in sqlglot.tokenize(with_escaped_quotes(text), read=_dialect())]
    except sqlglot.errors.SqlglotError:
        return []
