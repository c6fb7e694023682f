"""Objects of S3, and of stores that speak as it does, read where they lie: what else is read as a file is read as ranges of an object.

Arrow asks for the ranges, in whatever process reads, also on Spark's executors. Nothing is copied to disk. Who asks and whom is told by the
variables that all programs of AWS know, and by their configuration files.
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

#: What says where the store is and who asks, so far as variables do.
VARIABLES = (
    "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
)  # fmt: skip
#: A path in which somebody has put slashes together, as pathlib does, is still a URL.
_URL = re.compile(r"s3[an]?:/+(?P<bucket>[^/]+)/*(?P<key>.*)", re.DOTALL)
#: One request for so many bytes, when less is asked for at a time.
_RANGE = 4 << 20
_ATTEMPTS = 3
_CONNECT_SECONDS = 5.0
_CODE = re.compile(r"AWS Error (?P<code>\w+) during \w+ operation: (?P<told>.*?)(?: \(Request ID: [^)]*\))?$", re.DOTALL)
_CURL = re.compile(r"curlCode: \d+, .*?; Details: ")
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
    """An object, or the beginning of some objects' names, which is as good as a folder.

    Attributes:
        bucket: name of the bucket.
        key: the object's name in it, as it is: nothing in it is escaped.
    """

    bucket: str
    key: str = ""

    @classmethod
    def parse(cls, text: str) -> S3Path | None:
        """What `s3://bucket/key` names; `s3a://` and `s3n://` are Hadoop's names for the same. None for any other text."""
        found = _URL.fullmatch(text)
        return cls(found["bucket"], found["key"].rstrip("/")) if found else None

    def __str__(self) -> str:
        """The URL, always with `s3://`: one object has one name in a case, whatever it was called by."""
        return f"s3://{self.bucket}/{self.key}".rstrip("/")

    @property
    def name(self) -> str:
        """The last part of the URL."""
        return self.path.rpartition("/")[2]

    @property
    def path(self) -> str:
        """As Arrow takes it."""
        return f"{self.bucket}/{self.key}".rstrip("/")

    def files(self) -> list[tuple[S3Path, int]]:
        """The object, or all objects below this prefix, with their sizes, in the order of folders and names.

        Raises:
            UsageError: there is none.
            ForensicsError: the store does not answer, or does not let them be listed.
        """
        from pyarrow import fs

        store = _store()
        try:
            try:
                about = store.get_file_info(self.path)
            except OSError as e:
                if _code(e) != "ACCESS_DENIED":
                    raise
                about = None  # who may list below a prefix need not be allowed to ask for the prefix
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
        """The object of a name below this prefix."""
        return S3Path(self.bucket, f"{self.key}/{name}".lstrip("/"))

    def below(self, prefix: S3Path) -> str:
        """The name below a prefix that this object was found under; the last part of it for the object itself."""
        return self.name if self == prefix else self.key[len(prefix.key) :].lstrip("/")

    def listed(self) -> list[tuple[S3Path, int]]:
        """All objects below this prefix, with their sizes; there need be none.

        Raises:
            OSError: they cannot be listed.
        """
        from pyarrow import fs

        below = fs.FileSelector(self.path, allow_not_found=True, recursive=True)
        return [(S3Path(self.bucket, i.path[len(self.bucket) + 1 :]), i.size) for i in _store().get_file_info(below) if i.type == fs.FileType.File]

    def write(self, content: bytes) -> None:
        """Writes the object, in one piece.

        Raises:
            OSError: it cannot be written.
        """
        with _store().open_output_stream(self.path) as out:
            out.write(content)

    def write_file(self, file: Path) -> None:
        """Writes what a file holds; as `write`."""
        with file.open("rb") as content, _store().open_output_stream(self.path) as out:
            shutil.copyfileobj(content, out, _RANGE)

    def remove(self) -> None:
        """Deletes the object; one that is not there is gone already.

        Raises:
            OSError: it cannot be deleted.
        """
        with suppress(FileNotFoundError):
            _store().delete_file(self.path)

    def mark(self) -> tuple[object, ...]:
        """What changes when somebody writes the object again.

        Raises:
            OSError: it is gone, or cannot be read.
        """
        try:
            with _store().open_input_file(self.path) as file:
                told = file.metadata()
        except (OSError, ValueError) as e:
            raise _plain(e) from e
        return tuple(_text(told.get(name)) for name in ("ETag", "VersionId", "Content-Length", "Last-Modified"))

    def open(self, mode: str = "rb", buffering: int = -1) -> BinaryIO:
        """The object's bytes; arguments as those of `pathlib.Path.open`, for reading.

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
        return UsageError(f"There is no bucket `{self.bucket}`.", where=str(self), fix=f"{_whom()} was asked. AWS_ENDPOINT_URL names another store.")

    def refused(self, error: OSError | ValueError, what: str) -> ForensicsError:
        """The store's error, as a user may read it; `what` says what cannot be done."""
        why, code = str(_plain(error)), _code(error)
        if code == "NO_SUCH_BUCKET" or isinstance(error, FileNotFoundError | ValueError):
            return UsageError(what, why=why, where=str(self))
        if code == "NETWORK_CONNECTION":
            return ForensicsError(
                f"{_whom()} does not answer.", why=why, where=str(self), fix="AWS_ENDPOINT_URL names another store, AWS_REGION another region."
            )
        fix = "It must allow s3:ListBucket and s3:GetObject, and for a case s3:PutObject and s3:DeleteObject. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or AWS_PROFILE, say who asks."
        if code not in _DENIED:
            fix = "AWS_REGION names the bucket's region, AWS_ENDPOINT_URL another store than Amazon's."
        return ForensicsError(what, why=why, where=str(self), fix=fix)


