# SPDX-License-Identifier: Apache-2.0
"""Client libraries other than Java's: how to fetch each from its registry, and how to start our consumer of it (`lab/apps`)."""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.hosts import call
from lab.releases import APPS, cache


@dataclass(frozen=True)
class Library:
    """A client library.

    Attributes:
        language: of the library: python, node or go.
        package: in its registry, with the version; Go's are in `apps/go/go.mod`.
        program: of ours, in `apps/LANGUAGE`.
        has_static_ids: True if its consumers can have a `group.instance.id`.
    """

    language: str
    package: str
    program: str
    has_static_ids: bool = True


#: The name that scenarios begin with -> the library.
LIBRARIES = {
    "librdkafka": Library("python", "confluent-kafka==2.16.1", "consume_librdkafka.py"),
    "kafkajs": Library("node", "kafkajs@2.2.4", "consume_kafkajs.js", has_static_ids=False),
    "sarama": Library("go", "", "sarama"),
    "kafka_python": Library("python", "kafka-python==3.0.12", "consume_kafka_python.py"),
    "aiokafka": Library("python", "aiokafka==0.14.0", "consume_aiokafka.py"),
    "franz_go": Library("go", "", "franz"),
    "kafka_go": Library("go", "", "kafkago", has_static_ids=False),
}


def fetch(name: str) -> Path:
    """Return the folder with a library and our program for it, which is made on first use and when the program changes.

    Raises:
        RuntimeError: a registry's client or a compiler failed; the message has its output.
    """
    library = LIBRARIES[name]
    sources = sorted(path for path in (APPS / library.language).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    digest = hashlib.sha256(b"".join((library.package.encode(), *(source.read_bytes() for source in sources)))).hexdigest()[:12]
    made = cache() / "clients" / f"{name}-{digest}"
    if not made.is_dir():
        made.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=made.parent) as scratch:
            part = Path(scratch) / "client"
            if library.language == "go":
                part.mkdir()
                call("go", "build", "-C", str(APPS / "go"), "-trimpath", "-o", f"{part}/", f"./{library.program}")
            else:
                shutil.copytree(APPS / library.language, part)
                if library.language == "python":
                    call(sys.executable, "-m", "pip", "install", "--quiet", "--target", f"{part}/packages", library.package)
                else:
                    call("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(part), library.package)
            part.rename(made)
    return made


def command(name: str, folder: Path, arguments: Sequence[object]) -> list[str]:
    """Return the command that starts our program for a library, whose files are in a folder."""
    library = LIBRARIES[name]
    program = str(folder / library.program)
    runs = {"python": ["env", f"PYTHONPATH={folder}/packages", sys.executable, "-u", program], "node": ["node", program], "go": [program]}
    return [*runs[library.language], *map(str, arguments)]
