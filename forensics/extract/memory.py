"""Tune the memory use of a reading process: it frees and allocates arrays constantly, and creates almost no reference cycles."""

from __future__ import annotations

import ctypes
import gc

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_BYTES = 256 << 20
_COLLECTED_AFTER = 100_000, 20, 100
#: Environment of reading processes, set before numpy is imported. Its linear algebra, unused here, would start threads that spin while they wait.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


def collect_seldom() -> None:
    """Make Python look for cycles after 100,000 new objects instead of 700. Only for our own processes; saves a fifth of the time for new content."""
    gc.set_threshold(*_COLLECTED_AFTER)


def keep_memory() -> None:
    """Set the thresholds of glibc's allocator for this process; do nothing on other C libraries. Saves a fifth of a reading task's time.

    By default, the C library returns memory to the kernel after each array and immediately gets the same pages back, cleared again.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _BYTES)
    mallopt(_M_TRIM_THRESHOLD, _BYTES)
