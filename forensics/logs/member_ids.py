"""Take member ids apart: a coordinator makes a member id from the client id and a UUID (`AbstractCoordinator` prints it)."""

from __future__ import annotations

import re

_UUID = re.compile("-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_UUID_LENGTH = 36


def client_of(member_id: str) -> str:
    """Return the client's name in a member id, or the whole id if it has no UUID."""
    return _UUID.sub("", member_id)


def is_made(member_id: str) -> bool:
    """Return True if a member id is a client's name and a UUID."""
    return client_of(member_id) not in ("", member_id)


def before_uuid(member_id: str) -> str:
    """Return what stands before the place of the UUID, whatever stands there."""
    return member_id[: max(len(member_id) - _UUID_LENGTH, 0)]
