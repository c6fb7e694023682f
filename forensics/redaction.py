"""Keep secrets out of every table, regardless of what printed them.

Kafka prints `[hidden]` for values that it knows to be passwords. Others are printed: JVM arguments, URLs with a password, keys of a connector that
declares no types, an exception's text about a failed connection. A secret is recognised by the key before it (here) or by its form
(`parsers/secrets.toml`). It becomes `[redacted]`, and its key stays, to show that something was set.

All text passes through `scrubbed` on its way to a table, many columns at a time. A sieve checks all of it in Arrow, and only the few texts that it
keeps are examined closely.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
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
_STATES = re.compile(r"[*x•]{3,}|RUNNING|PAUSED|STOPPED|FAILED|UNASSIGNED|RESTARTING|DESTROYED")
#: A reference to a secret that is kept elsewhere: `${file:/etc/x:password}`, `$PASSWORD`, `{{ password }}`.
_REFERENCE = re.compile(r"[\"']?(?:\$\{[^{}\s]{1,200}\}|\$\(?[A-Z_]{2,60}\)?|\{\{[^{}]{1,200}\}\})(?![^\s\"',;)}\]])")

#: States after the colon of a sentence about a secret, or about something that is named after one.
_STATE = re.compile(
    r"(?:un|re|de)?[a-z]{2,20}(?:ed|ing)|invalid|missing|absent|empty|ready|unknown|left|done|ok|new|set|unset|gone|strict|lenient|default|not|bearer|optional|valid|active|inactive|present|available|unavailable|pending|healthy|online|offline|stale|required|enabled|disabled"
)
#: The beginning of a sentence after a colon: a count with its unit, or the words of an error.
_SENTENCE = re.compile(
    r"\d{1,9} [a-z]{2,}|(?:no|not|the|a|an|is|was|has|must|valid|active|available|unavailable|should|could|cannot|can't|unable|failed|invalid|missing|access|permission|connection|request|response|"
    r"server|unexpected|unknown|unsupported|error|expected|already|because|caused|timed|status|http|found|only|[A-Za-z][a-z]{1,20}(?:ed|ing)|[a-z]{3,20}(?= [a-z]{2,20}(?:ed|ing)\b)) [\w'\"(]"
)
#: Words that continue a sentence after a value.
_PROSE = (
    r"(?:an?|the|to|from|for|of|in|on|at|by|with|without|and|or|but|not|no|is|was|are|were|be|been|has|have|had|did|does|do|cannot|could|should|must|may|will|would|"
    r"because|since|while|when|after|before|as|if|that|which|it|user|[a-z]{2,20}(?:ed|ing))(?![^\s,;.:])"
)

#: Matches keys of secrets, after camel case has been split by dots (`dbPass` is `db.pass`).
_SECRET_KEY = regex.compile(
    r"""
    passw(?:or)?d | passwort | kennwort | contrase | passphrase | passcode | secret | credential | token | jaas | private [._-]? (?: key | pem | cert )
  | client[._-]?assertion | user[._-]?info | webhook | bearer | cookie | sessid | jsessionid | connection[._-]?string | subscription[._-]?key | account[._-]?key
  | (?: stored | server | salted )[._-]? (?: key | password ) $ | auth[._-]?bytes | code[._-]?verifier | (?: one[._-]?time | verification | security | recovery ) [._-]? code
  | (?P<short> (?<![a-z]) (?: pass | pwd | pw | pin | otp | pat | sas | sig | signature | authorization | apikey | accesskey | secretkey | dsn | headers | license | hmac ) (?![a-z])
  | (?: (?<! com ) (?<! by ) (?<! sur ) pass | pw | master.?auth | (?<![a-z]) auth ) $ )
    """,
    regex.VERBOSE,
)
#: `key` as the last word of a key, and words before it that make it a secret one; two searches, because one would try each word against the whole rest.
_LAST_KEY = re.compile(r"[._-]key(?:[._-]?id)?$")
_OF_A_KEY = re.compile(
    "api|access|account|shared|master|keystore|encryption|encrypt|signing|storage|session|client|host|hmac|aes|rsa|ssl|sasl|license"
)
#: Ends of keys whose values are only about a secret (its location, its kind, its lifetime), and of names of things that deal with secrets.
_ABOUT = re.compile(
    r"[._-](?:ms|sec|seconds|minutes|hours|(?<!auth[._-])bytes|path|file|filename|location|class|type|algorithm|iterations|length|size|enabled?|source|mechanism|"
    r"refresh|endpoint[._-]url|name|count|ttl|timeout|version|audience|issuer|status|state|provider|requester|renewers?|expiry|scope|header[._-]urlencode|"
    r"(?<!key[._-])(?<!secret[._-])id|owner|policy|prefix|pattern|format|regex|index|rate|interval|required|java|kt|scala|py|go|rs|"
    r"sink|topics?|groups?|consumers?|producers?|connectors?|tasks?|workers?|partitions?|streams?|services?|servers?|managers?|apps?|application|jobs?|queue|table|"
    r"cache|bucket|factory|handler|encoder|decoder|validator|loader|reader|writer|parser|interceptor|filter|converter|module|plugin|cleaner|rotator|rotation|"
    r"re[sq]?(?:et|uest|ponse)s?|resets?|events?|readers?|operator|controller|client)$"
)
#: Texts that resemble keys: exceptions, controller actions on tokens, and numbered names such as those of partitions, tasks and members.
_NO_KEY = re.compile(
    r"(?:\w+\.)*\w*(?:Exception|Error|Failure)$|[a-z]+DelegationTokens?$|[\w.-]*(?<!passwd)(?<!password)(?<!pwd)(?<!secret)-[0-9]{1,9}"
    r"(?:-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})?$"
)
#: The last part of a name like those of groups, topics and connectors, `password-resets`, if it is the key of a secret after all.
_LAST_PART = re.compile(
    r"-(?:keys?|id|values?|val|text|string|info|pem|cert|json|base64|b64|hash|old|new|current|plain|data|code|phrase|encrypted|[0-9]+)$"
)
#: A random ID of a topic, cluster or directory as Kafka prints it. It may contain a short word by chance.
_RANDOM_ID = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?:(?=.*[0-9])|(?=(?:.*[a-z0-9](?=[A-Z])){4}))[\w-]{22}")
_ESCAPED_BREAK = re.compile(r"\\{1,4}[nr]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
#: Names of Kafka's requests, after the `apiKey` of a printed request: they are not secrets.
_REQUEST = re.compile(r"[A-Z_]{3,40}|\d{1,3}")
_WORD = re.compile(r"[a-z]+|[A-Z][a-z]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
#: Number of texts that are compared with known ones; number of known texts that are kept, and their maximum length; and the number of characters above
#: which RE2 is faster than Python.
_MAX_REMEMBERED, _MAX_KNOWN, _LONGEST_KNOWN, _MUCH = 5_000, 20_000, 1_000, 8_000
_COUNT, _LONG_COUNT = re.compile(r"\{(?:\d*,)?(\d+)"), 40
_JAVA_CLASS = re.compile(r"(?:[a-z]\w*\.){1,12}[A-Z]\w*:?")
#: An object as Java, Go, JSON and YAML print it; its secrets have keys of their own, or are its `value`.
_OBJECT = re.compile(r"""(?:&?[A-Za-z][\w.]{1,80}(?=[({])|\[?\s*(?=\{))[({]\s*[\\"']{0,9}[$\w][\w.$-]{0,80}[\\"']{0,9} ?[=:]""")
_LIST = regex.compile(r"""\[ (?: "(?:[^"\\\n]|\\.)*+" | '(?:[^'\\\n]|\\.)*+' | [^\[\]"'\n] )*+ \]""", regex.VERBOSE)
#: Lists that are of partitions, tasks or numbers, not of secrets or the bytes of one.
_NAMES = regex.compile(r"""\[(?:["']?[\w.-]*-[0-9]{1,6}["']?(?:,\ ?|(?=\])))*+\]|\[(?:\d{1,6}(?:,\ ?|(?=\]))){0,6}+\]""")
#: Text that follows the host in a URL, and ends it.
_PORT = re.compile(r"[0-9]{1,5}(?P<end>[/?#,;|)\]}])")
_BRACKETED = re.compile(r"\[[0-9A-Fa-f:.%]+\](?::[0-9]{1,5})?[/?#,;|)\]}]")
_HOST_PORT = re.compile(r"[\w.-]+:[0-9]{1,5}(?![\w:])")

_JSON_PAIR = regex.compile(r'"(?P<key>(?:[^"\\]|\\.){1,200})"(?P<colon>\s*:\s*)"(?P<value>(?:[^"\\]|\\.)*)"')
_PROPERTY = regex.compile(r"(?P<before>[\s#!]*)(?P<key>[\w.\->]+)(?P<equals>\s*[=:]\s*|\s+)(?P<value>\S.*)")
#: A key and its separator, as in properties, JSON (escaped or not), Java's maps, headers, query strings, XML, Python, lists and options of commands.
_KEY = regex.compile(
    r"""
    (?<![\w.\-]) (?P<key> [\w.\-]++ )
    (?: (?: \\{0,8} ["'`] | &quot; | %22 )? \]? [\ \t]{0,4} (?P<join> => | -> | := | = | ::? | %3[dDaA] ) [\ \t]{0,4}
      | (?P<join> > )
      | (?P<join> ["']? ,\ ? ) (?= ["'\w] )
      | ["']? (?P<join> [\ \t]{1,2} ) (?= \S ) )
    """,
    regex.VERBOSE,
)
_SCHEME = r"(?i:bearer|basic|digest|token|apikey|negotiate|ntlm|aws|sharedkey(?:lite)?|sharedaccesssignature|aws4-hmac-sha256)"
#: Part of a value without blanks: signs that may end it belong to it if it continues behind them.
_PART = r"""(?: [^\s,;&"'<] | ["'](?=[^\W_]|[$@!#%^*+~]) | <(?!/|!|[A-Za-z][\w:.-]{0,60}+/?>) | [,;&]++(?!\s|$|[\w.\-]{1,80}+[=:]|["'<]) )"""
_NEXT_KEY = r"""["']?[\w.\-]{1,80}+["']?\ ?(?:=|:(?!:))"""
_VALUE = regex.compile(
    rf"""
    (?P<open> \[? ) (?: {_SCHEME} [\ ]{{1,4}} (?P<value> [^\s"',\]]++ )
    | (?P<quote> ["'`“‘«„] ) (?P<value> (?: [^\\\n"'`“”’»] | \\. | (?! (?P=quote) ) ["'`] | (?P=quote){{1,2}}(?=\w) )*+ ) ["'`“”’»]?
    | (?P<quote> \\{{1,8}} ["'] | &quot; ) (?P<value> (?: (?! (?<!\\) (?P=quote) ) [^\n] )*+ ) (?P=quote)?
    | (?P<quote> < ) (?: !\[CDATA\[ )? (?P<value> [^<>\n]++ ) >
    | (?P<quote> \{{ ) (?P<value> [^{{}}\n]++ ) \}}
    | (?P<value> {_PART}++ ) )
    """,
    regex.VERBOSE,
)
#: The rest of a value with blanks: to the end of the line or clause, or only as far as no sentence continues, if the first word may be the whole secret.
_REST_OF_LINE = regex.compile(rf"(?: [\ \t]{{1,4}} (?! {_NEXT_KEY} | --?\w ) (?! [\[(]\S ) {_PART}++ )++", regex.VERBOSE)
_REST = regex.compile(rf"(?: [\ ] (?! {_NEXT_KEY} | [\-\[({{|>\#] | {_PROSE} | [A-Za-z]*\b[(.:] ) {_PART}++ )++", regex.VERBOSE)
_LINE_START = re.compile(r"(?:^|\n)[\s#!]*(?:export |set |- )?\Z")
#: A value in a printed Java map ends before the next key, or with the map.
_IN_MAP = regex.compile(r"[^\n]{1,400}?(?=,\ [\w.\-]{1,200}+=|[)}\]]++(?:[\s,;]|$))")
#: Keys of pairs in which the name of a setting and its value are separate.
_NAME_KEY = re.compile(r"(?:^|[._-])(?:name|key|property|setting|option|config|param|parameter|field)$")
_VALUE_KEY = re.compile(
    r"(?:^|[._$-])(?:values?|val|text|plain|plaintext|data|string|content|current|previous|next|old|new|first|second|primary|secondary|backup|raw|clear|cleartext)$"
)
_NAMED = regex.compile(r"""[\\"']{0,9}(?P<name>[\w.\-/]{1,200}+)[\\"']{0,9}(?=[\s,;)}\]<>/]|$)""")
_AMOUNT = re.compile(r"-?[0-9]{1,4}|-?[0-9]{1,9}\.[0-9]{1,9}|NaN")
#: The second word of a key of two words, and the word before it.
_SECOND_WORD = {"key", "keys", "phrase", "string", "code", "word"}
_WORD_BEFORE = re.compile(r"([A-Za-z][A-Za-z-]{1,30})[ ]\Z")
#: What may be a secret directly after the word that announces it, without a separator; the second one after words that are less clear.
_ALGORITHM = r"(?i: sha | md | aes | base | utf | pbkdf | hmac | rsa | v | kip | http | oauth | scram )\S{0,9}?\d"
_LOOKS_SECRET = regex.compile(
    rf"(?! [(\[{{</$] | [\w.\-]++[=:]\S | {_ALGORITHM} )"
    r"(?= \S*?[^\W\d_] ) (?= \S*?[\d!#$%^&*+~@] ) [^\s\"',;:()]{4,}+",
    regex.VERBOSE,
)
_LOOKS_RANDOM = regex.compile(
    rf"(?! {_ALGORITHM} )"
    r"(?= [^\s\d]*?[A-Za-z] | \d ) (?= [^\s\d]*?\d\S*?[A-Za-z] ) (?! [A-Za-z._-]++-\d++(?!\w) ) [A-Za-z0-9+/_=.~\-]{8,}+ (?![\w(:@/])",
    regex.VERBOSE,
)
#: The new value of a setting, behind the old one.
_CHANGED = regex.compile(
    r"""(?<=\[redacted\]) ["']? [ ]{1,3} (?: (?:->|=>|→) [ ]{1,3} (?P<secret> "[^"\n]*+" | '[^'\n]*+' | [^\s,;"']++ ) | to [ ] (?P<secret> "[^"\n]++" | '[^'\n]++'"""
    rf"""| {_LOOKS_SECRET.pattern} ) )""",
    regex.VERBOSE,
)
#: Words before a quoted piece of a text that cannot be parsed.
_SYNTAX = {"token", "tokens"}
_STRONG = re.compile(r"pass|pwd|pw$|passphrase|kennwort|_|[a-z]\.[a-z]", re.IGNORECASE)
_URL = regex.compile(r"(?<=://)(?:(?!://)[^\s\"'<>])++")
_MIN_TOKEN, _MIN_WHOLE, _LONGEST_VALUE = 20, 6, 400
#: Words of keys: marks (in lower case) of which every match of the sieve of words contains one; they are searched first, because Python finds them faster.
_MARKS_OF_KEYS = (
    "pass", "pwd", "pw", "secret", "credential", "token", "jaas", "private", "user", "webhook", "cookie", "string", "ription", "assertion", "kennwort", "contrase",
    "sess", "auth", "verifi", "account", "key", "code", "bearer", "://",
)  # fmt: skip
_SIEVE_OF_WORDS = (
    r"(?i:pass|pwd|pw\b|secret|credential|token|jaas|private|user.?info|webhook|cookie|connection.?string|subscription.?key|client.?assertion|kennwort|contrase"
    r"|sessid|jsessionid|auth.?bytes|code.?verifier|account.?key|(?:api|access|master|session|encryption|signing|license|shared|storage)[ _-]key"
    r"|(?:time|verification|security|recovery).?code|authorization|\bbearer[\"'\\\] \t]*[=:>%]|\b(?:master)?auth[\"'\\\] ]*[=: ]"
    r"|[._-]key(?:[._-]?id)?[\"'\\\] \t]*[=:>%])|apikey|Apikey|APIKEY"
    # The `apiKey` of a printed request is a name in capitals.
    r"|[a-z0-9]Key[\"'\\\] \t]*[=:>%]+[ \t]*[\"'\\]*(?:[^A-Z\s\"'\\]|[A-Z]+[^A-Z_,)\s])"
    r"|://[^\s\"'<>]*@"
)
#: Short words, which are parts of many others.
_SIEVE_OF_SHORT_WORDS = (
    r"\b(?i:pin|otp|pat|sas|sig|signature|dsn|headers|license|hmac)[\"'\\\] \t]*[=:>%]"
    r"|[a-z0-9](?:Pin|Otp|Pat|Sas|Sig|Signature|Dsn|Headers|License|Auth|KeyId)[\"'\\\] \t]*[=:>%]"
)
_SIEVE_OF_KEYS = f"{_SIEVE_OF_WORDS}|{_SIEVE_OF_SHORT_WORDS}"
_WORDS, _SHORT_WORDS = re.compile(_SIEVE_OF_WORDS), re.compile(_SIEVE_OF_SHORT_WORDS)


@dataclass(frozen=True)
class Shape:
    """A kind of secret that is recognised by its form; see `parsers/secrets.toml`. `sifted` is the compiled sieve."""

    name: str
    marks: tuple[str, ...]
    sieve: str
    sifted: re.Pattern[str]
    pattern: regex.Pattern[str]
    examples: tuple[tuple[str, str], ...]

    def is_in(self, text: str, lower: str) -> bool:
        """Return True if the text, given also in lower case, may contain such a secret."""
        if self.marks and not any(mark in lower for mark in self.marks):
            return False
        return not self.sieve or self.sifted.search(text) is not None

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
def _sieves() -> tuple[str, ...]:
    """Return two regular expressions (RE2) without lookaround, of which one matches every text with a secret; some others match too.

    RE2 is faster with two than with one, in which long repetitions multiply with all the rest.
    """
    counting = [shape.sieve for shape in shapes() if any(int(n) >= _LONG_COUNT for n in _COUNT.findall(shape.sieve))]
    others = [shape.sieve for shape in shapes() if shape.sieve and shape.sieve not in counting]
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
    if _has_no_secret(value) or _REFERENCE.fullmatch(value):
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
        if shape.is_in(text, lower):
            text = shape.hide(text)
    text = "".join(_without_values(text))
    return str(_CHANGED.sub(_without_secret, text)) if REDACTED in text else text


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
    """A memory of texts that the sieve does not match, because logs repeat their own and each other's content."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def suspected(self, texts: pa.Array) -> pa.BooleanArray | None:
        """Return for each text whether it may contain a secret; None if none does."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if len(texts) > _MAX_REMEMBERED:
            found = _sifted(texts)
            return found if pc.any(found).as_py() else None
        values = texts.to_pylist()
        new = {*values} - self._known - {None}
        matching = _matching(new)
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
        self._known.update(text for text in new - matching if len(text) <= _LONGEST_KNOWN)
        return pa.array([text in matching for text in values]) if matching else None


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
    return {text for text in simple if _is_suspected(text)}


def _is_suspected(text: str) -> bool:
    """Return True if the sieve matches an ASCII text and the text has a mark of what matched."""
    lower = text.lower()
    if any(mark in lower for mark in _MARKS_OF_KEYS) and _WORDS.search(text):
        return True
    return _SHORT_WORDS.search(text) is not None or any(shape.sieve and shape.is_in(text, lower) for shape in shapes())


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
    if found["secret"].lstrip("\"'`").startswith(REDACTED[:-1]):
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
    return f"{REDACTED}@{host}" if len(user) >= _MIN_TOKEN else rest


def _without_values(text: str) -> Iterator[str]:
    """Yield the parts of a text, with `[redacted]` in place of each value after a secret key."""
    done = 0
    for begin, end in sorted(_secrets(text)):
        if begin >= done:
            yield text[done:begin] + REDACTED
            done = end
    yield text[done:]


def _secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the position of each value after a secret key.

    The name of a setting and its value may be separate: `{"name": "password", "value": "x"}`, in this order or the other, and `"password": {"value": "x"}`. Such
    a pair is inside one bracket, so the brackets between keys are counted.
    """
    at = counted = depth = 0
    #: Depth at which the next value belongs to a secret key; the last value that may belong to one, and its depth.
    expected: int | None = None
    before: tuple[int, regex.Match[str]] | None = None
    while found := _KEY.search(text, at):
        depth += _opened(text, counted, found.start())
        at, counted = found.end(), found.start()
        if expected is not None and depth < expected:
            expected = None
        if before is not None and depth < before[0]:
            before = None
        key, has_sign = _whole_key(text, found), bool(_sign(found))
        if found["join"] == ">" and text[found.start() - 1 : found.start()] == "/":
            continue  # the end of an element
        is_secret, kind = is_secret_key(key), _kind_of_key(key)
        if not is_secret and has_sign and kind == "name":
            named = _NAMED.match(text, at)
            expected = depth if named is not None and is_secret_key(named["name"]) else None
            if expected is not None and before is not None and before[0] == depth and (span := _value(text, before[1], key, depth, found.start())):
                yield from _not_amount(text, span)
            before = None
        elif not is_secret and has_sign and kind == "value" and expected is None:
            before = depth, found
        elif is_secret or (has_sign and kind == "value"):
            if has_sign and _OBJECT.match(text, at):
                expected = depth + 1
            elif not has_sign and text[found.start() - 1 : found.start()] == "<":
                expected = depth  # an element, whose value is an attribute
            elif reference := _REFERENCE.match(text, at):
                at = reference.end()
            elif span := _value(text, found, key, depth):
                yield from (span,) if is_secret else _not_amount(text, span)
                at = counted = max(at, span[1])


def _not_amount(text: str, span: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the position of a value, unless it is a number such as those of metrics."""
    if _AMOUNT.fullmatch(text[slice(*span)].strip("\"'")) is None:
        yield span


@lru_cache(maxsize=4096)
def _kind_of_key(key: str) -> str:
    """Return `name` or `value` for a key of a pair in which the name of a setting and its value are separate; empty for any other."""
    plain = _HUMP.sub(".", key).lower()
    return "name" if _NAME_KEY.search(plain) else "value" if _VALUE_KEY.search(plain) else ""


def _sign(found: regex.Match[str]) -> str:
    """Return the separator after a key; empty if it is a blank or a comma."""
    return str(found["join"].strip("\"', \t"))


def _opened(text: str, begin: int, end: int) -> int:
    """Return how many brackets are opened and not closed between two positions."""
    return sum(text.count(sign, begin, end) for sign in "{[(") - sum(text.count(sign, begin, end) for sign in "}])")


def _whole_key(text: str, found: regex.Match[str]) -> str:
    """Return the key, with the word before it if it is the second of two, as in `API key`."""
    key: str = found["key"]
    if key.lower() in _SECOND_WORD and (word := _WORD_BEFORE.search(text, max(0, found.start() - 32), found.start())):
        return f"{word[1].replace('-', '.')}.{key}"
    return key


def _value(text: str, found: regex.Match[str], key: str, depth: int, stop: int | None = None) -> tuple[int, int] | None:
    """Return the position of the value after a secret key, before `stop`; None if the value is not a secret."""
    begin, stop, sign = found.end(), len(text) if stop is None else stop, _sign(found)
    if text.startswith((REDACTED, f'"{REDACTED}', f"'{REDACTED}"), begin) or _is_request(text, begin, key):
        return None
    if not sign:
        return _value_without_sign(text, found, key)
    in_map = (
        sign == "="
        and depth > 0
        and text[max(0, found.start() - 2) : found.start()].endswith(("{", "(", ", "))
        and text[begin : begin + 1] not in "\"'["
    )
    if in_map and (inside := _IN_MAP.match(text, begin, stop)):
        return None if _has_no_secret(inside[0]) else inside.span()
    if several := _LIST.match(text, begin, stop):
        return None if _NAMES.fullmatch(several[0]) or several[0].lower() in _EMPTY or _has_no_secret(several[0][1:-1]) else several.span()
    m = _VALUE.match(text, begin, stop)
    if m is None:
        return None
    if m["quote"] is not None:
        return None if _has_no_secret(m["value"]) else (m.start() + len(m["open"]), m.end())
    value = m["value"].rstrip("\\}])>.")
    bare = _ESCAPED_BREAK.split(value, maxsplit=1)[0].rstrip("]")
    if (
        any(map(_has_no_secret, (value, bare, m["value"])))
        or f"[{bare}]" in _EMPTY
        or _JAVA_CLASS.fullmatch(value)
        or value.startswith(REDACTED[:-1])
    ):
        return None
    if sign == ":" and text[begin - 1] in " \t" and (_STATE.fullmatch(value) or _SENTENCE.match(text, begin)):
        return None
    last = m.start("value") + len(value)
    if last == m.end():
        is_whole = len(value) >= _MIN_WHOLE and _LOOKS_SECRET.fullmatch(value) is not None
        rest = _REST if is_whole and not _LINE_START.search(text, max(0, found.start() - 40), found.start()) else _REST_OF_LINE
        more = rest.match(text, last, stop)
        last = more.end() if more else last
    return m.start() + len(m["open"]), last


def _has_no_secret(value: str) -> bool:
    """Return True if a value is empty, a mask or a state."""
    return value.lower() in _EMPTY or _STATES.fullmatch(value) is not None


def _is_request(text: str, begin: int, key: str) -> bool:
    """Return True if a key is the `apiKey` of a printed request: its value is the name or number of one."""
    request = _REQUEST.match(text, begin) if key.lower().replace("_", "").endswith("apikey") else None
    return request is not None and text[request.end() : request.end() + 1] in ("", ",", ")", " ")


def _value_without_sign(text: str, found: regex.Match[str], key: str) -> tuple[int, int] | None:
    """Return the position of the value after a key and a blank or a comma; None if it is not a secret."""
    begin, option = found.end(), key.startswith("-")
    if "," in found["join"]:
        opened = text[max(0, found.start() - 2) : found.start()] in ("('", '("', "['", '["')
        return _accepted(text, begin, lambda m: option or (opened and m["quote"] is not None and text[m.end() : m.end() + 1] in (")", "]")))
    if option:
        return _accepted(text, begin, lambda m: not m["value"].startswith("|"))
    is_strong = _STRONG.search(found["key"]) is not None
    if text[begin] in "\"'`“":
        return _accepted(text, begin, lambda m: is_strong or _LOOKS_SECRET.fullmatch(m["value"]) is not None) if key.lower() not in _SYNTAX else None
    looks = (_LOOKS_SECRET if is_strong else _LOOKS_RANDOM).match(text, begin)
    return looks.span() if looks else None


def _accepted(text: str, begin: int, accepts: Callable[[regex.Match[str]], bool]) -> tuple[int, int] | None:
    """Return the position of a value that is accepted by its beginning: the rest of a long one is read only once."""
    m = _VALUE.match(text, begin, begin + _LONGEST_VALUE)
    if m is None or not m["value"] or m["value"].startswith("-") or _has_no_secret(m["value"]) or not accepts(m):
        return None
    whole = m if m.end() < begin + _LONGEST_VALUE else _VALUE.match(text, begin)
    return begin, whole.end()


@lru_cache(maxsize=4096)
def is_secret_key(key: str) -> bool:
    """Return True if a key names a secret, so that its value is removed."""
    plain = _HUMP.sub(".", key).lower()
    if _NO_KEY.match(key) is not None or (_ABOUT.search(plain) is not None and "webhook" not in plain):
        return False
    head, dash, tail = plain.rpartition("-")
    if dash and not head.startswith("-") and _SECRET_KEY.search(tail) is None and _LAST_PART.search(plain) is None:
        return False
    if _RANDOM_ID.fullmatch(key) and all(found["short"] for found in _SECRET_KEY.finditer(plain)):
        return False
    last = _LAST_KEY.search(plain)
    return _SECRET_KEY.search(plain) is not None or (last is not None and _OF_A_KEY.search(plain, 0, last.start()) is not None)
