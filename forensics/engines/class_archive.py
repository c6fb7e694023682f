"""The classes that Spark loads, as the JVM has them in memory, in the user's cache: with them it starts in half the time (JEP 350).

The first JVM writes the archive when it ends, in the background; the next ones map it. The JVM itself makes sure that an archive is of its own version and
of the same jars, and does without it otherwise; so it does while one is being written, for the header comes last.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import platformdirs

_ENDS = ".jsa"


def option(java: str) -> str:
    """The JVM's option to use the archive, or to make it; empty where there is no place for one.

    Args:
        java: what `java -version` says.
    """
    import pyspark

    jars = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent) / "jars"
    folder = Path(platformdirs.user_cache_dir("kafka-forensics")) / "classes"
    try:
        told = f"{java}\n{pyspark.__version__}\n{jars}\n{jars.stat().st_mtime_ns}"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        archive = folder / (hashlib.sha256(told.encode()).hexdigest()[:16] + _ENDS)
        if archive.exists():
            archive.touch()
            return f'"-XX:SharedArchiveFile={archive}"'
        if os.access(folder, os.W_OK):
            _keep_last(folder)
            return f'"-XX:ArchiveClassesAtExit={archive}"'
    except OSError:
        pass
    return ""


def _keep_last(folder: Path) -> None:
    """Removes all archives but the one that was used last: each has some 200 MB."""
    for old in sorted(folder.glob("*" + _ENDS), key=lambda path: path.stat().st_mtime)[:-1]:
        with suppress(OSError):
            old.unlink()
