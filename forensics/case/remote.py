"""A case in S3: its objects, and the local copy that all commands work in.

The objects have the same names as the files of a case. `case.json` is written last, in one request, and records the content of every other object. A reader
reads only the objects that it names. Writers exclude each other by lock objects: each writes its own and then looks for others. Because S3 is strongly
consistent, at least one of two concurrent writers sees the other's lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import socket
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from forensics.case import cache
from forensics.errors import CaseError
from forensics.evidence.objects import S3Path, endpoint

_MANIFEST = "case.json"
#: Names in the copy's parent folder: the copy, its URL, and the store's mark (ETag or equivalent) of the copied manifest.
_COPY, _URL, _MARK = "case", "url-of-case", "mark"
_LOCKS, _NEXT = "lock", ".next"
#: Prefixes that only a case uses: an object below them that the manifest does not name was left by a killed writer.
_OWN = ("tables/", "views/", "staging/")
_NAMED = re.compile(r"(?:tables|views|sql)/[\w/.~=-]+|(?:open|steps)\.sql")
_PARALLEL_REQUESTS = 16
_WAIT_SECONDS = 10
_TRIES = 5

#: A manifest's record of each file of a case, by path.
Contents = Mapping[str, Mapping[str, Any]]


class Remote:
    """A case in S3.

    Args:
        url: the prefix of its objects.
        home: the user's folder that contains the copy.

    Attributes:
        copy: the local copy, a case like any other.
    """

    def __init__(self, url: S3Path, home: Path) -> None:
        self.url, self._home = url, home
        self.copy = home / _COPY
        self._known: Contents = {}
        self._same: set[str] = set()

    @classmethod
    def of(cls, path: Path) -> Remote | None:
        """Return the case in S3 that a URL names or whose copy a folder is; None for any other path."""
        if url := S3Path.parse(str(path)):
            name = hashlib.sha256(f"{endpoint()} {url}".encode()).hexdigest()
            return cls(url, cache.cache_folder() / f"s3-{name[:16]}")
        home = path.resolve().parent
        # The sender of a case may have put anything beside it, but only this program writes to the user's cache.
        if path.name != _COPY or home.parent != cache.where().resolve() or not (home / _URL).is_file():
            return None
        found = S3Path.parse((home / _URL).read_text(encoding="utf-8"))
        return cls(found, home) if found else None

    @property
    def spark_url(self) -> str:
        """Return the URL in the form that Spark uses."""
        return f"s3a://{self.url.path}"

    def pulled(self, *, again: bool = False) -> Path:
        """Update the copy to the present objects and return it; if there is no case in S3, the copy is removed.

        Args:
            again: fetch all objects, even those already in the copy.

        Raises:
            CaseError: the store refuses the request, or another command on this machine is writing to the copy.
        """
        with self._alone(), self._store_errors("read"):
            for _ in range(_TRIES):
                if self._pull(again=again):
                    return self.copy
        raise CaseError(f"The case in `{self.url}` changes faster than it can be read.", where=str(self.url), fix="Try again.")

    def _pull(self, *, again: bool) -> bool:
        """Update the copy; return False if the case changed during the update."""
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self._home / _URL).write_text(str(self.url), encoding="utf-8")
        os.utime(self._home)
        mark = self._mark()
        if mark and not again and self._seen() == mark and (self.copy / _MANIFEST).is_file():
            return True
        self._forget()
        if not mark:
            shutil.rmtree(self.copy, ignore_errors=True)
            return True
        text = self._read(_MANIFEST)
        wanted, have = _contents(text), self._contents_here()
        self.copy.mkdir(mode=0o700, exist_ok=True)
        (self.copy / _MANIFEST).unlink(missing_ok=True)
        for file in [f for f in self.copy.rglob("*") if f.is_file() and f.name != ".lock" and f.relative_to(self.copy).as_posix() not in wanted]:
            file.unlink()
        missing = [path for path, recorded in wanted.items() if again or have.get(path) != recorded or not (self.copy / path).is_file()]
        _all(missing, lambda path: self._fetch(path, wanted[path]))
        (self.copy / _MANIFEST).write_bytes(text)
        if self._mark() != mark:
            return False
        (self._home / _MARK).write_text(mark, encoding="utf-8")
        cache.tidy()
        return True

    def _fetch(self, path: str, recorded: Mapping[str, Any]) -> None:
        """Fetch one file of the copy. An object missing in the store stays missing here; opening the copy reports it."""
        target = self.copy / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        for name in (path, f"{_NEXT}/{path}"):
            with suppress(FileNotFoundError), self._object(name).open() as source, target.open("wb") as out:
                digest = hashlib.sha256()
                while data := source.read(1 << 20):
                    digest.update(data)
                    out.write(data)
                if digest.hexdigest() == recorded.get("sha256"):
                    return

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Lock the case against other writers and yield the copy, to be changed and then uploaded with `push`.

        Raises:
            CaseError: another writer has the lock, or the prefix has other objects.
        """
        with ExitStack() as held:
            with self._store_errors("written"):
                held.enter_context(self._locked())
                self.pulled()
                held.enter_context(self._alone())
                there = bool(self._mark())
                self._known = _contents(self._read(_MANIFEST)) if there else {}
                others = [name for name in self._names() if not name.startswith(f"{_LOCKS}/")]
                if not there and others:
                    why = f"`{others[0]}` is one of {len(others):,}"
                    raise CaseError(f"`{self.url}` has other objects in it.", why=why, where=str(self.url), fix="Name a new prefix with --case.")
                self._forget()  # until `push`, the copy differs from the store
            yield self.copy

    def settle(self) -> None:
        """Complete or remove the remains of a killed writer; the case must have been checked."""
        with self._store_errors("written"):
            self._settle()

    def _settle(self) -> None:
        for name in [name for name in self._names() if name.startswith(f"{_NEXT}/")]:
            path, content = name.removeprefix(f"{_NEXT}/"), self._read(name)
            if hashlib.sha256(content).hexdigest() == self._known.get(path, {}).get("sha256"):
                self._write(path, content)
        self._remove(n for n in self._names() if n.startswith((f"{_NEXT}/", *_OWN, "sql/", "steps.sql")) and n not in self._known)

    def upload(self, contents: Contents) -> None:
        """Upload tables and views that the store lacks; no manifest names them yet.

        Args:
            contents: the record of files in the copy's present or next manifest.
        """
        with self._store_errors("written"):
            there = set(self._names())
            tables = {path: recorded for path, recorded in contents.items() if path.startswith(_OWN) and path not in self._same}
            new = [path for path, recorded in tables.items() if path not in there or self._known.get(path) != recorded]
            _all(new, self._put)
            self._same.update(new)

    def staging(self) -> S3Path:
        """Return an unused prefix for rows that executors write."""
        return self._object(f"staging/{uuid.uuid4().hex}")

    def seen(self, path: str) -> str:
        """Return the URL by which executors access a file or folder of the copy; other paths are returned unchanged."""
        root = str(self.copy.resolve())
        return self.spark_url + path.removeprefix(root) if path == root or path.startswith(f"{root}/") else path

    def fetch(self, folder: Path) -> None:
        """Fetch objects that executors wrote into a folder of the copy.

        Raises:
            CaseError: the store refuses the request.
        """
        with self._store_errors("read"):
            below = self._object(folder.relative_to(self.copy.resolve()).as_posix())
            found = [path.below(below) for path, _ in below.listed()]
            self.fetch_from(below, [name for name in found if not name.startswith(("_", ".")) and "/" not in name], folder)
            self._same.update(f"{below.below(self.url)}/{name}" for name in found)

    def fetch_from(self, prefix: S3Path, names: Iterable[str], folder: Path) -> None:
        """Fetch objects into a folder, created if needed."""
        folder.mkdir(parents=True, exist_ok=True)

        def copy(name: str) -> None:
            with (prefix / name).open() as source, (folder / name).open("wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)

        with self._store_errors("read"):
            _all(list(names), copy)

    def push(self, contents: Contents, manifest: str, texts: Mapping[str, str]) -> None:
        """Publish the copy in S3.

        Args:
            contents: the manifest's record of files.
            manifest: the text of the manifest in the store.
            texts: text by path of the files that differ between store and copy.
        """
        with self._store_errors("written"):
            self.upload(contents)
            # An object that replaces an existing one is written beside it until the new manifest is in place.
            beside = f"{_NEXT}/" if self._known else ""
            loose = [path for path, recorded in contents.items() if not path.startswith(_OWN) and self._known.get(path) != recorded]
            _all(loose, lambda path: self._write(beside + path, texts[path].encode() if path in texts else (self.copy / path).read_bytes()))
            # In a thread, which Ctrl-C does not interrupt, so that the manifest is written completely or not at all.
            _all([_MANIFEST], lambda name: self._write(name, manifest.encode()))
            self._known = contents
            self._settle()
            (self._home / _MARK).write_text(self._mark(), encoding="utf-8")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the case against other writers on any machine."""
        mine = f"{_LOCKS}/{uuid.uuid4().hex}"
        self._refuse_others(mine)
        self._write(mine, f"{socket.gethostname()}, process {os.getpid()}, since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC".encode())
        try:
            self._refuse_others(mine)
            yield
        finally:
            with suppress(OSError, ValueError):
                self._remove([mine])

    def _refuse_others(self, mine: str) -> None:
        for name in self._names():
            if name.startswith(f"{_LOCKS}/") and name != mine:
                with suppress(FileNotFoundError):
                    who = self._read(name).decode("utf-8", "replace")
                    raise CaseError(
                        f"Another ingest is writing to the case `{self.url}`.", why=who, where=str(self._object(name)),
                        fix="Wait until it has ended. If it was killed, delete this object.",
                    )  # fmt: skip

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the copy against other processes on this machine."""
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(self._home / ".lock", timeout=_WAIT_SECONDS, mode=0o600)
        try:
            lock.acquire()
        except Timeout as e:
            raise CaseError(f"Another command is writing to the case `{self.url}`.", fix="Wait until it has ended.") from e
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def _store_errors(self, done: str) -> Iterator[None]:
        """Convert a store's refusal into a clear error."""
        try:
            yield
        except (OSError, ValueError) as e:
            if isinstance(e, OSError) and e.errno is not None and not isinstance(e, FileNotFoundError):
                raise  # of this machine
            raise self.url.refused(e, f"The case in `{self.url}` cannot be {done}.") from e

    def _object(self, name: str) -> S3Path:
        return self.url / name

    def _names(self) -> list[str]:
        """Return the names of all objects of the case, relative to its prefix."""
        return [path.below(self.url) for path, _ in self.url.listed()]

    def _read(self, name: str) -> bytes:
        with self._object(name).open() as file:
            return file.read()

    def _write(self, name: str, content: bytes) -> None:
        self._object(name).write(content)

    def _put(self, path: str) -> None:
        self._object(path).write_file(self.copy / path)

    def _remove(self, names: Iterable[str]) -> None:
        _all(list(names), lambda name: self._object(name).remove())

    def _mark(self) -> str:
        """Return a mark that changes with the manifest; an empty string if there is no manifest."""
        try:
            return repr(self._object(_MANIFEST).mark())
        except FileNotFoundError:
            return ""

    def _seen(self) -> str:
        with suppress(OSError):
            return (self._home / _MARK).read_text(encoding="utf-8")
        return ""

    def _forget(self) -> None:
        (self._home / _MARK).unlink(missing_ok=True)

    def _contents_here(self) -> Contents:
        with suppress(OSError):
            return _contents((self.copy / _MANIFEST).read_bytes())
        return {}


def _contents(manifest: bytes) -> Contents:
    """Return a manifest's record of each file; empty if it is not a manifest or names a path that no case has, so that the copy counts as damaged."""
    try:
        found = json.loads(manifest)["contents"]
    except (ValueError, LookupError, TypeError):
        return {}
    fits = isinstance(found, dict) and all(_NAMED.fullmatch(p) and ".." not in p.split("/") and isinstance(t, dict) for p, t in found.items())
    return found if fits else {}


def _all(items: list[str], do: Callable[[str], None]) -> None:
    """Call `do` for each item, several in parallel."""
    with ThreadPoolExecutor(_PARALLEL_REQUESTS) as pool:
        for _ in pool.map(do, items):
            pass
