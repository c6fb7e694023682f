"""Seals made with a key that only this user has: of evidence locations that an ingest of this user has read, and of cases that this user has written.

A hash shows that a file is unchanged, but whoever changes the file can renew its hash. A seal cannot be renewed without the key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

_KEY_BYTES = 32
#: What a case's seal leaves out: the case may be moved and copied.
_LEFT_OUT = ("root", "seal", "manifest_sha256")
#: States of a case: sealed by this user, changed since then, sealed with another key, not sealed, and sealed while this user has no key to check the seal.
OWN, CHANGED, OTHER, NONE, UNKNOWN = "own", "changed", "other", "none", "unknown"
#: The number of cases whose state has been stated is limited by deleting the oldest marks.
_MOST_MARKS = 1_000


def of_location(location: str) -> str:
    """Return the seal of a location that this user's ingest has read; an empty string if the key cannot be stored."""
    return _seal(location.encode("utf-8", "surrogatepass"))


def is_of_location(location: str, sealed: object) -> bool:
    """Return True if this user's ingest has read the location."""
    return bool(sealed) and isinstance(sealed, str) and hmac.compare_digest(sealed.encode("utf-8", "replace"), of_location(location).encode())


def of_case(manifest: Mapping[str, Any]) -> str:
    """Return the seal of a case, `KEY:SEAL`, with the name of the key that made it; an empty string if the key cannot be stored.

    Args:
        manifest: the content of `case.json`, with the hash of every other file.
    """
    content = {key: value for key, value in manifest.items() if key not in _LEFT_OUT}
    seal = _seal(b"case\0" + json.dumps(content, sort_keys=True, default=str).encode())
    return f"{_name_of_key()}:{seal}" if seal else ""


def state(manifest: Mapping[str, Any]) -> str:
    """Return `OWN`, `CHANGED`, `OTHER`, `NONE` or `UNKNOWN` for a case."""
    sealed = str(manifest.get("seal", ""))
    if not sealed:
        return NONE
    if not (mine := _name_of_key()):
        return UNKNOWN
    if sealed.partition(":")[0] != mine:
        return OTHER
    return OWN if hmac.compare_digest(sealed.encode("utf-8", "replace"), of_case(manifest).encode()) else CHANGED


def renewed(manifest: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the next manifest of a case with this user's seal if the case is new or had that seal; otherwise with its earlier seal, or none.

    A case that someone else changed therefore never becomes one of this user's by a further change.
    """
    sealed = of_case(manifest) if before is None or state(before) == OWN else before.get("seal", "")
    return {**{key: value for key, value in manifest.items() if key != "seal"}, **({"seal": sealed} if sealed else {})}


def is_first_look(manifest: Mapping[str, Any]) -> bool:
    """Return True if this user has not seen the state of the case in this form yet; the next call returns False, if a mark can be stored."""
    folder = _folder() / "seen-cases"
    content = json.dumps({key: value for key, value in manifest.items() if key != "root"}, sort_keys=True, default=str)
    mark = folder / hashlib.sha256(content.encode()).hexdigest()[:32]
    with suppress(OSError):
        if mark.exists():
            return False
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)[: -_MOST_MARKS + 1]:
            old.unlink()
        mark.touch(mode=0o600)
    return True


def _folder() -> Path:
    return Path(platformdirs.user_data_dir("kafka-forensics"))


def _seal(content: bytes) -> str:
    key = _key(_folder())
    return hmac.new(key, content, hashlib.sha256).hexdigest() if key else ""


def _name_of_key() -> str:
    return _seal(b"key\0")[:16]


@cache
def _key(folder: Path) -> bytes:
    """Return this user's key, created on first use; empty if it cannot be stored."""
    file = folder / "key"
    with suppress(OSError):
        if not file.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside = folder / f".key-{secrets.token_hex(8)}"
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                out.write(secrets.token_bytes(_KEY_BYTES))
            with suppress(FileExistsError):  # another command was first
                os.link(beside, file)
            beside.unlink()
        key = file.read_bytes()
        return key if len(key) == _KEY_BYTES else b""
    return b""