#: Where a file lies: on this machine, or in a store of objects.
Location = Path | S3Path


def place(told: str | os.PathLike[str]) -> Location:
    """What a user names: a path, or the URL of an object or of some."""
    return S3Path.parse(os.fspath(told)) or Path(told)


def opened(location: Location, *, links: bool = True) -> BinaryIO:
    """Open a regular file or an object for reading.

    A FIFO or a device would block, or never end: neither is opened for reading, whoever names it.

    Args:
        location: what to open.
        links: False where the last part of the path must not be a link.

    Raises:
        OSError: it is gone, cannot be read, or is no regular file.
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
    """An object as Python's files are: a read is a request."""

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
            self._of.mark()  # an object that is gone, or may not be read any more, says so better
            raise _plain(e) from e

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def settings() -> Mapping[str, str]:
    """Those of `VARIABLES` that are set, for processes that read for this one."""
    return {name: os.environ[name] for name in VARIABLES if os.environ.get(name)}


def _whom() -> str:
    return endpoint() or "Amazon S3"


def endpoint() -> str:
    """URL of the store that is asked; empty for Amazon's."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""


def region() -> str:
    """The region that is told; empty when none is."""
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""


def arrow(path: Location) -> tuple[fs.FileSystem | None, str]:
    """A place as Arrow's writers take it: the file system, None for this machine's, and the path in it."""
    return (_store(), path.path) if isinstance(path, S3Path) else (None, str(path))


def _store() -> fs.S3FileSystem:
    return _connected(endpoint(), region(), os.environ.get("AWS_ACCESS_KEY_ID") or "")


@lru_cache(maxsize=4)
def _connected(where: str, region: str, who: str) -> fs.S3FileSystem:
    """What asks a store. Arrow looks for the credentials itself; `who` only tells one asker from another."""
    from pyarrow import fs

    del who
    return fs.S3FileSystem(
        endpoint_override=where or None, region=region or None, connect_timeout=_CONNECT_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    )  # fmt: skip


def _code(error: BaseException) -> str:
    """The store's word for an error, empty when it is none of its."""
    found = _CODE.search(str(error))
    return found["code"] if found else str(getattr(error, "code", ""))


class _Refused(OSError):
    """A store's error in one line.

    Attributes:
        code: the store's word for it.
    """

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code


def _plain(error: BaseException) -> OSError:
    """An error of Arrow in one line, without what it says of itself."""
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError("there is no such object")
    found = _CODE.search(str(error))
    if not found:
        return _Refused(" ".join(str(error).split()), _code(error))
    code, said = found["code"].lower().replace("_", " "), " ".join(_CURL.sub("", found["told"]).split())
    return _Refused(f"{code}: {said}" if said and said != "No response body." else code, found["code"])


def _text(value: bytes | str | None) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""
