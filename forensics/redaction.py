"""Keep secrets out of every table, whatever printed them.

Kafka prints `[hidden]` for values that it knows to be passwords. Others are printed: JVM arguments, URLs with a password, keys of a connector that
declares no types, an exception's text about a failed connection. A secret is recognised by the key before it (here) or by its form
(`parsers/secrets.toml`). It becomes `[redacted]`, and its key stays, to show that something was set.

All text passes through `scrubbed` on its way to a table, many columns at a time. A sieve checks all of it in Arrow, and only the few texts that it
keeps are examined closely.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import regex

from forensics.resources import parsers_dir

if TYPE_CHECKING:
    import pyarrow as pa

REDACTED = "[redacted]"
#: Values that are not secrets: they stay as printed.
_EMPTY = {"", "null", "none", "[]", "{}", '""', "''", "[hidden]", REDACTED, "true", "false", "yes", "no", "required", "requested", "optional"}
#: Masks of other programs, and states of a connector or task whose name resembles a key.
_SAID = re.compile(r"[*x•]{3,}|RUNNING|PAUSED|STOPPED|FAILED|UNASSIGNED|RESTARTING|DESTROYED")

#: States after the colon of a sentence about a secret, or about something that is named after one.
_STATE = re.compile(
    r"(?:(?:un|re|de)?(?:registered|loaded|created|removed|deleted|added|updated|started|stopped|closed|opened|connected|initiali[sz]ed|authenticated))"
    r"|expired|expiring|invalid|missing|absent|empty|listening|ready|revoked|renewed|refreshed|rotated|rejected|accepted|failed|unknown|leaving|joining|left|joined|rebalancing"
)

#: Matches keys of secrets, after camel case has been split by dots (`dbPass` is `db.pass`).
_SECRET_KEY = regex.compile(
    r"""
    passw(?:or)?d | passwort | passphrase | passcode | secret | credential | token | jaas | private [._-]? (?: key | pem | cert ) | client[._-]?assertion | user[._-]?info | webhook | bearer | cookie
  | connection[._-]?string | subscription[._-]?key
  | (?<![a-z]) (?: pass | pwd | pw | pin | otp | pat | sas | sig | signature | authorization | apikey | accesskey | secretkey | dsn | headers | license ) (?![a-z])
  | (?<![a-z]) auth $
    """,
    regex.VERBOSE,
)
#: `key` as the last word of a key, and words before it that make it a secret one; two searches, because one would try each word against the whole rest.
_LAST_KEY = re.compile(r"[._-]key(?:[._-]?id)?$")
_OF_A_KEY = re.compile(
    "api|access|account|shared|master|keystore|encryption|encrypt|signing|storage|session|client|host|hmac|aes|rsa|ssl|sasl|license"
)
#: Ends of keys whose values are only about a secret: its location, its kind, its lifetime.
_ABOUT = re.compile(
    r"[._-](?:ms|sec|seconds|minutes|hours|bytes|path|file|filename|location|class|type|algorithm|iterations|length|size|enabled?|source|mechanism|"
    r"refresh|endpoint[._-]url|name|count|ttl|timeout|version|audience|issuer|status|state|provider|requester|renewers?|expiry|scope|header[._-]urlencode)$"
)
#: Texts that resemble keys: exceptions, controller actions on tokens, and numbered names such as those of partitions, tasks and members.
_NO_KEY = re.compile(
    r"(?:\w+\.)*\w*(?:Exception|Error|Failure)$|[a-z]+DelegationTokens?$|[\w.-]*(?<!passwd)(?<!password)(?<!pwd)(?<!secret)-[0-9]{1,9}"
    r"(?:-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})?$"
)
_ESCAPED_BREAK = re.compile(r"\\{1,4}[nr]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
#: Names of Kafka's requests, after the `apiKey` of a printed request: they are not secrets.
_REQUEST = re.compile(r"[A-Z_]{3,40}|\d{1,3}")
_WORD = re.compile(r"[a-z]+|[A-Z][a-z]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
#: Number of texts that are compared with known ones; number of known texts that are kept, and their maximum length; and the number of characters above
#: which RE2 is faster than Python.
_MOST_REMEMBERED, _MOST_KNOWN, _LONGEST_KNOWN, _MUCH = 5_000, 20_000, 1_000, 8_000
_COUNT, _LONG_COUNT = re.compile(r"\{(?:\d*,)?(\d+)"), 40
_JAVA_CLASS = re.compile(r"(?:[a-z]\w*\.){1,12}[A-Z]\w*:?")
#: An object as Java prints it, whose secrets have keys of their own.
_OBJECT = re.compile(r"[A-Z][A-Za-z]{2,80}[({][a-z]\w{0,80} ?=")
#: Text that follows the host in a URL, and ends it.
_PORT = re.compile(r"[0-9]{1,5}(?P<end>[/?#,;|)\]}])")
_BRACKETED = re.compile(r"\[[0-9A-Fa-f:.%]+\](?::[0-9]{1,5})?[/?#,;|)\]}]")
_HOST_PORT = re.compile(r"[\w.-]+:[0-9]{1,5}(?![\w:])")

_JSON_PAIR = regex.compile(r'"(?P<key>(?:[^"\\]|\\.){1,200})"(?P<colon>\s*:\s*)"(?P<value>(?:[^"\\]|\\.)*)"')
_PROPERTY = regex.compile(r"(?P<before>[\s#!]*)(?P<key>[\w.\->]+)(?P<equals>\s*[=:]\s*|\s+)(?P<value>\S.*)")
#: A key and its separator, as in properties, JSON (escaped or not), Java's maps, headers, query strings, XML and Python.
_KEY = regex.compile(
    r"""
    (?<![\w.\-]) (?P<key> [\w.\-]++ )
    (?: \\{0,4} ["']? \]? [\ \t]{0,4} (?P<join> => | -> | := | = | : | %3[dDaA] ) [\ \t]{0,4} | > | [\ ]{1,2} (?=["']) )
    """,
    regex.VERBOSE,
)
_SCHEME = r"(?i:bearer|basic|digest|token|apikey|negotiate|sharedkey(?:lite)?|sharedaccesssignature|aws4-hmac-sha256)"
_VALUE = regex.compile(
    rf"""
    (?P<open> \[? ) (?: {_SCHEME} [\ ]{{1,4}} (?P<value> [^\s"']++ )
    | (?P<quote> ["'] ) (?P<value> (?: (?!(?P=quote)) [^\\\n] | \\. )*+ ) (?P=quote)?
    | \\{{1,4}} (?P<quote> ["'] ) (?P<value> (?: (?! \\{{1,4}} ["'] ) [^\n] )*+ )
    | (?P<value> [^\s,;&"'<]++ (?: [,;&]++ (?! \s | $ | [\w.\-]{{1,80}}+ [=:] ) [^\s,;&"'<]++ )*+ ) )
    """,
    regex.VERBOSE,
)
#: A value in a printed Java map ends before the next key, or with the map.
_IN_MAP = regex.compile(r"[^\n{}=]{1,400}?(?=,\ [\w.\-]{1,200}+=|\})")
_URL = regex.compile(r"(?<=://)(?:(?!://)[^\s\"'<>])++")
_LEAST_TOKEN = 20
_SIEVE_OF_KEYS = (
    r"(?i:pass|pwd|\bpw\b|secret|credential|token|jaas|private|user.?info|webhook|cookie|connection.?string|subscription.?key|accesskey|client.?assertion"
    r"|authorization|\bbearer[\"'\\\] \t]*[=:>%]|\bauth[\"'\\\] ]*[=:]|\b(?:pin|otp|pat|sas|sig|signature|dsn|headers|license)[\"'\\\] \t]*[=:>%]|[._-]key(?:[._-]?id)?[\"'\\\] \t]*[=:>%])"
    r"|[a-z0-9](?:Pin|Otp|Pat|Sas|Sig|Signature|Dsn|Headers|License|Auth|KeyId)[\"'\\\] \t]*[=:>%]|apikey|Apikey|APIKEY"
    # The `apiKey` of a printed request is a name in capitals.
    r"|[a-z0-9]Key[\"'\\\] \t]*[=:>%]+[ \t]*[\"'\\]*(?:[^A-Z\s\"'\\]|[A-Z]+[^A-Z_,)\s])"
    r"|://[^\s\"'<>]*@"
)


@dataclass(frozen=True)
class Shape:
    """A kind of secret that is recognised by its form; see `parsers/secrets.toml`. `sifted` is the compiled sieve."""

    name: str
    marks: tuple[str, ...]
    sieve: str
    sifted: re.Pattern[str]
    pattern: regex.Pattern[str]
    examples: tuple[tuple[str, str], ...]

    def hide(self, text: str) -> str:
        """Return the text without such secrets."""
        return str(self.pattern.sub(_without_secret, text))


@cache
def shapes() -> tuple[Shape, ...]:
    """Return the shapes of `parsers/secrets.toml`."""
    table = tomllib.loads((parsers_dir() / "secrets.toml").read_text(encoding="utf-8"))
    return tuple(
        Shape(
            s["name"],
            tuple(s["marks"]),
            s["sieve"],
            re.compile(s["sieve"]),
            regex.compile(s["pattern"], regex.VERBOSE),
            tuple((x, kept) for x, kept in s["example"]),
        )
        for s in table["shape"]
    )


@cache
def sieve() -> str:
    """Return a regular expression (RE2, Python) without lookaround that matches every text with a secret, and some others."""
    return "|".join(_sieves())


@cache
def _sieves() -> tuple[str, ...]:
    """Return the sieve in parts: RE2 is faster with two than with one, in which long repetitions multiply with all the rest."""
    counting = [shape.sieve for shape in shapes() if any(int(n) >= _LONG_COUNT for n in _COUNT.findall(shape.sieve))]
    others = [shape.sieve for shape in shapes() if shape.sieve not in counting]
    return "|".join([_SIEVE_OF_KEYS, *(f"(?:{text})" for text in others)]), "|".join(f"(?:{text})" for text in counting)


def _sifted(texts: pa.Array) -> pa.BooleanArray:
    """Return for each text whether it may contain a secret."""
    import pyarrow.compute as pc

    first, second = (pc.match_substring_regex(texts, text) for text in _sieves())
    return pc.or_(first, second)


def hide(key: str, value: str) -> str:
    """Return the value of a configuration key without its secrets.

    Args:
        key: as printed, for example `ssl.keystore.password`.
        value: as printed.

    Returns:
        The value itself, `[redacted]`, or the value with `[redacted]` in place of a password.
    """
    if value.lower() in _EMPTY or _SAID.fullmatch(value):
        return value
    if key == "key" or is_secret_key(key):
        return REDACTED
    return scrub(value)


def hide_line(text: str) -> str:
    """Return a line of a properties file (commented out or not) or of JSON without its secrets."""
    if '":' in text or '" :' in text:
        text = str(_JSON_PAIR.sub(lambda m: f'"{m["key"]}"{m["colon"]}"{hide(m["key"], m["value"])}"', text))
    elif m := _PROPERTY.fullmatch(text):
        return f"{m['before']}{m['key']}{m['equals']}{hide(m['key'], m['value'])}"
    return scrub(text)


def scrub(text: str) -> str:
    """Return any text without its secrets: values after secret keys, passwords in URLs, and texts that have the form of a secret."""
    if "://" in text and "@" in text:
        text = _URL.sub(lambda m: _without_userinfo(m[0]), text)
    lower = text.lower()
    for shape in shapes():
        if any(mark in lower for mark in shape.marks) or (not shape.marks and shape.sifted.search(text)):
            text = shape.hide(text)
    return "".join(_without_values(text))


def scrubbed(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Return columns of a table without secrets. A column without text or without a secret is returned as it is."""
    import pyarrow as pa

    texts = [_looked_at(column) for column in columns]
    everything = [text for mine in texts for text in mine]
    if not everything:
        return list(columns)
    found = _CLEAN.suspected(pa.concat_arrays(everything))
    if found is None:
        return list(columns)
    result, at = [], 0
    for column, mine in zip(columns, texts, strict=True):
        size = sum(map(len, mine))
        result.append(_mended(column, mine, found.slice(at, size)))
        at += size
    return result


class _CleanTexts:
    """Remembers texts that the sieve does not match, because logs repeat their own and each other's content."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def suspected(self, texts: pa.Array) -> pa.BooleanArray | None:
        """Return for each text whether it may contain a secret; None if none does."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if len(texts) > _MOST_REMEMBERED:
            found = _sifted(texts)
            return found if pc.any(found).as_py() else None
        said = texts.to_pylist()
        new = {*said} - self._known - {None}
        matching = _matching(new)
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        self._known.update(text for text in new - matching if len(text) <= _LONGEST_KNOWN)
        return pa.array([text in matching for text in said]) if matching else None


_CLEAN = _CleanTexts()


def _matching(texts: set[str]) -> set[str]:
    """Return the texts that may contain a secret. Preparing the sieve takes RE2 as long as Python needs for a hundred texts."""
    import pyarrow as pa

    # For ASCII, both agree on blanks, letters and the ends of words.
    simple = [text for text in texts if text.isascii() and not _CONTROL.search(text)]
    if len(simple) < len(texts) or sum(map(len, simple)) > _MUCH:
        every = list(texts)
        found = _sifted(pa.array(every, pa.string())).to_pylist()
        return {text for text, held in zip(every, found, strict=True) if held}
    search = _compiled_sieve().search
    return {text for text in simple if search(text)}


@cache
def _compiled_sieve() -> re.Pattern[str]:
    return re.compile(sieve())


def _looked_at(column: pa.Array) -> list[pa.Array]:
    """Return the distinct texts of a column: finding equal texts costs a hundredth of searching them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = list(_texts(column))
    return [pc.unique(pa.concat_arrays(found))] if found else []


def _texts(column: pa.Array) -> Iterator[pa.Array]:
    """Yield arrays of the texts in a column, including keys of maps."""
    import pyarrow as pa

    if column.null_count == len(column):
        return
    if pa.types.is_string(column.type):
        yield column
    elif pa.types.is_list(column.type):
        yield from _texts(column.values)
    elif pa.types.is_map(column.type):
        yield from _texts(column.keys)
        yield from _texts(column.items)


def _mended(column: pa.Array, texts: Sequence[pa.Array], found: pa.BooleanArray) -> pa.Array:
    """Return a column without secrets, some of whose texts may contain one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pc.any(found).as_py():
        return column
    several = pa.concat_arrays(texts).filter(found).to_pylist()
    known = {text: clean for text in several if (clean := scrub(text)) != text}
    if not known:
        return column  # its keys name a secret
    if pa.types.is_string(column.type):
        distinct = column.dictionary_encode()
        return pa.array([known.get(text, text) for text in distinct.dictionary.to_pylist()], column.type).take(distinct.indices)
    return pa.array([_mended_cell(cell, known) for cell in column.to_pylist()], column.type)


def _mended_cell(cell: Any, known: Mapping[str, str]) -> Any:  # noqa: ANN401  (a cell of any type)
    if isinstance(cell, str):
        return known.get(cell, cell)
    if isinstance(cell, list | tuple):
        return type(cell)(_mended_cell(item, known) for item in cell)
    return cell


def _without_secret(found: regex.Match[str]) -> str:
    """Return the match with its group `secret` redacted."""
    if found["secret"].startswith(REDACTED[:-1]):
        return str(found[0])
    begin, end = found.start(), found.start("secret")
    return f"{found[0][: end - begin]}{REDACTED}{found[0][found.end('secret') - begin :]}"


def _without_userinfo(rest: str) -> str:
    """Return the text after `://` without the password before its last `@`; a password may contain any character that should end it."""
    userinfo, at, host = rest.rpartition("@")
    user, colon, password = userinfo.partition(":")
    if not at or "/" in user or "?" in user or _BRACKETED.match(rest):
        return rest
    if (port := _PORT.match(password)) and (port["end"] != "/" or not _HOST_PORT.match(host)):
        return rest  # the `@` follows the host, in a path or a word
    if colon:
        return f"{user}:{password if password in _EMPTY else REDACTED}@{host}"
    return f"{REDACTED}@{host}" if len(user) >= _LEAST_TOKEN else rest


def _without_values(text: str) -> Iterator[str]:
    """Yield the parts of a text, with `[redacted]` in place of each value after a secret key."""
    done = 0
    while found := _KEY.search(text, done):
        key, begin = found["key"], found.end()
        yield text[done:begin]
        done = begin
        if not is_secret_key(key) or (value := _value(text, found)) is None:
            continue
        first, last = value
        yield text[done:first] + REDACTED
        done = last
    yield text[done:]


def _value(text: str, found: regex.Match[str]) -> tuple[int, int] | None:
    """Return the position of the value after a secret key; None if the value is not a secret."""
    begin = found.end()
    join = found["join"]
    if join == "=" and text[max(0, found.start() - 2) : found.start()].endswith(("{", ", ")) and (inside := _IN_MAP.match(text, begin)):
        return None if inside[0].lower() in _EMPTY or _SAID.fullmatch(inside[0]) or _OBJECT.match(inside[0]) else inside.span()
    m = _VALUE.match(text, begin)
    if m is None:
        return None
    value = m["value"]
    quoted = m["quote"] is not None
    if value.startswith(REDACTED):
        return None
    if not quoted:
        value = value.rstrip("\\}])>.")
        value = value if not m["open"] else value.rstrip("]")
    bare = _ESCAPED_BREAK.split(value, maxsplit=1)[0].rstrip("]")
    if not value or value.lower() in _EMPTY or bare.lower() in _EMPTY or f"[{bare}]" in _EMPTY or _SAID.fullmatch(value):
        return None
    if not quoted and join == ":" and text[m.start() - 1] == " " and _STATE.fullmatch(value):
        return None
    if not quoted and (
        _OBJECT.match(text, m.start()) or _JAVA_CLASS.fullmatch(value) or (found["key"].lower().endswith("apikey") and _REQUEST.fullmatch(value))
    ):
        return None
    return m.start() + len(m["open"]), m.end() if quoted else m.start("value") + len(value)


@lru_cache(maxsize=4096)
def is_secret_key(key: str) -> bool:
    """Return True if a key names a secret, so that its value is removed."""
    plain = _HUMP.sub(".", key).lower()
    if _NO_KEY.match(key) is not None or (_ABOUT.search(plain) is not None and "webhook" not in plain):
        return False
    last = _LAST_KEY.search(plain)
    return _SECRET_KEY.search(plain) is not None or (last is not None and _OF_A_KEY.search(plain, 0, last.start()) is not None)
