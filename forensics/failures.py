"""Explain errors of the operating system, Arrow, Spark, its JVM and its Python workers in the words of this program."""

from __future__ import annotations

import errno
import re

from forensics.errors import CaseError, ForensicsError

#: Text for an engine's error that is not explained here.
ENGINE_FAILED = "Spark failed."
#: Errors of an engine that stopped working and was killed; its callers only get a connection error.
STALLED: list[ForensicsError] = []
#: What to do about a file that its owner does not let this user read.
NOT_ALLOWED = "Run the command again as a user who may read the file, or on a copy of it."
_DEBUG = "FORENSICS_DEBUG=1 shows where."
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded")
#: Messages of py4j and of sockets if the other side is gone.
_GONE = re.compile(
    r"Answer from Java side is empty|Error while (?:sending|receiving|obtaining)|Connection (?:refused|reset)|SparkContext was (?:shut|stopp)|stopped SparkContext"
)
#: Messages of gRPC if its server is gone.
_NO_ANSWER = re.compile(r"StatusCode\.UNAVAILABLE|failed to connect to all addresses")
_DETAILS = re.compile(r'details = "([^"]+)"')
#: The last line of a Python traceback within a Spark error.
_RAISED = re.compile(r"^(?:[\w.]*\.)?(\w*(?:Error|Exception|Exit|Interrupt)(?:: .*)?)$", re.MULTILINE)


def explained(error: BaseException) -> ForensicsError:
    """Return an error that a user can understand: what, why, where, and what to do."""
    if isinstance(error, ForensicsError):
        return error
    text = str(error)
    module = type(error).__module__.partition(".")[0]
    if _NO_SPACE.search(text) or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)):
        fix = "Free space on the disk of the case and in the folder for temporary files (TMPDIR sets another), and run the command again. The case has not changed."
        return CaseError("The disk is full.", where=_file_of(error), fix=fix)
    if isinstance(error, MemoryError) or "OutOfMemoryError" in text or "Java heap space" in text:
        return ForensicsError("Out of memory.", why=_first(text), fix="SPARK_DRIVER_MEMORY=4g gives Spark's JVM more; --jobs 1 needs less.")
    if module in ("pyspark", "py4j", "grpc") or isinstance(error, ConnectionError):
        if STALLED:
            return STALLED[-1]
        if type(error).__name__ == "RetriesExceeded" or _NO_ANSWER.search(text):
            fix = "Run the command again, or with --engine spark. The case has not changed."
            details = _DETAILS.search(text)
            return ForensicsError("Sail's server ended before it had finished.", why=details[1][:500] if details else _first(text), fix=fix)
        if _GONE.search(text) or isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError":
            fix = "The system may have killed it for lack of memory. Run the command again; the case has not changed."
            return ForensicsError("Spark's JVM ended before it had finished.", why=_first(text), fix=fix)
        return ForensicsError(ENGINE_FAILED, why=_raised(text) or _first(text), fix=_DEBUG)
    if module == "pyarrow":
        return CaseError("A file of the case cannot be read.", why=_first(text), fix="Ingest the logs again, into a new folder.")
    if isinstance(error, OSError):
        fix = NOT_ALLOWED if error.errno == errno.EACCES else ""
        return ForensicsError("A file cannot be read or written.", why=error.strerror or _first(text), where=_file_of(error), fix=fix)
    return ForensicsError("Unexpected error.", why=f"{type(error).__name__}: {_first(text)}", fix=_DEBUG)


def _first(text: str) -> str:
    return (text.strip().splitlines() or [""])[0][:500]


def _raised(text: str) -> str:
    """Return the exception of a Python worker in the traceback of Spark's error; empty if there is none."""
    found = _RAISED.findall(text)
    return found[-1][:500] if "Traceback" in text and found else ""


def _file_of(error: BaseException) -> str:
    return str(error.filename) if isinstance(error, OSError) and error.filename else ""
