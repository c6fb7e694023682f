"""Read what source connectors stored: the offsets topic as the console consumer prints it, and `GET /connectors/X/offsets` (KIP-875).

A key is `["connector",{partition}]`, a value the offset, or `null`; both are JSON of the connector's own. The answer of the REST API does not name the
connector: the request above it does, if it was saved.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from forensics.snapshots.observation import Item, Line, Observation, Strange, number_of

#: The beginning of a key, after anything that the console consumer may print before it.
_BEGINS = re.compile(r'(?P<before>(?:.{0,500}?[\t|;,: ])??)(?P<key>\["(?:[^"\\]|\\.)*", ?\{|\{"schema":\{.{0,2000}?"payload":\[")')
_PARTING = re.compile(r"[\t|;:= ]+")
_OFFSET = re.compile(r"\bOffset:(\d+)")
_REQUEST = re.compile(r"(?:\bGET |\bcurl .*?)\S*/connectors/(?P<name>[^\s/'\"?]+)/offsets\b")
_DECODER = json.JSONDecoder()


def is_source_record(text: str) -> bool:
    """Return True if a line is a record of an offsets topic of Connect."""
    return _split(text) is not None


def read_source_record(line: Line, ts: int | None) -> Iterator[Item]:
    """Yield a record of the offsets topic."""
    found = _split(line.text.strip())
    if found is None:
        return
    before, key, rest = found
    name, partition = key
    try:
        value = json.loads(rest)
    except (ValueError, RecursionError):
        yield Strange(line.number, f"{name}: its value is incomplete")
        return
    if isinstance(value, dict) and "schema" in value and "payload" in value:
        value = value["payload"]
    if value is not None and not isinstance(value, dict):
        yield Strange(line.number, f"{name}: its value is not an offset")
        return
    place = _OFFSET.search(before)
    captures = {"connector": name, "columns": _columns(partition, value), "log_offset": number_of(place[1]) if place else None}
    event = "source_offset_removed" if value is None else "source_offset_stored"
    yield Observation.of(line, event, captures, ts, f"{name}: {'an offset was removed' if value is None else 'an offset'}")


def requested_connector(text: str) -> str | None:
    """Return the connector whose offsets a saved request asks for."""
    found = _REQUEST.search(text)
    return found["name"] if found else None


def is_offsets_answer(value: Any) -> bool:  # noqa: ANN401  (what JSON gives)
    """Return True if a JSON value is the answer to `GET /connectors/X/offsets`."""
    offsets = value.get("offsets") if isinstance(value, dict) and value.keys() == {"offsets"} else None
    return isinstance(offsets, list) and all(isinstance(o, dict) and {"partition", "offset"} <= o.keys() for o in offsets)


def offsets_of(value: Mapping[str, Any], connector: str | None, line: Line, ts: int | None) -> Iterator[Observation]:
    """Yield the offsets of a connector; those of a sink are the commits of its group."""
    for each in value["offsets"]:
        partition, offset = each["partition"], each["offset"]
        if not isinstance(partition, dict) or not isinstance(offset, dict):
            continue
        if "kafka_topic" in partition:
            topic = str(partition["kafka_topic"])
            captures: dict[str, Any] = {
                "connector": connector, "group_id": connector and f"connect-{connector}", "topic": topic, "partition": f"{topic}-{partition.get('kafka_partition')}",
                "offset": number_of(offset.get("kafka_offset")),
            }  # fmt: skip
            yield Observation.of(line, "sink_offset_reported", captures, ts, f"{connector or 'a sink'}: {topic}-{partition.get('kafka_partition')}")
        else:
            captures = {"connector": connector, "columns": _columns(partition, offset)}
            yield Observation.of(line, "source_offset_reported", captures, ts, f"{connector or 'a source'}: an offset")


def _columns(partition: Any, value: Any) -> dict[str, str]:  # noqa: ANN401  (what JSON gives)
    return {"partition": _text(partition)} | ({} if value is None else {"offset": _text(value)})


def _text(value: Any) -> str:  # noqa: ANN401  (what JSON gives)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _split(text: str) -> tuple[str, tuple[str, Any], str] | None:
    """Return what precedes the key, the connector and its partition, and the text of the value."""
    found = _BEGINS.match(text)
    if found is None:
        return None
    try:
        key, end = _DECODER.raw_decode(text, found.start("key"))
    except (ValueError, RecursionError):
        return None
    if isinstance(key, dict):
        key = key.get("payload")
    parting = _PARTING.match(text, end)
    if not (isinstance(key, list) and len(key) == 2 and isinstance(key[0], str) and isinstance(key[1], dict)) or parting is None:  # noqa: PLR2004
        return None
    rest = text[parting.end() :]
    return (found["before"], (key[0], key[1]), rest) if rest.startswith("{") or rest == "null" else None
