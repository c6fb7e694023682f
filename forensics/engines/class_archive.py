"""Cache the classes that Spark loads in a JVM archive for the user. With it, Spark starts in half the time (JEP 350).

The first JVM writes the archive when it ends, in the background; later ones map it. The JVM itself verifies that an archive fits its version and its
jars, and otherwise does without it. This also holds while one is being written, because the header is written last.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import platformdirs

_ENDS = ".jsa"


def option(java: str) -> str:
    """Return the JVM's option to use the archive, or to create it; empty if the cache cannot be used.

    Args:
        java: output of `java -version`.
    """
    import pyspark

    jars = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent) / "jars"
    folder = Path(platformdirs.user_cache_dir("kafka-forensics")) / "classes"
    try:
        key = f"{java}\n{pyspark.__version__}\n{jars}\n{jars.stat().st_mtime_ns}"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        archive = folder / (hashlib.sha256(key.encode()).hexdigest()[:16] + _ENDS)
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
    """Remove all archives except the one used last: each has about 200 MB."""
    for old in sorted(folder.glob("*" + _ENDS), key=lambda path: path.stat().st_mtime)[:-1]:
        with suppress(OSError):
            old.unlink()
