"""A case in S3: its objects, and the copy of them on this machine that all commands work in.

The objects have the names that the files have. `case.json` is written last, in one request, and says of every other object what it holds: who reads
takes the objects that it names, and none else. Writers keep each other out by objects too: each writes one of its own and only then looks for others,
and since a store shows at once what was written, never do two of them see nobody.
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

from forensics.case import shelf
from forensics.errors import CaseError
from forensics.evidence.objects import S3Path, endpoint

_MANIFEST = "case.json"
#: In the copy's parent: the URL; and what the store said of the manifest that the copy was made by.
_COPY, _URL, _MARK = "case", "url-of-case", "mark"
_LOCKS, _NEXT = "lock", ".next"
#: Prefixes of objects that belong to a case alone: what its manifest does not name of them is left over from a writer that was killed.
_OWN = ("tables/", "views/", "staging/")
_NAMED = re.compile(r"(?:tables|views|sql)/[\w/.~=-]+|open\.sql")
_AT_ONCE = 16
_WAIT_SECONDS = 10
_TRIES = 5

#: What a manifest says of the files of a case, by path.
Contents = Mapping[str, Mapping[str, Any]]


class Remote:
    """A case in S3.

    Args:
        url: the prefix of its objects.
        home: the folder of this user that has the copy.

    Attributes:
        copy: the copy, a case like any other.
    """

    def __init__(self, url: S3Path, home: Path) -> None:
        self.url, self._home = url, home
        self.copy = home / _COPY
        self._known: Contents = {}
        self._same: set[str] = set()

    @classmethod
    def of(cls, path: Path) -> Remote | None:
        """The case in S3 that a user names, or that a folder is the copy of; None where it is no such case."""
        if url := S3Path.parse(str(path)):
            name = hashlib.sha256(f"{endpoint()} {url}".encode()).hexdigest()
            return cls(url, shelf.shelf() / f"s3-{name[:16]}")
        home = path.resolve().parent
        # Whoever sends a case may have put anything beside it; what lies in the user's cache this program has put there.
        if path.name != _COPY or home.parent != shelf.where().resolve() or not (home / _URL).is_file():
            return None
        found = S3Path.parse((home / _URL).read_text(encoding="utf-8"))
        return cls(found, home) if found else None

    @property
    def spark_url(self) -> str:
        """The URL as Spark knows it."""
        return f"s3a://{self.url.path}"

    def pulled(self, *, again: bool = False) -> Path:
        """Brings the copy to what the objects are now; without a case there, without one here.

        Args:
            again: fetch also what the copy has already.

        Raises:
            CaseError: the store does not let it be read, or somebody on this machine writes to it.
        """
        with self._alone(), self._told("read"):
            for _ in range(_TRIES):
                if self._pull(again=again):
                    return self.copy
        raise CaseError(f"The case in `{self.url}` changes faster than it can be read.", where=str(self.url), fix="Try again.")

    def _pull(self, *, again: bool) -> bool:
        """Brings the copy to the present state; False when that has changed meanwhile."""
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
        missing = [path for path, told in wanted.items() if again or have.get(path) != told or not (self.copy / path).is_file()]
        _all(missing, lambda path: self._fetch(path, wanted[path]))
        (self.copy / _MANIFEST).write_bytes(text)
        if self._mark() != mark:
            return False
        (self._home / _MARK).write_text(mark, encoding="utf-8")
        shelf.tidy()
        return True

    def _fetch(self, path: str, told: Mapping[str, Any]) -> None:
        """One file of the copy; what is missing in the store is missing here, and who opens the copy says so."""
        target = self.copy / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        for name in (path, f"{_NEXT}/{path}"):
            with suppress(FileNotFoundError), self._object(name).open() as source, target.open("wb") as out:
                digest = hashlib.sha256()
                while data := source.read(1 << 20):
                    digest.update(data)
                    out.write(data)
                if digest.hexdigest() == told.get("sha256"):
                    return

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Keeps other writers out, and gives the copy, to be changed and then `push`ed.

        Raises:
            CaseError: somebody else is writing, or the prefix has other objects.
        """
        with ExitStack() as held:
            with self._told("written"):
                held.enter_context(self._locked())
                self.pulled()
                held.enter_context(self._alone())
                there = bool(self._mark())
                self._known = _contents(self._read(_MANIFEST)) if there else {}
                others = [name for name in self._names() if not name.startswith(f"{_LOCKS}/")]
                if not there and others:
                    why = f"`{others[0]}` is one of {len(others):,}"
                    raise CaseError(f"`{self.url}` has other objects in it.", why=why, where=str(self.url), fix="Name a new prefix with --case.")
                self._forget()  # until it is pushed, the copy is not what the store has
            yield self.copy

    def settle(self) -> None:
        """Puts right what a writer that was killed has left, of a case that was found to be whole."""
        with self._told("written"):
            self._settle()

    def _settle(self) -> None:
        for name in [name for name in self._names() if name.startswith(f"{_NEXT}/")]:
            path, content = name.removeprefix(f"{_NEXT}/"), self._read(name)
            if hashlib.sha256(content).hexdigest() == self._known.get(path, {}).get("sha256"):
                self._write(path, content)
        self._remove(n for n in self._names() if n.startswith((f"{_NEXT}/", *_OWN, "sql/")) and n not in self._known)

    def upload(self, contents: Contents) -> None:
        """Writes the objects of tables and views that the store does not have; no manifest names them yet.

        Args:
            contents: what the manifest of the copy says, or will say.
        """
        with self._told("written"):
            there = set(self._names())
            tables = {path: told for path, told in contents.items() if path.startswith(_OWN) and path not in self._same}
            new = [path for path, told in tables.items() if path not in there or self._known.get(path) != told]
            _all(new, self._put)
            self._same.update(new)

    def staging(self) -> S3Path:
        """A prefix that nothing uses yet, for rows that executors write."""
        return self._object(f"staging/{uuid.uuid4().hex}")

    def seen(self, path: str) -> str:
        """The URL by which executors see a file or folder of the copy; other paths are as they are."""
        root = str(self.copy.resolve())
        return self.spark_url + path.removeprefix(root) if path == root or path.startswith(f"{root}/") else path

    def fetch(self, folder: Path) -> None:
        """Brings what executors wrote into a folder of the copy.

        Raises:
            CaseError: the store does not let it be read.
        """
        with self._told("read"):
            below = self._object(folder.relative_to(self.copy.resolve()).as_posix())
            found = [path.below(below) for path, _ in below.listed()]
            self.fetch_from(below, [name for name in found if not name.startswith(("_", ".")) and "/" not in name], folder)
            self._same.update(f"{below.below(self.url)}/{name}" for name in found)

    def fetch_from(self, prefix: S3Path, names: Iterable[str], folder: Path) -> None:
        """Brings objects into a folder, which is made."""
        folder.mkdir(parents=True, exist_ok=True)

        def copy(name: str) -> None:
            with (prefix / name).open() as source, (folder / name).open("wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)

        with self._told("read"):
            _all(list(names), copy)

    def push(self, contents: Contents, manifest: str, texts: Mapping[str, str]) -> None:
        """Makes the copy what the case is.

        Args:
            contents: what the manifest says.
            manifest: as it is to stand in the store.
            texts: files by path that are to be other in the store than in the copy.
        """
        with self._told("written"):
            self.upload(contents)
            # What has a name of old is written beside it until the manifest is the new one.
            beside = f"{_NEXT}/" if self._known else ""
            loose = [path for path, told in contents.items() if not path.startswith(_OWN) and self._known.get(path) != told]
            _all(loose, lambda path: self._write(beside + path, texts[path].encode() if path in texts else (self.copy / path).read_bytes()))
            # In a thread, which no Ctrl-C interrupts: Arrow completes what was begun, and half a manifest would be none.
            _all([_MANIFEST], lambda name: self._write(name, manifest.encode()))
            self._known = contents
            self._settle()
            (self._home / _MARK).write_text(self._mark(), encoding="utf-8")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keeps other writers out, on whatever machine."""
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
        """Keeps other processes of this machine from changing the copy."""
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
    def _told(self, done: str) -> Iterator[None]:
        """Turns what a store says no with into a clear error."""
        try:
            yield
        except (OSError, ValueError) as e:
            if isinstance(e, OSError) and e.errno is not None and not isinstance(e, FileNotFoundError):
                raise  # of this machine
            raise self.url.refused(e, f"The case in `{self.url}` cannot be {done}.") from e

    def _object(self, name: str) -> S3Path:
        return self.url / name

    def _names(self) -> list[str]:
        """Names of all objects of the case, below its prefix."""
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
        """What changes with the manifest, empty when there is none."""
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
    """What a manifest says of each file; nothing when it is none, or names what no case has: a copy is made of it only to be found damaged."""
    try:
        told = json.loads(manifest)["contents"]
    except (ValueError, LookupError, TypeError):
        return {}
    fits = isinstance(told, dict) and all(_NAMED.fullmatch(p) and ".." not in p.split("/") and isinstance(t, dict) for p, t in told.items())
    return told if fits else {}


def _all(items: list[str], do: Callable[[str], None]) -> None:
    """Does something with each item, several at a time."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(do, items):
            pass
