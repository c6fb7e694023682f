"""Keep secrets out of every table, regardless of what printed them.

Kafka prints `[hidden]` for values that it knows to be passwords. Others are printed: JVM arguments, URLs with a password, keys of a connector that
declares no types, an exception's text about a failed connection. A secret is recognised by the key before it or by its form; both are data
(`parsers/secrets.toml`). It becomes `[redacted]`, and its key stays, to show that something was set. A text that is escaped for HTML, JSON or a URL, or has
invisible characters, is also searched as the plain text that it means.

All text passes through `scrubbed` on its way to a table, many columns at a time. A sieve checks all of it in Arrow, and only the few texts that it
keeps are examined closely.
"""

from __future__ import annotations

import html
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import regex
from ahocorasick_rs import AhoCorasick

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

#: The default of a reference, or text that is no name but may be a secret itself.
_DEFAULT = regex.compile(
    r":(?: -(?P<secret>[^{}\s]{1,200}+) | (?P<secret> (?=[^{}\s:/]{0,200}?[a-z]) (?=[^{}\s:/]{0,200}?[A-Z]) (?=[^{}\s:/]{0,200}?[0-9]) [^{}\s:/]{8,200}+ ) ) \}",
    regex.VERBOSE,
)

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

#: `key` as the last word of a key. Words before it that make it a secret one are searched apart, because one search would try each word against the whole rest.
_LAST_KEY = re.compile(r"[._-]key(?:[._-]?id)?$")
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
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
#: Number of texts that are compared with known ones; number of known texts that are kept, and their maximum length; and the number of characters above
#: which RE2 is faster than Python.
_MAX_REMEMBERED, _MAX_KNOWN, _LONGEST_KNOWN, _MUCH = 5_000, 20_000, 1_000, 8_000
_COUNT, _LONG_COUNT = re.compile(r"\{(?:\d*,)?(\d+)"), 40
_JAVA_CLASS = re.compile(r"(?:[a-z]\w*\.){1,12}[A-Z]\w*:?")
#: An object as Java, Go, JSON and YAML print it; its secrets have keys of their own, or are its `value`.
_OBJECT = re.compile(r"""(?:&?[A-Za-z][\w.]{1,80}(?=[({])|\[?\s*(?=\{))[({]\s*[\\"']{0,9}[$\w][\w.$-]{0,80}[\\"']{0,9} ?[=:]""")
_LIST = regex.compile(r"""\[ (?: "(?:[^"\\\n]|\\.)*+" | '(?:[^'\\\n]|\\.)*+' | [^\[\]"'\n] | \r?\n[\ \t]{0,40}+(?=["'\]]) )*+ \]""", regex.VERBOSE)
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
    (?<![\w.\-]) (?P<key> [\w.\-]++ ) (?: \( (?!\d) [\w\ \-]{1,20} \) (?=[\ =:]) )?
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
    | (?P<quote> ["'`“‘«„] ) (?P<value> (?: [^\\\n"'`“”’»] | \\. | (?! (?P=quote) ) ["'`] | (?P=quote){{1,2}}(?=\w) | \n[\ \t]{{1,40}}+(?!at\s)(?=[^\n"'=:(]{{1,200}}+(?P=quote)) )*+ ) ["'`“”’»]?
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
_LINE_START = re.compile(r"(?:^|\n)(?:[^\S\n]|[#!])*+(?:export |set |- )?\Z")
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
#: IDs of sessions of Kafka (also in words) and ZooKeeper.
_SESSION_KEY = re.compile(r"session[._-]?id$", re.IGNORECASE)
_SESSION = re.compile(r"[\"']?(?:-?\d+|0x[0-9a-fA-F]+|[A-Z_]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w-])")
#: A character, or none, that is written in another form: as an entity of HTML, as a code of JSON or of a URL, as an escaped line break or tab, as a blank that
#: is not one of ASCII, as wide as a Chinese one, between letters that are apart, or invisibly. And how often a text may be escaped.
_FORM = regex.compile(
    r"""
    (?P<entity> & (?: \#[0-9]{1,6} | \#[xX][0-9A-Fa-f]{1,5} | amp | lt | gt | quot | apos | nbsp | equals | colon | comma | semi ) ; )
  | \\{1,4}+ u (?P<code> (?! [dD][89A-Fa-f] ) [0-9A-Fa-f]{4} ) | % (?P<code> [0-7][0-9A-Fa-f] ) | (?P<bytes> %[CcDd]\w%[89ABab]\w | %[Ee]\w(?:%[89ABab]\w){2} | %[Ff]\w(?:%[89ABab]\w){3} )
  | (?P<break> \\{1,4}+ [nrt] (?! [a-z]) | \#01[12] ) | \\{1,8}+ (?P<quote> ["'] )
  | (?P<blank> [\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000] ) | (?P<wide> [\uFF01-\uFF5E] ) | (?<= (?<![^\s"']) [A-Za-z] ) \ (?= [A-Za-z] (?!\S) )
  | [\u00AD\u180E\u200B-\u200F\u2060-\u2064\uFE00-\uFE0F\uFEFF\U000E0000-\U000E007F\U000E0100-\U000E01EF]
    """,
    regex.VERBOSE,
)
_MAX_ESCAPED, _SHORTEST_IN_PATH = 4, 6
_URL = regex.compile(r"(?<=://)(?:(?!://)[^\s\"'<>])++")
_MIN_TOKEN, _MIN_WHOLE, _LONGEST_VALUE = 20, 6, 400


@dataclass(frozen=True)
class Keys:
    """Keys whose values are secrets; see `parsers/secrets.toml`. Each sieve is for RE2 and for Python, with the marks of the texts that it can match."""

    secret: regex.Pattern[str]
    key_of: re.Pattern[str]
    about: re.Pattern[str]
    sieve: str
    marks: tuple[str, ...]
    sifted: re.Pattern[str]
    short_sieve: str
    short_marks: tuple[str, ...]
    short_sifted: re.Pattern[str]

    def are_in(self, text: str, lower: str) -> bool:
        """Return True if an ASCII text, given also in lower case, may contain such a key."""
        if any(mark in lower for mark in self.marks) and self.sifted.search(text):
            return True
        return any(mark in lower for mark in self.short_marks) and self.short_sifted.search(text) is not None


@dataclass(frozen=True)
class Shape:
    """A kind of secret that is recognised by its form; see `parsers/secrets.toml`. `sifted` is the compiled sieve."""

    name: str
    marks: tuple[str, ...]
    sieve: str
    sifted: re.Pattern[str]
    pattern: regex.Pattern[str]
    examples: tuple[tuple[str, str], ...]

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the positions of such secrets."""
        return _captured(self.pattern, text)


@cache
def _described() -> dict[str, Any]:
    return tomllib.loads((parsers_dir() / "secrets.toml").read_text(encoding="utf-8"))


@cache
def keys() -> Keys:
    """Return the keys of `parsers/secrets.toml`."""
    table = _described()["keys"]
    long, short = (f"(?i:{'|'.join(table[f'{kind}sieve'])})|{'|'.join(table[f'{kind}case_sieve'])}" for kind in ("", "short_"))
    return Keys(
        regex.compile(table["secret"], regex.VERBOSE),
        re.compile(table["key_of"]),
        re.compile(table["about"], re.VERBOSE),
        long,
        tuple(table["marks"]),
        re.compile(long),
        short,
        tuple(table["short_marks"]),
        re.compile(short),
    )


@cache
def shapes() -> tuple[Shape, ...]:
    """Return the shapes of `parsers/secrets.toml`."""
    return tuple(
        Shape(
            s["name"],
            tuple(s["marks"]),
            s["sieve"],
            re.compile(s["sieve"]),
            regex.compile(s["pattern"], regex.VERBOSE),
            tuple((x, kept) for x, kept in s["example"]),
        )
        for s in _described()["shape"]
    )


@cache
def _sieves() -> tuple[str, ...]:
    """Return two regular expressions (RE2) without lookaround, of which one matches every text with a secret; some others match too.

    RE2 is faster with two than with one, in which long repetitions multiply with all the rest.
    """
    counting = [shape.sieve for shape in shapes() if any(int(n) >= _LONG_COUNT for n in _COUNT.findall(shape.sieve))]
    others = [shape.sieve for shape in shapes() if shape.sieve and shape.sieve not in counting]
    return "|".join([keys().sieve, keys().short_sieve, *(f"(?:{text})" for text in others)]), "|".join(f"(?:{text})" for text in counting)


def _sifted(texts: pa.Array) -> pa.BooleanArray:
    """Return for each text whether it, or what it means, may contain a secret."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    first, second = (pc.match_substring_regex(texts, text) for text in _sieves())
    found = pc.or_(first, second)
    signed = _signed(texts)
    if not len(signed):
        return found
    some = texts.take(signed)
    other = signed.filter(pc.and_not(pc.match_substring_regex(some, _described()["forms"]["sieve"]), found.take(signed)))
    if not len(other):
        return found
    meant = pa.array([_meant(text)[0] for text in texts.take(other).to_pylist()], pa.string())
    sifted = pc.or_(*(pc.match_substring_regex(meant, text) for text in _sieves()))
    mask = np.zeros(len(texts), dtype=bool)
    mask[other.to_numpy()] = True
    return pc.replace_with_mask(found, mask, sifted)


def _signed(texts: pa.StringArray) -> pa.Array:
    """Return the indices of texts with a byte of another form: `&`, `%`, a backslash before `u`, or one that is not of ASCII; RE2 would search longer."""
    import numpy as np
    import pyarrow as pa

    _, borders, values = texts.buffers()
    if values is None or not len(texts):
        return pa.array([], pa.int64())
    ends = np.frombuffer(borders, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(values, np.uint8)[: ends[-1]]
    mine = data[ends[0] :]
    places = np.flatnonzero((mine == ord("&")) | (mine == ord("%")) | (mine == ord("\\")) | (mine >= 0x80)) + ends[0]
    behind = data[np.minimum(places + 1, len(data) - 1)]
    places = places[(data[places] != ord("\\")) | (behind == ord("u"))]
    return pa.array(np.unique(np.searchsorted(ends, places, side="right") - 1), pa.int64())


def hide(key: str, value: str) -> str:
    """Return the value of a configuration key without its secrets.

    Args:
        key: as printed, for example `ssl.keystore.password`.
        value: as printed.

    Returns:
        The value itself, `[redacted]`, or the value with `[redacted]` in place of a password.
    """
    if _has_no_secret(value):
        return value
    if _REFERENCE.fullmatch(value):
        return _cut(value, _in_reference(value, 0, len(value)))
    if key == "key" or is_secret_key(key):
        return REDACTED
    return scrub(value)


def hide_line(text: str) -> str:
    """Return a line of a properties file (commented out or not) or of JSON without its secrets."""
    if '":' in text or '" :' in text:
        text = str(_JSON_PAIR.sub(lambda m: f'"{m["key"]}"{m["colon"]}"{hide(m["key"], m["value"])}"', text))
    elif m := _PROPERTY.fullmatch(text):
        text = f"{m['before']}{m['key']}{m['equals']}{hide(m['key'], m['value'])}"
    return scrub(text)


@cache
def _marked() -> tuple[AhoCorasick, tuple[frozenset[int], ...], frozenset[int]]:
    """Return what finds the marks of all shapes in one pass, the numbers of the shapes with each mark, and those of the shapes without a mark."""
    marks = sorted({mark for shape in shapes() for mark in shape.marks})
    having = tuple(frozenset(n for n, shape in enumerate(shapes()) if mark in shape.marks) for mark in marks)
    return AhoCorasick(marks), having, frozenset(n for n, shape in enumerate(shapes()) if not shape.marks)


def _shapes_in(text: str, lower: str) -> Iterator[Shape]:
    """Yield the kinds of secrets that a text, given also in lower case, may contain, in their order."""
    finder, having, unmarked = _marked()
    numbers = unmarked.union(*(having[mark] for mark in {mark for mark, _, _ in finder.find_matches_as_indexes(lower, overlapping=True)}))
    yield from (shape for shape in map(shapes().__getitem__, sorted(numbers)) if not shape.sieve or shape.sifted.search(text))


def hide_in_path(path: str) -> str:
    """Return a path without the secrets in the names of its folders and files: `logs/password=[redacted]/connect.log`."""
    head, scheme, rest = path.rpartition("://")
    return head + scheme + "/".join(scrub(name) if len(name) >= _SHORTEST_IN_PATH else name for name in rest.split("/"))


def scrub(text: str) -> str:
    """Return any text without its secrets: values after secret keys, passwords in URLs, and texts that have the form of a secret."""
    if _FORM.search(text):
        return _cut(text, [*_found(text, range(len(text) + 1)), *_found(*_meant(text))])
    for spans in _searches(text):
        text = _cut(text, spans(text))
    return text


def _found(text: str, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the positions of secrets in a text, given the place of each of its characters, and of its end, in the original."""
    for spans in _searches(text):
        found = _united(spans(text))
        for begin, end in found:
            yield places[begin], places[end]
        text, places = _cut(text, found), list(_places_without(places, found))


def _searches(text: str) -> Iterator[Callable[[str], Iterable[tuple[int, int]]]]:
    """Yield the searches for secrets in a text; each yields positions in the text without the secrets found before."""
    yield _in_urls
    lower = text.lower()
    yield from (shape.spans for shape in _shapes_in(text, lower))
    yield _secrets
    yield _changed


def _meant(text: str) -> tuple[str, Sequence[int]]:
    """Return what a text means after HTML, JSON or URL escapes and without invisible characters, and the place of each of its characters in the original."""
    places: Sequence[int] = range(len(text) + 1)
    for _ in range(_MAX_ESCAPED):
        parts: list[str] = []
        where: list[int] = []
        done = 0
        for found in _FORM.finditer(text):
            meant = _character(found)
            parts += text[done : found.start()], meant
            where += places[done : found.start()]
            where += [places[found.start()]] * len(meant)
            done = found.end()
        if not done:
            break
        text, places = "".join((*parts, text[done:])), [*where, *places[done:]]
    return text, places


def _character(found: regex.Match[str]) -> str:
    """Return what a form of a character means."""
    form: str = found[0]
    if found["entity"]:
        return html.unescape(form)
    if found["code"]:
        return chr(int(found["code"], 16))
    if found["bytes"]:
        return unquote(form)
    if found["quote"]:
        return str(found["quote"])
    if found["break"]:
        return "\t" if form[-1] in "t1" else "\n"
    return unicodedata.normalize("NFKC", form) if found["wide"] else " " if found["blank"] else ""


def _places_without(places: Sequence[int], found: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Yield the places of the characters of a text in which secrets have been replaced."""
    done = 0
    for begin, end in found:
        yield from places[done:begin]
        yield from [places[begin]] * len(REDACTED)
        done = end
    yield from places[done:]


def _united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in order; those that overlap or touch are one."""
    united: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if united and begin <= united[-1][1]:
            united[-1] = united[-1][0], max(united[-1][1], end)
        else:
            united.append((begin, end))
    return united


def _cut(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text with `[redacted]` in place of each span."""
    parts: list[str] = []
    done = 0
    for begin, end in _united(spans):
        parts += text[done:begin], REDACTED
        done = end
    return "".join((*parts, text[done:])) if parts else text


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
    if keys().are_in(text, lower) or any(shape.sieve for shape in _shapes_in(text, lower)):
        return True
    return any(mark in lower for mark in _described()["forms"]["marks"]) and (meant := _meant(text)[0]) != text and _is_suspected(meant)


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


def _captured(pattern: regex.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield the position of the group `secret` of each match."""
    for found in pattern.finditer(text):
        if not found["secret"].lstrip("\"'`").startswith(REDACTED[:-1]):
            yield found.span("secret")


def _in_urls(text: str) -> Iterator[tuple[int, int]]:
    """Yield the position of each password before the last `@` of a URL; a password may contain any character that should end it."""
    if "://" not in text or "@" not in text:
        return
    for found in _URL.finditer(text):
        userinfo, at, host = found[0].rpartition("@")
        user, colon, password = userinfo.partition(":")
        if not at or "/" in user or "?" in user or _BRACKETED.match(found[0]):
            continue
        if user and (port := _PORT.match(password)) and (port["end"] != "/" or not _HOST_PORT.match(host)):
            continue  # the `@` follows the host, in a path or a word
        begin = found.start() + (len(user) + 1 if colon else 0)
        if (password not in _EMPTY) if colon else len(user) >= _MIN_TOKEN:
            yield begin, found.start() + len(userinfo)


def _in_reference(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the position of a default, or of a value in place of a name, in a reference to a secret."""
    if found := _DEFAULT.search(text, begin, end):
        yield found.span("secret")


def _changed(text: str) -> Iterator[tuple[int, int]]:
    """Yield the position of the new value of a setting whose old value is redacted."""
    return _captured(_CHANGED, text) if REDACTED in text else iter(())


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
                yield from _in_reference(text, at, reference.end())
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
    if text.startswith((REDACTED, f'"{REDACTED}', f"'{REDACTED}"), begin) or _is_request(text, begin, key) or _is_session(text, begin, key):
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


def _is_session(text: str, begin: int, key: str) -> bool:
    """Return True if a key is the ID of a session of Kafka or ZooKeeper, which is a number, and no secret."""
    return _SESSION_KEY.search(key) is not None and _SESSION.match(text, begin) is not None


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
    if _NO_KEY.match(key) is not None or (keys().about.search(plain) is not None and "webhook" not in plain):
        return False
    head, dash, tail = plain.rpartition("-")
    if dash and not head.startswith("-") and keys().secret.search(tail) is None and _LAST_PART.search(plain) is None:
        return False
    if _RANDOM_ID.fullmatch(key) and all(found["short"] for found in keys().secret.finditer(plain)):
        return False
    last = _LAST_KEY.search(plain)
    return keys().secret.search(plain) is not None or (last is not None and keys().key_of.search(plain, 0, last.start()) is not None)
