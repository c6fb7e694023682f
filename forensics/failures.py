"""Errors of others (the operating system, Arrow, Spark, its JVM and its Python workers) in the words of this program."""

from __future__ import annotations

import errno
import re

from forensics.errors import CaseError, ForensicsError

#: What is said of an engine's error that has no words of its own here.
ENGINE_FAILED = "Spark failed."
#: What ended an engine that had stopped working; whoever waited for it gets an error of its connection.
STALLED: list[ForensicsError] = []
_DEBUG = "FORENSICS_DEBUG=1 shows where."
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded")
#: What py4j and sockets say when the other side is gone.
_GONE = re.compile(
    r"Answer from Java side is empty|Error while (?:sending|receiving|obtaining)|Connection (?:refused|reset)|SparkContext was (?:shut|stopp)|stopped SparkContext"
)
#: What gRPC says when its server is gone.
_NO_ANSWER = re.compile(r"StatusCode\.UNAVAILABLE|failed to connect to all addresses")
_DETAILS = re.compile(r'details = "([^"]+)"')
#: The last line of a Python traceback within a Spark error.
_RAISED = re.compile(r"^(?:[\w.]*\.)?(\w*(?:Error|Exception|Exit|Interrupt)(?:: .*)?)$", re.MULTILINE)


def explained(error: BaseException) -> ForensicsError:
    """An error as a user may read it: what, why, where, and what to do."""
    if isinstance(error, ForensicsError):
        return error
    text = str(error)
    module = type(error).__module__.partition(".")[0]
    if _NO_SPACE.search(text) or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)):
        fix = "Make room where the case lies and in the folder for temporary files (TMPDIR names another), and run this again: the case is as it was before."
        return CaseError("The disk is full.", where=_file_of(error), fix=fix)
    if isinstance(error, MemoryError) or "OutOfMemoryError" in text or "Java heap space" in text:
        return ForensicsError(
            "There is not enough memory.", why=_first(text), fix="SPARK_DRIVER_MEMORY=4g gives Spark's JVM more; --jobs 1 needs less."
        )
    if module in ("pyspark", "py4j", "grpc") or isinstance(error, ConnectionError):
        if STALLED:
            return STALLED[-1]
        if type(error).__name__ == "RetriesExceeded" or _NO_ANSWER.search(text):
            fix = "Run this again, or with --engine spark: the case is as it was before."
            details = _DETAILS.search(text)
            return ForensicsError("Sail's server has ended before its work was done.", why=details[1][:500] if details else _first(text), fix=fix)
        if _GONE.search(text) or isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError":
            fix = "Maybe the system was short of memory and ended it; run this again: the case is as it was before."
            return ForensicsError("Spark's JVM has ended before its work was done.", why=_first(text), fix=fix)
        return ForensicsError(ENGINE_FAILED, why=_raised(text) or _first(text), fix=_DEBUG)
    if module == "pyarrow":
        return CaseError("A file of the case cannot be read.", why=_first(text), fix="Ingest the logs again, into a new folder.")
    if isinstance(error, OSError):
        return ForensicsError("A file cannot be read or written.", why=error.strerror or _first(text), where=_file_of(error))
    return ForensicsError("Something that was not expected stopped the program.", why=f"{type(error).__name__}: {_first(text)}", fix=_DEBUG)


def _first(text: str) -> str:
    return (text.strip().splitlines() or [""])[0][:500]


def _raised(text: str) -> str:
    """What a Python worker raised, by the traceback in Spark's error; empty when there is none."""
    found = _RAISED.findall(text)
    return found[-1][:500] if "Traceback" in text and found else ""


def _file_of(error: BaseException) -> str:
    return str(error.filename) if isinstance(error, OSError) and error.filename else ""
