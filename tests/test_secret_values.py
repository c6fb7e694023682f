"""Secrets of printed configurations do not reach a table."""

from __future__ import annotations

import pytest

from forensics.secret_values import hide, hide_line


@pytest.mark.parametrize(
    "key",
    [
        "ssl.keystore.password", "sasl.jaas.config", "consumer.override.sasl.jaas.config", "aws.secret.access.key", "ssl.keystore.key",
        "database.password",
        "schema.registry.basic.auth.user.info", "api.key", "azure.account.key", "delegation.token.secret.key", "gcs.credentials.json",
        "snowflake.private.key",
    ],
)  # fmt: skip
def test_values_of_secret_keys_are_hidden(key: str) -> None:
    assert hide(key, "hunter2") == "[redacted]"


@pytest.mark.parametrize("key", ["key.converter", "key.deserializer", "group.id", "partition.assignment.strategy", "transforms.k.type", "name"])
def test_other_values_stay(key: str) -> None:
    assert hide(key, "value") == "value"


@pytest.mark.parametrize("value", ["", "null", "[hidden]"])
def test_a_value_that_tells_nothing_stays(value: str) -> None:
    assert hide("ssl.key.password", value) == value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("-Xmx2g, -Djavax.net.ssl.keyStorePassword=hunter2, -Dx=1", "-Xmx2g, -Djavax.net.ssl.keyStorePassword=[redacted], -Dx=1"),
        ("jdbc:mysql://db/x?user=u&password=hunter2&ssl=true", "jdbc:mysql://db/x?user=u&password=[redacted]&ssl=true"),
        ("https://u:hunter2@registry:8081", "https://u:[redacted]@registry:8081"),
        ('org.apache.kafka.X required username="u" password="hun ter2";', 'org.apache.kafka.X required username="u" password=[redacted];'),
        ("http://10.77.0.13:8083", "http://10.77.0.13:8083"),
    ],
)
def test_secrets_inside_a_value_are_hidden(value: str, shown: str) -> None:
    assert hide("some.setting", value) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("ssl.key.password=geheim", "ssl.key.password=[redacted]"),
        ("# sasl.jaas.config = a b", "# sasl.jaas.config = [redacted]"),
        ("group.id=app", "group.id=app"),
        ("connection.url = http://u:geheim@h/x", "connection.url = http://u:[redacted]@h/x"),
        ('session-key\t{"key":"geheim=","algorithm":"HmacSHA256"}', 'session-key\t{"key":"[redacted]","algorithm":"HmacSHA256"}'),
        (
            '{"a": {"config": {"db.password": "ge\\"heim", "url": "http://u:geheim@h/"}}}',
            '{"a": {"config": {"db.password": "[redacted]", "url": "http://u:[redacted]@h/"}}}',
        ),
        ("ssl.pem=-----BEGIN PRIVATE KEY----- geheim", "ssl.pem=[redacted]"),
        ("\tTopic: a\tPartition: 0\tLeader: 1", "\tTopic: a\tPartition: 0\tLeader: 1"),
    ],
)
def test_a_line_is_shown_without_its_secrets(line: str, shown: str) -> None:
    assert hide_line(line) == shown
