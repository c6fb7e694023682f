"""Name the loggers whose lines show ownership, and how to turn them on. A test compares them with the catalogue of messages."""

from __future__ import annotations

#: Loggers of Connect workers, of consumers and Streams applications, and of brokers (before and since Kafka 4.0).
WORKER = ("org.apache.kafka.connect", "org.apache.kafka.clients", "org.apache.kafka.common.utils.AppInfoParser")
CLIENT = ("org.apache.kafka.clients", "org.apache.kafka.streams", "org.apache.kafka.common.utils.AppInfoParser")
BROKER = ("kafka.coordinator", "org.apache.kafka.coordinator", "kafka.server")
LEVEL = "INFO"


def snippets() -> list[tuple[str, str]]:
    """Return for each way to set levels its name and the text to write."""
    return [
        ("log4j.properties (Kafka up to 3.9; the first three on workers, the last three on brokers)", "\n".join(map(_log4j, (*WORKER, *BROKER)))),
        ("log4j2.yaml (Kafka 4.0 and later), likewise", "\n".join(["Loggers:", "  Logger:", *map(_log4j2, (*WORKER, *BROKER))])),
        ("logback.xml (applications; Spring: logging.level.NAME=INFO)", "\n".join(map(_logback, CLIENT))),
        ("Connect's REST interface, without a restart (2.4 to 3.6: to each worker, without ?scope=cluster)", "\n".join(map(_rest, WORKER))),
    ]


def _log4j(name: str) -> str:
    return f"log4j.logger.{name}={LEVEL}"


def _log4j2(name: str) -> str:
    return f"    - name: {name}\n      level: {LEVEL}"


def _logback(name: str) -> str:
    return f'<logger name="{name}" level="{LEVEL}"/>'


def _rest(name: str) -> str:
    return (
        f"curl -X PUT -H 'Content-Type: application/json' -d '{{\"level\": \"{LEVEL}\"}}' \\\n"
        f"  'http://WORKER:8083/admin/loggers/{name}?scope=cluster'"
    )
