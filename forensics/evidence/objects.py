"""Read objects of S3 and of compatible stores in place: wherever a file is read, ranges of an object can be read.

Arrow requests the ranges in the process that reads, including Spark's executors. Nothing is copied to disk. Endpoint and credentials come from the
standard AWS variables and configuration files.
"""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from forensics.errors import ForensicsError, UsageError

if TYPE_CHECKING:
    from pyarrow import fs

#: Variables that define the store and the credentials.
VARIABLES = (
    "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
)  # fmt: skip
#: Matches a URL even if pathlib has collapsed its slashes.
_URL = re.compile(r"s3[an]?:/+(?P<bucket>[^/]+)/*(?P<key>.*)", re.DOTALL)
#: Minimum size of a request, even if a read needs fewer bytes.
_RANGE = 4 << 20
_ATTEMPTS = 3
_CONNECT_SECONDS = 5.0
_CODE = re.compile(r"AWS Error (?P<code>\w+) during \w+ operation: (?P<message>.*?)(?: \(Request ID: [^()]{0,200}\))?$", re.DOTALL)
_CURL = re.compile(r"curlCode: \d{1,4}, [^;\n]{0,200}; Details: ")
_DENIED = {
    "ACCESS_DENIED",
    "INVALID_ACCESS_KEY_ID",
    "SIGNATURE_DOES_NOT_MATCH",
    "INVALID_CLIENT_TOKEN_ID",
    "MISSING_AUTHENTICATION_TOKEN",
    "EXPIRED_TOKEN",
}


@dataclass(frozen=True)
class S3Path:
    """An object, or a common prefix of objects, which serves as a folder.

    Attributes:
        bucket: name of the bucket.
        key: the object's name in it, not escaped.
    """

    bucket: str
    key: str = ""

    @classmethod
    def parse(cls, text: str) -> S3Path | None:
        """Return the object that `s3://bucket/key` (or `s3a://` or `s3n://`, Hadoop's names for it) refers to; None for any other text."""
        found = _URL.fullmatch(text)
        return cls(found["bucket"], found["key"].rstrip("/")) if found else None

    def __str__(self) -> str:
        """Return the URL, always with `s3://`: an object has one name in a case, whichever name the user gave."""
        return f"s3://{self.bucket}/{self.key}".rstrip("/")

    @property
    def name(self) -> str:
        """Return the last part of the URL."""
        return self.path.rpartition("/")[2]

    @property
    def path(self) -> str:
        """Return the path as Arrow expects it."""
        return f"{self.bucket}/{self.key}".rstrip("/")

    def files(self) -> list[tuple[S3Path, int]]:
        """Return the object, or all objects below this prefix, with their sizes, in the order of folders and names.

        Raises:
            UsageError: there is no such object.
            ForensicsError: the store does not answer, or does not allow listing them.
        """
        from pyarrow import fs

        store = _store()
        try:
            try:
                about = store.get_file_info(self.path)
            except OSError as e:
                if _code(e) != "ACCESS_DENIED":
                    raise
                about = None  # permission to list below a prefix does not include permission to query the prefix itself
            if about is not None and about.type == fs.FileType.File:
                return [(self, about.size)]
            if about is not None and about.type == fs.FileType.NotFound:
                raise self._missing(store)
            found = [i for i in store.get_file_info(fs.FileSelector(self.path, recursive=True)) if i.type == fs.FileType.File]
        except (OSError, ValueError) as e:
            raise self.refused(e, f"The objects below `{self}` cannot be listed.") from e
        keys = sorted(((i.path[len(self.bucket) + 1 :], i.size) for i in found), key=lambda item: item[0].split("/"))
        return [(S3Path(self.bucket, key), size) for key, size in keys]

    def __truediv__(self, name: str) -> S3Path:
        """Return the object with a name below this prefix."""
        return S3Path(self.bucket, f"{self.key}/{name}".lstrip("/"))

    def below(self, prefix: S3Path) -> str:
        """Return the name below the prefix that this object was found under; for the object itself, the last part of its name."""
        return self.name if self == prefix else self.key[len(prefix.key) :].lstrip("/")

    def listed(self) -> list[tuple[S3Path, int]]:
        """Return all objects below this prefix, with their sizes; there may be none.

        Raises:
            OSError: they cannot be listed.
        """
        from pyarrow import fs

        below = fs.FileSelector(self.path, allow_not_found=True, recursive=True)
        return [(S3Path(self.bucket, i.path[len(self.bucket) + 1 :]), i.size) for i in _store().get_file_info(below) if i.type == fs.FileType.File]

    def write(self, content: bytes) -> None:
        """Write the object in one piece.

        Raises:
            OSError: it cannot be written.
        """
        with _store().open_output_stream(self.path) as out:
            out.write(content)

    def write_file(self, file: Path) -> None:
        """Write the content of a file; see `write`."""
        with file.open("rb") as content, _store().open_output_stream(self.path) as out:
            shutil.copyfileobj(content, out, _RANGE)

    def remove(self) -> None:
        """Delete the object; do nothing if it does not exist.

        Raises:
            OSError: it cannot be deleted.
        """
        with suppress(FileNotFoundError):
            _store().delete_file(self.path)

    def mark(self) -> tuple[object, ...]:
        """Return a value that changes whenever the object is written again.

        Raises:
            OSError: it is gone, or cannot be read.
        """
        try:
            with _store().open_input_file(self.path) as file:
                metadata = file.metadata()
        except (OSError, ValueError) as e:
            raise _plain(e) from e
        return tuple(_text(metadata.get(name)) for name in ("ETag", "VersionId", "Content-Length", "Last-Modified"))

    def open(self, mode: str = "rb", buffering: int = -1) -> BinaryIO:
        """Open the object for reading; arguments as those of `pathlib.Path.open`.

        Raises:
            OSError: it is gone, or cannot be read.
        """
        del mode, buffering
        try:
            raw = _Ranges(self, _store().open_input_file(self.path))
        except (OSError, ValueError) as e:
            raise _plain(e) from e
        return cast("BinaryIO", io.BufferedReader(raw, _RANGE))

    def _missing(self, store: fs.S3FileSystem) -> UsageError:
        from pyarrow import fs

        if self.key and store.get_file_info(self.bucket).type != fs.FileType.NotFound:
            return UsageError(f"There is no object `{self}`, and none below it.", where=str(self))
        return UsageError(f"There is no bucket `{self.bucket}`.", where=str(self), fix=f"Set AWS_ENDPOINT_URL for a store other than {_whom()}.")

    def refused(self, error: OSError | ValueError, what: str) -> ForensicsError:
        """Return the store's error in words for the user; `what` describes the operation that failed."""
        why, code = str(_plain(error)), _code(error)
        if code == "NO_SUCH_BUCKET" or isinstance(error, FileNotFoundError | ValueError):
            return UsageError(what, why=why, where=str(self))
        if code == "NETWORK_CONNECTION":
            return ForensicsError(
                f"{_whom()} does not answer.", why=why, where=str(self), fix="Set AWS_ENDPOINT_URL for another store, AWS_REGION for another region."
            )
        fix = "The credentials need s3:ListBucket and s3:GetObject, and for a case s3:PutObject and s3:DeleteObject. Set them in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or choose a profile with AWS_PROFILE."
        if code not in _DENIED:
            fix = "Set AWS_REGION to the bucket's region, and AWS_ENDPOINT_URL for a store other than Amazon's."
        return ForensicsError(what, why=why, where=str(self), fix=fix)


