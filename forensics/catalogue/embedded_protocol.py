"""Decode assignments from bytes: the embedded protocols of consumers and of Connect, in DEBUG lines (signed decimals) and dumps of the offsets topic.

Consumer: version, [topic, [partition]], user data. Connect V0: version, error, leader, leader URL, config offset, [connector, [task]], where
task -1 is the connector itself; V1 and V2 add [revoked connector, [task]] and the scheduled delay.
"""

from __future__ import annotations

import struct
from typing import Any

_CONNECTOR_TASK = -1
_MAX_ENTRIES = 100_000


class _Reader:
    """A big-endian reader that raises `ValueError` past the end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, code: str) -> int:
        size = struct.calcsize(code)
        if self.at + size > len(self.data):
            raise ValueError
        value: int = struct.unpack_from(code, self.data, self.at)[0]
        self.at += size
        return value

    def string(self) -> str | None:
        size = self.number(">h")
        if size < -1 or self.at + size > len(self.data):
            raise ValueError
        if size == -1:
            return None
        text = self.data[self.at : self.at + size].decode("utf-8")
        self.at += size
        return text

    def numbers_by_name(self) -> list[tuple[str, list[int]]]:
        count = self.number(">i")
        if not -1 <= count <= _MAX_ENTRIES:
            raise ValueError
        found = []
        for _ in range(max(count, 0)):
            name = self.string()
            many = self.number(">i")
            if name is None or not 0 <= many <= _MAX_ENTRIES:
                raise ValueError
            found.append((name, [self.number(">i") for _ in range(many)]))
        return found


def decode_assignment(numbers: str) -> dict[str, Any] | None:
    """Return the captures in an assignment's bytes.

    Args:
        numbers: signed decimals, `0, 1, 0, 0`, as Java prints a byte array.

    Returns:
        Captures (`assigned_partitions`, or `assigned_connectors`, `assigned_tasks`, ...), or None if the bytes belong to neither protocol.
        Connect's format is tried first: its leader and URL make a wrong match impossible in practice.
    """
    try:
        data = bytes(int(n) & 0xFF for n in numbers.split(",")) if numbers.strip() else b""
    except ValueError:
        return None
    return decode_assignment_bytes(data)


def decode_assignment_bytes(data: bytes) -> dict[str, Any] | None:
    """Do the same as `decode_assignment` for raw bytes."""
    for decode in (_connect, _consumer):
        try:
            return decode(_Reader(data))
        except (ValueError, UnicodeDecodeError):
            continue
    return None


def decode_connect_url(data: bytes) -> str | None:
    """Return the REST URL of a worker from its subscription (version, URL, config offset, ...); None if the bytes are not a subscription."""
    reader = _Reader(data)
    try:
        version, url = reader.number(">h"), reader.string()
    except (ValueError, UnicodeDecodeError):
        return None
    return url if 0 <= version <= 2 and url and "://" in url else None


def _consumer(reader: _Reader) -> dict[str, Any]:
    version = reader.number(">h")
    if not 0 <= version <= 10:
        raise ValueError
    topics = reader.numbers_by_name()
    user_data = reader.number(">i")
    if user_data < -1 or reader.at + max(user_data, 0) != len(reader.data):
        raise ValueError
    return {"assigned_partitions": [f"{topic}-{n}" for topic, partitions in topics for n in partitions]}


def _connect(reader: _Reader) -> dict[str, Any]:
    version = reader.number(">h")
    error = reader.number(">h")
    leader, url = reader.string(), reader.string()
    if not 0 <= version <= 2 or not 0 <= error <= 1 or not leader or "://" not in (url or ""):
        raise ValueError
    found: dict[str, Any] = {
        "protocol_version": version,
        "assignment_error": error,
        "leader_member_id": leader,
        "leader_url": url,
        "assigned_config_offset": reader.number(">q"),
    }
    found["assigned_connectors"], found["assigned_tasks"] = _split(reader.numbers_by_name())
    if version >= 1:
        found["revoked_connectors"], found["revoked_tasks"] = _split(reader.numbers_by_name())
        found["delay_ms"] = reader.number(">i")
    if reader.at != len(reader.data):
        raise ValueError
    return found


def _split(entries: list[tuple[str, list[int]]]) -> tuple[list[str], list[str]]:
    connectors = [name for name, numbers in entries if _CONNECTOR_TASK in numbers]
    tasks = [f"{name}-{n}" for name, numbers in entries for n in numbers if n != _CONNECTOR_TASK]
    return connectors, tasks
