"""Secrets of printed configurations do not reach a table."""

from __future__ import annotations

import pytest

from forensics.secret_values import hide


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
