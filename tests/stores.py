"""A store of objects on this machine, for tests: moto's, which speaks S3's language over HTTP."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from pyarrow import fs

BUCKET = "evidence"


@dataclass(frozen=True)
class Store:
    """A store that runs.

    Attributes:
        endpoint: its URL.
    """

    endpoint: str

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment that lets a process connect, and not to any other store."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "reader", "AWS_SECRET_ACCESS_KEY": "of logs",
            "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        }  # fmt: skip

    def put(self, key: str, content: bytes) -> None:
        """Write an object."""
        with self._files().open_output_stream(f"{BUCKET}/{key}") as file:
            file.write(content)

    def put_oddly_named(self, path: str, content: bytes) -> None:
        """Write an object whose name Arrow would not write, by the path of its URL."""
        self._ask("PUT", f"/{BUCKET}/{path}", content)

    def put_below(self, folder: Path, prefix: str) -> None:
        """Write all files below a folder."""
        for file in folder.rglob("*"):
            if file.is_file():
                self.put(f"{prefix}/{file.relative_to(folder).as_posix()}", file.read_bytes())

    def delete(self, key: str) -> None:
        self._files().delete_file(f"{BUCKET}/{key}")

    def empty(self) -> None:
        """Forgets everything, and lets everybody in."""
        self.let_in("inf")
        self._ask("POST", "/moto-api/reset")
        self._files().create_dir(BUCKET)

    def let_in(self, requests: str) -> None:
        """Let this number of requests in before it requires credentials; it knows no user."""
        self._ask("POST", "/moto-api/reset-auth", requests.encode())

    def _files(self) -> fs.S3FileSystem:
        who = self.variables
        return fs.S3FileSystem(
            access_key=who["AWS_ACCESS_KEY_ID"], secret_key=who["AWS_SECRET_ACCESS_KEY"], region=who["AWS_REGION"], endpoint_override=self.endpoint,
            allow_bucket_creation=True,
        )  # fmt: skip

    def _ask(self, method: str, path: str, body: bytes | None = None) -> None:
        with urlopen(Request(self.endpoint + path, body, {"Content-Type": "application/octet-stream"}, method=method)) as answer:  # noqa: S310  (of this machine)
            answer.read()


@contextmanager
def running() -> Iterator[Store]:
    """A store with one empty bucket, on a free port of this machine alone."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server.start()
    try:
        store = Store("http://{}:{}".format(*server.get_host_and_port()))
        store.empty()
        yield store
    finally:
        server.stop()
