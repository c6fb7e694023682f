"""Replace names inside printed bytes: decode the embedded protocols of consumers and of Connect, and encode them with other names.

`catalogue.embedded_protocol` describes the formats.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Callable

#: Maximum number of leading zeros that a printed number has lost.
_LEADING_ZEROS = 7
#: Codes of letters, digits and punctuation; and the number of them in a row that makes a text.
_PRINTABLE, _LETTERS = (33, 126), 4
Rewrite = Callable[[str, str], str]


class _Copy:
    """A reader of big-endian bytes that writes a copy at the same time; raises `ValueError` for bytes that do not fit."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.out: list[bytes] = []

    def number(self, code: str) -> int:
        size = struct.calcsize(code)
        if self.at + size > len(self.data):
            raise ValueError
        raw = self.data[self.at : self.at + size]
        self.at += size
        self.out.append(raw)
        return int(struct.unpack(code, raw)[0])

    def text(self, rewrite: Callable[[str], str]) -> str | None:
        size = self.number(">h")
        self.out.pop()
        if size < -1 or self.at + max(size, 0) > len(self.data):
            raise ValueError
        if size == -1:
            self.out.append(b"\xff\xff")
            return None
        text = self.data[self.at : self.at + size].decode("utf-8")
        self.at += size
        raw = rewrite(text).encode("utf-8")
        self.out.append(struct.pack(">h", len(raw)) + raw)
        return text

    def numbers_by_name(self, rewrite: Callable[[str], str]) -> None:
        for _ in range(max(self._count(), 0)):
            if self.text(rewrite) is None:
                raise ValueError
            for _ in range(max(self._count(), 0)):
                self.number(">i")

    def names(self, rewrite: Callable[[str], str]) -> None:
        for _ in range(max(self._count(), 0)):
            self.text(rewrite)

    def _count(self) -> int:
        count = self.number(">i")
        if not -1 <= count <= len(self.data):
            raise ValueError
        return count

    def no_more_bytes(self) -> None:
        """Skip bytes of the application, whose content is unknown; the copy has none of them."""
        size = self.number(">i")
        self.out.pop()
        if size < -1 or self.at + max(size, 0) > len(self.data):
            raise ValueError
        self.at += max(size, 0)
        self.out.append(struct.pack(">i", -1 if size < 0 else 0))

    def end(self) -> bytes:
        if self.at != len(self.data):
            raise ValueError
        return b"".join(self.out)


def _connect_assignment(copy: _Copy, rewrite: Rewrite) -> bytes:
    version, error = copy.number(">h"), copy.number(">h")
    leader = copy.text(lambda name: rewrite("member", name))
    url = copy.text(lambda name: rewrite("address", name))
    if not 0 <= version <= 2 or not 0 <= error <= 1 or not leader or "://" not in (url or ""):
        raise ValueError
    copy.number(">q")
    copy.numbers_by_name(lambda name: rewrite("connector", name))
    if version >= 1:
        copy.numbers_by_name(lambda name: rewrite("connector", name))
        copy.number(">i")
    return copy.end()


def _consumer_assignment(copy: _Copy, rewrite: Rewrite) -> bytes:
    if not 0 <= copy.number(">h") <= 10:
        raise ValueError
    copy.numbers_by_name(lambda name: rewrite("topic", name))
    copy.no_more_bytes()
    return copy.end()


def _connect_subscription(copy: _Copy, rewrite: Rewrite) -> bytes:
    version, url = copy.number(">h"), copy.text(lambda name: rewrite("address", name))
    if not 0 <= version <= 2 or "://" not in (url or ""):
        raise ValueError
    copy.number(">q")
    if version >= 1:
        size = copy.number(">i")
        copy.out.pop()
        held = copy.data[copy.at : copy.at + max(size, 0)]
        copy.at += max(size, 0)
        new = _connect_assignment(_Copy(held), rewrite) if held else b""
        copy.out.append(struct.pack(">i", size if size <= 0 else len(new)) + new)
        return copy.end() if copy.at == len(copy.data) else _fail()
    return copy.end()


def _fail() -> bytes:
    raise ValueError


def _consumer_subscription(copy: _Copy, rewrite: Rewrite) -> bytes:
    version = copy.number(">h")
    if not 0 <= version <= 3:
        raise ValueError
    copy.names(lambda name: rewrite("topic", name))
    copy.no_more_bytes()
    if version >= 1:
        copy.numbers_by_name(lambda name: rewrite("topic", name))
    if version >= 2:
        copy.number(">i")
    if version >= 3:
        copy.text(lambda name: rewrite("rack", name))
    return copy.end()


def rewritten(data: bytes, rewrite: Rewrite) -> bytes | None:
    """Return the bytes with other names; None if they belong to none of the protocols.

    Args:
        data: an assignment or a subscription.
        rewrite: returns the new name for a kind and a name.
    """
    for form in (_connect_assignment, _connect_subscription, _consumer_assignment, _consumer_subscription):
        try:
            return form(_Copy(data), rewrite)
        except (ValueError, UnicodeDecodeError, struct.error):
            continue
    return None


def rewritten_decimals(text: str, rewrite: Rewrite) -> str:
    """Do the same for signed decimals, `0, 1, -1`; return an empty text if they belong to none of the protocols."""
    try:
        data = bytes(int(n) & 0xFF for n in text.split(","))
    except ValueError:
        return ""
    new = rewritten(data, rewrite)
    return "" if new is None else ", ".join(str(b - 256 if b > 127 else b) for b in new)  # noqa: PLR2004


def rewritten_base64(text: str, rewrite: Rewrite) -> str:
    """Do the same for base64."""
    try:
        data = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return ""
    new = rewritten(data, rewrite) if data else b""
    return "" if new is None else base64.b64encode(new).decode()


def rewritten_hex(text: str, rewrite: Rewrite) -> str:
    """Do the same for uppercase hexadecimals that have lost their leading zeros."""
    digits = text.zfill(len(text) + len(text) % 2)
    try:
        data = bytes.fromhex(digits)
    except ValueError:
        return ""
    for zeros in range(_LEADING_ZEROS + 1):
        new = rewritten(bytes(zeros) + data, rewrite)
        if new is not None:
            return new.hex().upper().lstrip("0")
    return ""


def hides_text(text: str) -> bool:
    """Return True if numbers are likely to be the bytes of a text."""
    run = 0
    for number in text.split(", "):
        run = run + 1 if number.isdigit() and _PRINTABLE[0] <= int(number) <= _PRINTABLE[1] else 0
        if run >= _LETTERS:
            return True
    return False
