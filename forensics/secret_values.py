"""Secrets inside printed configurations: kept out of every table.

Kafka prints `[hidden]` for values that it knows to be passwords. Others slip through: JVM arguments, URLs with a password, keys of a
connector that declares no type. What looks like a secret becomes `[redacted]`; the key stays, so that it is seen that something was set.
"""

from __future__ import annotations

from functools import lru_cache

import regex

REDACTED = "[redacted]"
#: Values that tell nothing: they stay as printed.
_EMPTY = {"", "null", "[]", "[hidden]", REDACTED}

_KEY = regex.compile(
    r"""
    password | passwd | passphrase | secret | credential | token | jaas | private | auth\.user\.info | userinfo
  | (?: api | access | account | shared | master | keystore | encryption | ssl | sasl | license ) [\w.-]* [._-] key $
  | ^ key $
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
_INSIDE = regex.compile(
    r"""
    (?P<head> [\w.-]* (?: password | passwd | passphrase | secret | credential | token | api[._-]?key | access[._-]?key ) \w* \s*=\s* )
    (?: "(?:[^"\\]|\\.)*" | '[^']*' | [^\s,;&"'\]]+ )
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
_JSON_PAIR = regex.compile(r'"(?P<key>(?:[^"\\]|\\.){1,200})"(?P<colon>\s*:\s*)"(?P<value>(?:[^"\\]|\\.)*)"')
_PROPERTY = regex.compile(r"(?P<before>[\s#!]*)(?P<key>[\w.\->]+)(?P<equals>\s*[=:]\s*|\s+)(?P<value>\S.*)")
_PRIVATE_KEY = regex.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*", regex.DOTALL)
_URL_PASSWORD = regex.compile(r"(://[^/\s:@]*:)[^/\s@]+@")


def hide(key: str, value: str) -> str:
    """The value of a configuration key without its secrets.

    Args:
        key: as printed, for example `ssl.keystore.password`.
        value: as printed.

    Returns:
        The value itself, `[redacted]`, or the value with `[redacted]` in it where a password stood.
    """
    if value in _EMPTY:
        return value
    if _is_secret(key):
        return REDACTED
    if "=" in value:
        value = _INSIDE.sub(rf"\g<head>{REDACTED}", value)
    if "://" in value:
        value = _URL_PASSWORD.sub(rf"\g<1>{REDACTED}@", value)
    if "PRIVATE KEY-----" in value:
        value = _PRIVATE_KEY.sub(REDACTED, value)
    return value


def hide_line(text: str) -> str:
    """A line of a properties file (commented out or not) or of JSON without its secrets."""
    if '":' in text or '" :' in text:
        return str(_JSON_PAIR.sub(lambda m: f'"{m["key"]}"{m["colon"]}"{hide(m["key"], m["value"])}"', text))
    m = _PROPERTY.fullmatch(text)
    return f"{m['before']}{m['key']}{m['equals']}{hide(m['key'], m['value'])}" if m else hide("", text)


@lru_cache(maxsize=4096)
def _is_secret(key: str) -> bool:
    return _KEY.search(key) is not None
