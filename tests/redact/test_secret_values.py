"""Secrets do not reach a table: neither those of configurations nor those in a line or an exception."""

from __future__ import annotations

import re
import time

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from forensics.redaction import _cut, _sifted, hide, hide_line, scrub, scrubbed, shapes


@pytest.mark.parametrize(
    "key",
    [
        "ssl.keystore.password", "sasl.jaas.config", "consumer.override.sasl.jaas.config", "aws.secret.access.key", "ssl.keystore.key",
        "database.password",
        "schema.registry.basic.auth.user.info", "api.key", "azure.account.key", "delegation.token.secret.key", "gcs.credentials.json",
        "snowflake.private.key", "pwd", "db.pwd", "pass", "dbPass", "card.pin", "userPin", "http.headers", "aws.access.key.id", "sas", "azure.sas.token",
        "slack.webhook.url", "connectionString", "sentry.dsn", "Authorization", "X-Api-Key", "confluent.license", "consumer.sasl.password",
        "db.pw", "dbPw", "userpw", "sslKeystorePasswordOld", "masterDbUser2Password1", "DbPin9ForOldPasswords1",
    ],
)  # fmt: skip
def test_values_of_secret_keys_are_hidden(key: str) -> None:
    assert hide(key, "hunter2") == "[redacted]"


@pytest.mark.parametrize(
    "key",
    [
        "key.converter", "key.deserializer", "group.id", "partition.assignment.strategy", "transforms.k.type", "name", "ssl.keystore.location",
        "delegation.token.max.lifetime.ms", "password.encoder.iterations", "inter.worker.key.generation.algorithm", "compass", "pinned", "authorizer.class.name",
        "ssl.keystore.type", "sasl.mechanism", "signal.topic", "patterns", "passthrough",
        # Random IDs, as Kafka prints them.
        "MI_kDtX0RiuVZqMkWKu1pw", "MIQkDtXORiuVZqMkWKutpw", "aB3dE5gH7jK9mN1pQ3auth", "aB3dE5gH7jK-mN1pQ3pass",
    ],
)  # fmt: skip
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


@pytest.mark.parametrize("shape", shapes(), ids=lambda shape: shape.name)
def test_a_shape_hides_its_examples_and_is_asked_for_them(shape) -> None:
    for text, kept in shape.examples:
        assert _cut(text, shape.spans(text)) == kept
        if text != kept:
            assert re.search(shape.sieve, text), text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "org.apache.kafka.connect.errors.ConnectException: could not open jdbc:postgresql://db:5432/x?user=me&password=geheim&ssl=true",
            "org.apache.kafka.connect.errors.ConnectException: could not open jdbc:postgresql://db:5432/x?user=me&password=[redacted]&ssl=true",
        ),
        ("jdbc:sqlserver://h:1433;databaseName=x;user=sa;password=ge;heim;", "jdbc:sqlserver://h:1433;databaseName=x;user=sa;password=[redacted];"),
        ("401 for Authorization: Bearer abc.def-ghi", "401 for Authorization: Bearer [redacted]"),
        ("headers {Authorization=[Basic Z2VoZWltOng=], Accept=[*/*]}", "headers {Authorization=[Basic [redacted]], Accept=[*/*]}"),
        ('{"Authorization": "Bearer geheim"}', '{"Authorization": [redacted]}'),
        ("login failed, password=geheim user=x", "login failed, password=[redacted] user=x"),
        ("mongodb://me:ge/he:im@h1:27017,h2:27017/db?x=1", "mongodb://me:[redacted]@h1:27017,h2:27017/db?x=1"),
        ("https://me:p@ss/word@h/x", "https://me:[redacted]@h/x"),
        ("http://u:geheim@a:1,http://v:geheim@b:2", "http://u:[redacted]@a:1,http://v:[redacted]@b:2"),
        ("redis://:geheim@cache:6379", "redis://:[redacted]@cache:6379"),
        ("{connector.class=X, connection.password=ge heim, name=b}", "{connector.class=X, connection.password=[redacted], name=b}"),
        ("config {db.pwd=geheim}", "config {db.pwd=[redacted]}"),
        ("pwd: geheim", "pwd: [redacted]"),
        ("topic ID MI_kDtX0RiuVZqMkWKu1pw: x", "topic ID MI_kDtX0RiuVZqMkWKu1pw: x"),
        ("-Djavax.net.ssl.keyStorePassword=geheim -Xmx1g", "-Djavax.net.ssl.keyStorePassword=[redacted] -Xmx1g"),
        (r'body "{\"password\":\"geheim\",\"user\":\"x\"}"', r'body "{\"password\":[redacted],\"user\":\"x\"}"'),
        ("{'password': 'ge heim', 'a': 1}", "{'password': [redacted], 'a': 1}"),
        ("<password>geheim</password>", "<password>[redacted]</password>"),
        ("accountKey=abcdEFGH/1234+==;EndpointSuffix=x", "accountKey=[redacted];EndpointSuffix=x"),
        ("password%3Dgeheim%26a%3Db", "password%3D[redacted]"),
        ("aws.access.key.id = AKIAIOSFODNN7EXAMPLE", "aws.access.key.id = [redacted]"),
        ("https://me:8083abc/x@h", "https://me:[redacted]@h"),
        ("mongodb://me:12/xyz@h1:27017/db", "mongodb://me:[redacted]@h1:27017/db"),
        ("http://me:12345@h:8083/a@b", "http://me:[redacted]@b"),
        ("http://h:8083/a@b http://me:geheim@h:8083/", "http://h:8083/a@b http://me:[redacted]@h:8083/"),
        ("db-password-1: geheim", "db-password-1: [redacted]"),
        ("private_key: geheim", "private_key: [redacted]"),
        ("X509Exception: password=geheim", "X509Exception: password=[redacted]"),
        ("{client-secret=Vault(path=x, password=geheim)}", "{client-secret=Vault(path=x, password=[redacted])}"),
        ("the password was: Hunter22, ok", "the password was: [redacted], ok"),
        ("POST client_assertion=abcdef123&x=1", "POST client_assertion=[redacted]&x=1"),
    ],
)
def test_free_text_is_kept_without_its_secrets(text: str, kept: str) -> None:
    assert scrub(text) == kept
    (column,) = scrubbed([pa.array([None, "x", text])])
    assert column.to_pylist() == [None, "x", kept]
    assert scrub(kept) == kept