#: Location of a file: on this machine, or in an object store.
Location = Path | S3Path


def place(named: str | os.PathLike[str]) -> Location:
    """Return the path or the object store URL that a user named."""
    return S3Path.parse(os.fspath(named)) or Path(named)


def opened(location: Location, *, links: bool = True) -> BinaryIO:
    """Open a regular file or an object for reading.

    A FIFO or a device would block, or never end: neither is opened for reading, even if the user names it.

    Args:
        location: what to open.
        links: False if the last part of the path must not be a link.

    Raises:
        OSError: it is gone, cannot be read, or is not a regular file.
    """
    if isinstance(location, S3Path):
        return location.open()
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(location, flags if links else flags | getattr(os, "O_NOFOLLOW", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a regular file", str(location))
    return os.fdopen(handle, "rb")


class _Ranges(io.RawIOBase):
    """An object as a Python file: each read is a request."""

    def __init__(self, path: S3Path, file: Any) -> None:  # noqa: ANN401  (pyarrow has no types)
        self._of, self._file = path, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = os.SEEK_SET, /) -> int:
        return int(self._file.seek(place, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401  (any writable buffer)
        try:
            return int(self._file.readinto(buffer))
        except OSError as e:
            self._of.mark()  # gives a better error if the object is gone or may no longer be read
            raise _plain(e) from e

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def settings() -> Mapping[str, str]:
    """Return those of `VARIABLES` that are set, for processes that read for this one."""
    return {name: os.environ[name] for name in VARIABLES if os.environ.get(name)}


def _whom() -> str:
    return endpoint() or "Amazon S3"


def endpoint() -> str:
    """Return the URL of the store; empty for Amazon's."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""


def region() -> str:
    """Return the region that is set; empty if none is."""
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""


def arrow(path: Location) -> tuple[fs.FileSystem | None, str]:
    """Return a location as Arrow's writers expect it: the file system, None for this machine's, and the path in it."""
    return (_store(), path.path) if isinstance(path, S3Path) else (None, str(path))


def _store() -> fs.S3FileSystem:
    return _connected(endpoint(), region(), os.environ.get("AWS_ACCESS_KEY_ID") or "")


@lru_cache(maxsize=4)
def _connected(where: str, region: str, who: str) -> fs.S3FileSystem:
    """Return a client of a store. Arrow looks for the credentials itself; `who` only keys the cache."""
    from pyarrow import fs

    del who
    return fs.S3FileSystem(
        endpoint_override=where or None, region=region or None, connect_timeout=_CONNECT_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    )  # fmt: skip


def _code(error: BaseException) -> str:
    """Return the store's error code; empty if the error is not the store's."""
    found = _CODE.search(str(error))
    return found["code"] if found else str(getattr(error, "code", ""))


class _Refused(OSError):
    """A store's error in one line.

    Attributes:
        code: the store's error code.
    """

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code


def _plain(error: BaseException) -> OSError:
    """Return an error of Arrow in one line, without Arrow's own additions."""
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError("there is no such object")
    found = _CODE.search(str(error))
    if not found:
        return _Refused(" ".join(str(error).split()), _code(error))
    code, message = found["code"].lower().replace("_", " "), " ".join(_CURL.sub("", found["message"]).split())
    return _Refused(f"{code}: {message}" if message and message != "No response body." else code, found["code"])


def _text(value: bytes | str | None) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""
