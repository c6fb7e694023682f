"""Keeps the C library from giving memory back to the kernel after each array, only to be given the same, freshly cleared, for the next."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_BYTES = 256 << 20


def keep_memory() -> None:
    """Sets the thresholds of glibc's allocator for this process; elsewhere it does nothing. Saves a fifth of a reading task's time."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _BYTES)
    mallopt(_M_TRIM_THRESHOLD, _BYTES)