@pytest.mark.parametrize(
    "text",
    [
        "[Consumer clientId=c-1, groupId=g] (Re-)joining group",
        "RequestHeader(apiKey=JOIN_GROUP, apiVersion=5, clientId=connect-1, correlationId=7)",
        "Joined group at generation 7 with protocol version 2 and got assignment: Assignment{error=0, leader='connect-1-8f14e45f-ceea-467f-a9d2-1d3f6a1b2c3d', "
        "leaderUrl='http://10.77.0.13:8083/', offset=9, connectorIds=[b], taskIds=[b-0], revokedConnectorIds=[], revokedTaskIds=[], delay=0}",
        "Session key updated", "\tssl.key.password = null", "\tsasl.jaas.config = [hidden]", "Password: null",
        "org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed: Invalid username or password",
        "Failed to get a token: java.net.SocketTimeoutException: connect timed out",
        "using password: YES", "passed 3 of 4", "pinned to broker 1: yes", "signal=SIGTERM", "auth.type=x",
        "Finished assignment for group at generation 3: {consumer-b-0-1=Assignment(partitions=[keys-0, tokens-1])}",
        # A URL ends where its host does: an `@` in a path or in a later word is of no password.
        "leaderUrl='http://10.77.0.13:8083/', worker connect@host", "http://connect-1:8083/connectors/a@b/status", "http://connect-1:8083/x?mail=me@corp.example",
        "urls http://connect-1:8083,org.x.Herder@5e3a1c", "http://[::1]:8083/connectors/a@b", "https://a-long-name-of-a-host.example.com/a@b",
        "https://a-long-name-of-a-host.example.com?x=a@b", "[http://connect-1:8083] org.x.Herder@5e3a1c", "jdbc:postgresql://db:5432/x?application=a@b",
        # Names of topics, partitions, tasks, members and connectors may read like keys.
        "Setting offset for partition private-tokens-0: committed", "{password-resets-0=OffsetAndMetadata{offset=5, leaderEpoch=null, metadata=''}}",
        "{secrets-sink-1=123, secrets-sink-2=456}", "{auth-token-app-1-8f14e45f-ceea-467f-a9d2-1d3f6a1b2c3d=Assignment(partitions=[keys-0])}",
        "{token-sink=RUNNING, b=PAUSED}", "12 topic-partitions private->public: [a-0]", "private-orders: 3 partitions",
        # Kafka's own words.
        "org.apache.kafka.common.errors.GroupAuthorizationException: Not authorized to access group: orders-app",
        "Caused by: org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [connect-offsets]",
        "[QuorumController id=1] expireDelegationTokens: event unable to start processing because of RejectedExecutionException",
        "headers = RecordHeaders(headers = [], isReadOnly = false), key = null", "\tssl.client.auth = required", "\tdatabase.password = ********",
        "\tsasl.oauthbearer.expected.audience = kafka", r'{"message": "\tssl.key.password = null\n\tsasl.jaas.config = [hidden]\n\tsession.timeout.ms = 45000\n"}',
        "Group token-service: removed",
        "secret-manager: listening",
        "token: expired",
        "client_assertion_type=urn:ietf:x",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(text: str) -> None:
    assert scrub(text) == text


def test_all_texts_of_a_table_are_scrubbed() -> None:
    lists = pa.array([["a", "password=geheim"], None, []], pa.list_(pa.string()))
    maps = pa.array([[("a", "http://u:geheim@h/")], None, [("pwd=geheim", "x")]], pa.map_(pa.string(), pa.string()))
    nested = pa.array([[("a", ["b", "password=geheim"])], [("a", [])], None], pa.map_(pa.string(), pa.list_(pa.string())))
    plain, empty, numbers = pa.array(["nothing", None, ""]), pa.nulls(3, pa.string()), pa.array([1, 2, 3])
    columns = scrubbed([plain, lists, empty, maps, numbers, nested])
    assert columns[1].to_pylist() == [["a", "password=[redacted]"], None, []]
    assert columns[3].to_pylist() == [[("a", "http://u:[redacted]@h/")], None, [("pwd=[redacted]", "x")]]
    assert columns[5].to_pylist() == [[("a", ["b", "password=[redacted]"])], [("a", [])], None]
    assert all(columns[i] is column for i, column in ((0, plain), (2, empty), (4, numbers)))
    assert scrubbed([numbers])[0] is numbers
    part = pa.array([["password=geheim"], ["b"], ["pwd=geheim"]], pa.list_(pa.string())).slice(1)
    assert scrubbed([part, plain.slice(1)])[0].to_pylist() == [["b"], ["pwd=[redacted]"]]


def test_a_secret_is_found_among_few_texts_and_among_many_the_first_time_and_again() -> None:
    """Few texts are searched by Python, many by RE2, and what was clean once is not searched again."""
    odd = ("é", "\x0b", "\x1c", "\x1f", "\u2028", "\n", "\t", "\x00")
    said = [given for shape in shapes() for given, _ in shape.examples] + ["pwd=geheim", "http://u:ge heim@h/", "nothing"]
    said += [text.replace(" ", sign).replace("=", f"={sign}") + end for text in said for sign in odd for end in ("", sign)]
    many = [f"offset {n}" for n in range(20_000)]
    (among_many,) = scrubbed([pa.array([*said, *many])])
    expected = among_many.to_pylist()[: len(said)]
    assert expected != said
    for _ in range(2):
        assert [scrubbed([pa.array([text])])[0].to_pylist()[0] for text in said[::4]] == expected[::4]
        assert scrubbed([pa.array(said)])[0].to_pylist() == expected


PUMPED = (
    "password", "password=", "a.password", "{password=a", "{password=a, ", "://", "://a:b@", "http://", "a:b@", 'password="', 'password="\\', "pin=,a", "Bearer ",
    "eyJaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "https://x/hook", "jdbc:oracle:thin:a/", "?sig=", "Authorization: Basic ", "token: ", "password=[",
    "-u a", "-u a:", "identified by '", "SG.aaaaaaaaaaaaaaaaaaaa", "aB", "A", "key=", "ghp_", "0123456789abcdef", "\\\"password", "password=a;", "(password=a)",
    "value=a,", "value=name=password,", "name=password,", '{"name":"password","value":', "value=", "{value=a, ", "password: {", "passwords: [", "['--password', ", "password x1", "password ",
    "[redacted] -> ", "password was set to ", "password for a ", "user a password ", "value a for ", "<a password='", "<password ", "<a>", "password:\n  ", "password:\n- a\n- ",
    "setPassword(", "Cookie: a=b; ", "mysql ", "mysql -p", "ldapsearch -w ", " -u a -p", "echo a", "kinit ", "digest a:", "AUTH ", "AUTH PLAIN ", "SASL PLAIN A1b", "a:bcd@", "a:b@h:", "h:5432:a:b:",
    "*:", "$1$ab$", "{SSHA}", "login a", "login a:", "bind('a', ", "user_a=", "user_a='", "${password", "password=${", "password=\\", "a.b=", "token (", "password=<", "password={", "API key ",
    "&amp;", "&#61;", "\\u003d", "%3D", "%E3%83%91", "p a s s ", "\\n", "#012", "sessionid=", "password=${a:Aa1", "http://h/keys/Aa1", "http://h/keys/", "GET /reset/a1A", "code=abcdef&", "n,,n=a,r=",
    "c=biws,r=a,p=", "r=aaaa,s=aaaa,", '"kty","d":"', "{cipher}", "vault:v1:", "snmp community ", "Unseal Key 1: ", "password [a1", "password\n", "password=\\\n", "login a/Aa1", "-p abc -u ", "Private-Lines: 1\n",
    "SCRAM-SHA-256$1:", "password(a)=", 'password: "a\n ', "password : [\n", "EAAC", "\u00ad", "\u00a0", "\uff1d",
)  # fmt: skip


@pytest.mark.parametrize("pump", [pump if n % 4 == 0 else pytest.param(pump, marks=pytest.mark.slow) for n, pump in enumerate(PUMPED)])
def test_time_grows_with_the_text_and_not_with_its_square(pump: str) -> None:
    def seconds(size: int) -> float:
        text = "password=x " + pump * (size // len(pump))
        begun = time.process_time()
        scrub(text)
        return time.process_time() - begun

    small = min(seconds(20_000) for _ in range(3))
    # The fastest of a few counts: on a busy machine one alone is up to three times as slow.
    assert any(large < 0.05 or large < 20 * small for large in (seconds(160_000) for _ in range(6)))


def test_the_sieve_costs_little_and_lets_kafkas_own_lines_through() -> None:
    lines = pa.array(
        ["[Consumer clientId=c-1, groupId=g] Successfully synced group in generation Generation{generationId=7, memberId='c-1-8f14'}"] * 20_000
    )
    begun = time.process_time()
    assert not pc.any(_sifted(lines)).as_py()
    assert time.process_time() - begun < 1
