# SPDX-License-Identifier: Apache-2.0
"""A release of Kafka as Maven Central has it: its jars, our small programs compiled against them, and the log layouts it ships."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

from lab.hosts import call

APPS = Path(__file__).parent / "apps"
#: The first release whose brokers run without ZooKeeper in production.
OLDEST = (3, 3)
KAFKA_JARS = ("kafka_2.13", "kafka-tools", "kafka-streams", "connect-runtime", "connect-json", "connect-file", "connect-mirror")
LOG4J2 = "2.24.3"
LOGGING_JARS = {
    3: [("org.slf4j", "slf4j-reload4j", "1.7.36")],
    4: [
        *(("org.apache.logging.log4j", name, LOG4J2) for name in ("log4j-core", "log4j-slf4j-impl", "log4j-1.2-api")),
        ("com.fasterxml.jackson.dataformat", "jackson-dataformat-yaml", "2.16.2"),
    ],
}
BROKER_LAYOUT = "[%d] %p %m (%c)%n"
CONNECT_LAYOUT = "[%d] %p %X{connector.context}%m (%c:%L)%n"


@dataclass(frozen=True, order=True)
class Release:
    """A release number that can be compared: `Release.parse("3.9.1") < Release.parse("4.0.0")`."""

    numbers: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Release:
        """Read a number like 4.3.1.

        Raises:
            ValueError: it is not one, or older than the oldest that this laboratory starts.
        """
        if not re.fullmatch(r"\d+\.\d+\.\d+", text):
            raise ValueError(f"{text!r} is not a release of Kafka; write it like 3.9.1")
        numbers = tuple(int(part) for part in text.split("."))
        if numbers < OLDEST:
            raise ValueError(
                f"Kafka {text} needs ZooKeeper, which the laboratory does not start; the oldest release is {'.'.join(map(str, OLDEST))}.0"
            )
        return cls(numbers)

    def __str__(self) -> str:
        return ".".join(map(str, self.numbers))

    @property
    def log4j2(self) -> bool:
        """Return True if the release logs with Log4j 2."""
        return self.numbers >= (4, 0)


def pom(release: Release) -> str:
    """Write the Maven project whose dependencies are everything that a run may start."""
    wanted = [("org.apache.kafka", name, str(release)) for name in KAFKA_JARS] + LOGGING_JARS[4 if release.log4j2 else 3]
    dependencies = "".join(f"<dependency><groupId>{g}</groupId><artifactId>{a}</artifactId><version>{v}</version></dependency>" for g, a, v in wanted)
    head = '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>lab</groupId><artifactId>lab</artifactId>'
    return f"{head}<version>1</version><packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>\n"


def cache() -> Path:
    """Return where jars are kept between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka-forensics-lab"


def fetch(release: Release) -> Path:
    """Return the folder of a release's jars; Maven fetches them on first use.

    Raises:
        RuntimeError: Maven failed; the message has its output.
    """
    libs = cache() / str(release) / "libs"
    if not libs.is_dir():
        libs.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=libs.parent) as scratch:
            (Path(scratch) / "pom.xml").write_text(pom(release), encoding="utf-8")
            call("mvn", "-q", "-B", "-f", f"{scratch}/pom.xml", "dependency:copy-dependencies", f"-DoutputDirectory={scratch}/libs")
            (Path(scratch) / "libs").rename(libs)
    return libs


def main_class(libs: Path, name: str) -> str:
    """Return the full name of one of Kafka's tools; over the releases they moved from one jar and package to another.

    Raises:
        LookupError: the release does not have it.
    """
    for jar in sorted([*libs.glob("kafka-tools-*.jar"), *libs.glob("kafka_2*.jar")]):
        for entry in ZipFile(jar).namelist():
            if entry.endswith(f"/{name}.class"):
                return entry.removesuffix(".class").replace("/", ".")
    raise LookupError(f"no jar in {libs} has a tool {name}")


def compile_apps(release: Release, libs: Path) -> Path:
    """Return the folder of our compiled programs, which are compiled again when their source changes.

    Raises:
        RuntimeError: the compiler failed; the message has its output.
    """
    sources = sorted(APPS.glob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    classes = cache() / str(release) / f"apps-{digest}"
    if not classes.is_dir():
        with tempfile.TemporaryDirectory(dir=libs.parent) as scratch:
            call("javac", "-nowarn", "-d", f"{scratch}/apps", "-cp", f"{libs}/*", *map(str, sources))
            shutil.copytree(APPS / "META-INF", f"{scratch}/apps/META-INF")
            (Path(scratch) / "apps").rename(classes)
    return classes


def log_settings(release: Release, file: Path, layout: str, levels: dict[str, str]) -> tuple[str, str]:
    """Return the name and the text of the logging settings that write `file` in a layout; `levels` are beside INFO for the rest."""
    if release.log4j2:
        loggers = "".join(f"      - {{name: {name}, level: {level}}}\n" for name, level in levels.items())
        return "log4j2.yaml", (
            f'Configuration:\n  Appenders:\n    File: {{name: F, fileName: "{file}", PatternLayout: {{pattern: "{layout}"}}}}\n'
            f"  Loggers:\n    Root: {{level: INFO, AppenderRef: {{ref: F}}}}\n" + (f"    Logger:\n{loggers}" if levels else "")
        )
    loggers = "".join(f"log4j.logger.{name}={level}\n" for name, level in levels.items())
    return "log4j.properties", (
        f"log4j.rootLogger=INFO, F\nlog4j.appender.F=org.apache.log4j.FileAppender\nlog4j.appender.F.File={file}\n"
        f"log4j.appender.F.layout=org.apache.log4j.PatternLayout\nlog4j.appender.F.layout.ConversionPattern={layout}\n{loggers}"
    )
