"""The case folder: Parquet tables, the manifest that lists those in use, and `open.sql`.

Writes are atomic. Rows go to folders that no manifest names yet; one rename, which replaces `case.json`, makes them part of the case. A writer that is
killed before the rename leaves the previous case intact, and the next writer removes its folders.

A case may come from someone else. Reading a case writes nothing. Writing to a case creates every file anew and deletes only files with names that this
program gives, in folders without links (`integrity.refuse_strange`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from forensics.case import integrity, seals
from forensics.case.open_sql import path_text
from forensics.case.remote import Remote
from forensics.engines.paths import literal, quoted
from forensics.errors import CaseError
from forensics.evidence.objects import S3Path, opened, place
from forensics.inventory.evidence import READ, SUPERSEDED, Evidence, Place, is_record
from forensics.redaction import hide_in_path
from forensics.schema import TABLES, Field, table_schema

MANIFEST, OPEN_SQL, STEPS_SQL = "case.json", "open.sql", "steps.sql"
KEPT_SQL = "sql"
FORMAT = 3
#: Tables whose rows each belong to one file, and are dropped and renamed with it.
_OF_FILES = ("event_row", "unrecognised_row", "counted_row", "range_row")
#: Columns of `evidence_file` that name a file on disk. Secrets in them are hidden; the manifest has the whole names, from which the evidence is opened again.
_PLACES = ("location", "archive_member")
_BATCH = 50_000
_SEGMENT = re.compile(r"segment-\d{1,9}(~\d{1,9})?")
_BUILD = re.compile(r"build-\d{1,9}")
_VIEW_FOLDER = re.compile(rf"views/{_BUILD.pattern}/\w+")
#: Maximum bytes of a manifest; each evidence file takes less than 1 kB of it.
_MAX_MANIFEST = 256 << 20
_KINDS = {
    "root": str, "tables": dict, "views": dict, "files": list, "contents": dict,
    "seal": str, "tool_version": str, "catalogue_hash": str, "command_line": list, "created": str, "updated": str, "keep_all": bool,
}  # fmt: skip
_MAX_NUMBER = 2**63
_REQUIRED = ("root", "tables", "views", "files", "contents")


@dataclass(frozen=True)
class Case:
    """A case as its manifest describes it.

    Attributes:
        root: absolute path of the folder.
        manifest: content of `case.json`: tool_version, catalogue_hash, command_line, created, updated, tables, views, files,
            contents, seal.
    """

    root: Path
    manifest: Mapping[str, Any]

    def table_paths(self, name: str) -> list[str]:
        """Return the absolute folders of a table's Parquet files, oldest first."""
        return [str(self.root / "tables" / name / segment) for segment in self.manifest["tables"].get(name, ())]

    def tables(self) -> dict[str, list[str]]:
        """Return the folders of each table."""
        return {name: self.table_paths(name) for name in TABLES}

    def view_path(self, name: str) -> Path | None:
        """Return the folder of a view's rows, or None if the view has not been built."""
        relative = self.manifest["views"].get(name)
        return self.root / relative if relative else None

    def views(self) -> dict[str, str]:
        """Return the folder of each built view."""
        return {name: str(self.root / relative) for name, relative in self.manifest["views"].items()}

    def faults(self) -> list[integrity.Fault]:
        """Return the files that are missing, damaged or foreign to the case; this reads every file."""
        folders = [*(Path(p) for paths in self.tables().values() for p in paths), *map(Path, self.views().values())]
        return integrity.faults(self.root, self.manifest["contents"], folders)

    @property
    def thresholds(self) -> dict[str, int]:
        """Return the user's thresholds with which the views were built."""
        return dict(self.manifest.get("knobs", {}))

    @property
    def seal(self) -> str:
        """Return who sealed the case, as one of the states in `seals`."""
        return seals.state(self.manifest)

    @property
    def moved_from(self) -> str:
        """Return the path at which the case was written, if it has moved since; `open.sql` still names that path. Empty if it has not moved."""
        written, remote = str(self.manifest["root"]), Remote.of(self.root)
        return "" if written == str(self.root) or (remote is not None and written == remote.spark_url) else written

    def evidence(self) -> list[Evidence]:
        """Return the evidence of the case, superseded versions included."""
        return [replace(Evidence.of_record(f), is_named=seals.is_of_location(f["location"], f.get("seal"))) for f in self.manifest["files"]]


def open_case(path: Path, *, check: bool = True, again: bool = False) -> Case:
    """Read a case and verify that its files are unchanged. Nothing is written, even if the case has moved.

    Args:
        path: the case's folder, or the URL of a case in S3, which is opened as a local copy.
        check: False if the caller has just checked the files, or uses `Case.faults`.
        again: fetch all objects of a case in S3, even those already in the copy.

    Raises:
        CaseError: there is no case, or it has another format, or it is damaged.
    """
    case = _opened(path, again=again)
    while check and (faults := case.faults()):
        # A manifest that another command has just published is not damage.
        now = _opened(path, again=True)
        if now.manifest == case.manifest and (faults := now.faults()):
            raise integrity.error(place(path), faults)
        case = now
    return case


def _opened(path: Path, *, again: bool = False) -> Case:
    called = place(path)
    remote = Remote.of(path) if isinstance(called, S3Path) else None
    root = (remote.pulled(again=again) if remote else path).resolve()
    integrity.refuse_strange(root, called)
    try:
        manifest = _manifest(root / MANIFEST)
    except (FileNotFoundError, NotADirectoryError) as e:
        raise CaseError(
            f"There is no case in `{called}`.", where=str(root / MANIFEST), fix="Create one with `forensics ingest PATH... --case DIR`."
        ) from e
    except (OSError, ValueError, RecursionError) as e:
        raise CaseError(f"The case in `{called}` cannot be read.", why=_first(str(e)), where=str(root / MANIFEST)) from e
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise CaseError(
            f"The case in `{called}` has another format.", why=f"this version reads format {FORMAT}", where=str(root / MANIFEST), fix="Ingest again."
        )
    if manifest.pop("manifest_sha256", None) != _digest(manifest):
        raise CaseError(
            f"The case in `{called}` is damaged and cannot be used.",
            why=f"{MANIFEST} is not as it was written", where=str(root / MANIFEST), fix="Ingest the logs again, into a new folder.",
        )  # fmt: skip
    wrong = _fault(manifest)
    if wrong:
        raise CaseError(
            f"The case in `{called}` is damaged.",
            why=f"its manifest {wrong}",
            where=str(root / MANIFEST),
            fix="Ingest the logs again, into a new folder.",
        )
    return Case(root, manifest)


def _manifest(file: Path) -> Any:  # noqa: ANN401  (JSON)
    """Return the content of a manifest as parsed JSON of any shape.

    Raises:
        OSError, ValueError, RecursionError: it cannot be read.
    """
    with opened(file, links=False) as content:
        text = content.read(_MAX_MANIFEST + 1)
    if len(text) > _MAX_MANIFEST:
        raise ValueError(f"it has more than {_MAX_MANIFEST:,} bytes")
    found = json.loads(text)
    json.dumps(found, ensure_ascii=False).encode()  # a lone surrogate, which no table can hold, raises ValueError
    return found


def _first(text: str) -> str:
    return text.split("\n")[0][:200]


def _fault(manifest: Mapping[str, Any]) -> str:
    """Return what is wrong with a manifest, or an empty string. It may come from someone else: its paths must not lead out of the case."""
    for key, kind in _KINDS.items():
        if key not in manifest and key in _REQUIRED:
            return f"has no `{key}`"
        if key in manifest and not isinstance(manifest[key], kind):
            return f"has a `{key}` of a wrong form"
    if not all(isinstance(word, str) for word in manifest.get("command_line", ())):
        return "has a `command_line` of a wrong form"
    if not integrity.is_contents(manifest["contents"]):
        return "has a `contents` of a wrong form"
    for name, segments in manifest["tables"].items():
        if not isinstance(segments, list) or not all(isinstance(s, str) and _SEGMENT.fullmatch(s) for s in segments):
            return f"names a wrong folder of the table `{name}`"
    missing = [name for name in TABLES if not manifest["tables"].get(name)]
    if missing:
        return f"does not name the table `{missing[0]}`"
    for name, folder in manifest["views"].items():
        if not isinstance(folder, str) or not _VIEW_FOLDER.fullmatch(folder) or folder.rpartition("/")[2] != name:
            return f"names a wrong folder of the view `{name}`"
    thresholds = manifest.get("knobs", {})
    if not isinstance(thresholds, dict) or not all(type(v) is int and abs(v) < _MAX_NUMBER and name.isidentifier() for name, v in thresholds.items()):
        return "has thresholds that are not numbers"
    if not all(map(is_record, manifest["files"])):
        return "lists a file without all required fields"
    return ""


def new_views_folder(case: Case) -> Path:
    """Return an unused folder for a build of the views."""
    return case.root / "views" / _next([case.root / "views"], "build")


def with_views(case: Case, built: Mapping[str, str], thresholds: Mapping[str, int]) -> Case:
    """Return the case with newly built views, not published yet.

    Args:
        case: the case that they were built from.
        built: view name to folder; if empty, the copy of the SQL is dropped too.
        thresholds: the user's thresholds with which they were built.
    """
    views = {name: str(Path(path).relative_to(case.root)) for name, path in built.items()}
    gone = ("views/",) if built else ("views/", f"{KEPT_SQL}/", STEPS_SQL)
    contents = {path: recorded for path, recorded in case.manifest["contents"].items() if not path.startswith(gone)}
    contents |= integrity.record(case.root, map(Path, built.values()))
    return Case(case.root, {**case.manifest, "views": views, "knobs": dict(thresholds), "contents": contents})


def open_sql(statements: Sequence[str]) -> str:
    """Return the text of `open.sql`, which makes the case's public views and rules known to a user's own Spark.

    Args:
        statements: SQL statements in order, without final semicolons.
    """
    head = f"-- The public views and rules of this case: spark-sql -i {OPEN_SQL} -e 'SELECT * FROM split_brain'\n"
    return head + f"-- {STEPS_SQL} defines the steps that they were computed from.\n" + "".join(f"{s};\n" for s in statements)


def steps_sql(statements: Sequence[str]) -> str:
    """Return the text of `steps.sql`, which adds the thresholds, tables and steps; takes the same argument as `open_sql`."""
    head = f"-- The steps behind the views, the tables and the thresholds; load them after {OPEN_SQL}:\n"
    return head + f"-- spark-sql -i {OPEN_SQL} -i {STEPS_SQL} -e 'SELECT * FROM join_round'\n" + "".join(f"{s};\n" for s in statements)


def publish(case: Case, texts: Mapping[str, str] | None = None, *, own: bool = False) -> Case:
    """Publish a new state of a case by one rename of the manifest. The caller holds the case's lock.

    Args:
        case: the new state; all files of its tables and views have been written.
        texts: further files by path, which replace `open.sql`, `steps.sql` and the folder `sql` if they contain them. None: all are kept.
        own: True to seal the case even if another user wrote it.
    """
    staged = _fresh(case.root / integrity.STAGED)
    manifest = dict(case.manifest)
    if texts is not None:
        replaced = {path.split("/")[0] for path in texts}
        manifest["contents"] = {path: recorded for path, recorded in case.manifest["contents"].items() if path.split("/")[0] not in replaced}
        manifest["root"] = str(case.root)
        for folder in {(staged / name).parent for name in texts}:
            folder.mkdir(parents=True, exist_ok=True)
        # Writing many small files in parallel takes little longer than writing one.
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda text: _write_new(staged / text[0], text[1]), texts.items()))
        manifest["contents"] |= integrity.record(staged, [staged] if texts else [])
    current = case.root / MANIFEST
    manifest = seals.renewed(manifest, None if own or not current.exists() else _manifest(current))
    published = Case(case.root, manifest)
    _write_new(staged / MANIFEST, _dump(manifest))
    (staged / MANIFEST).replace(current)
    _settle(published)
    _sweep(published)
    return published


def sealed(case: Case) -> Case:
    """Give a case this user's seal, because this user has found that its evidence gives its rows; a case that has changed since then is left as it is."""
    with writing(case.root) as writer:
        return case if writer.case is None or writer.case.manifest != case.manifest else publish(writer.case, own=True)


def _settle(case: Case) -> None:
    """Move staged files that the manifest lists to their final paths; if this is interrupted, the next writer completes it."""
    staged, contents = case.root / integrity.STAGED, case.manifest["contents"]
    for top in (KEPT_SQL, OPEN_SQL, STEPS_SQL):
        listed = {path: what for path, what in contents.items() if path.split("/")[0] == top}
        if (staged / top).exists() and integrity.record(staged, [staged / top]) == listed:
            if (case.root / top).is_dir():
                shutil.rmtree(case.root / top)
            (staged / top).replace(case.root / top)
    _remove(staged)


class CaseWriter:
    """A writer that adds rows to a case. Create it with `writing`.

    Attributes:
        case: the case before this write; None if it is new.
        staging: a folder for files that are not part of the case yet.
        remote: the case in S3; None for a local case.
    """

    def __init__(self, root: Path, case: Case | None) -> None:
        self.root, self.case = root, case
        self.staging = root / "staging"
        self._tables: dict[str, list[str]] = {t: list(case.manifest["tables"].get(t, ())) if case else [] for t in TABLES}
        self.segment = ""
        self.remote: Remote | None = None

    def known(self) -> list[Evidence]:
        """Return the evidence that the case already has."""
        return self.case.evidence() if self.case else []

    def add(self, staged: Path, files: Iterable[tuple[str, str]], ranges: Sequence[Mapping[str, Any]], captures: Iterable[Field]) -> None:
        """Add the files that tasks wrote as a new segment of the tables.

        Args:
            staged: folder of the files, on the same file system as the case.
            files: table and name of each file to add; other files are deleted with the folder.
            ranges: rows of `range_row`, times in microseconds.
            captures: fields for which the event table has columns.
        """
        # One table may have no rows, and no folder, of a segment that another table still has.
        self.segment = _next([self.root / "tables" / table for table in _OF_FILES], "segment")
        written = list(files)
        for table in ("event_row", "unrecognised_row", "counted_row"):
            target = self._new(table)
            target.mkdir(parents=True)
            mine = [name for of, name in written if of == table]
            for number, name in enumerate(sorted(mine)):
                (staged / name).rename(target / f"part-{number:05d}.parquet")
            if not mine:
                _write(target, table_schema(table, captures), ())
        schema = table_schema("range_row")
        names = frozenset(schema.names)
        shaped = ({**{k: v for k, v in row.items() if k in names}, "layouts": [tuple(pair) for pair in row["layouts"]]} for row in ranges)
        rows = sorted(shaped, key=lambda r: (r["path"], r["range_start"]))
        _write(self._new("range_row"), schema, pa.Table.from_pylist(rows, schema).to_batches())

    def drop(self, gone: Iterable[tuple[str, str]]) -> None:
        """Remove the rows of superseded files.

        Args:
            gone: segment and path of each.
        """
        by_segment: dict[str, set[str]] = {}
        for segment, path in gone:
            by_segment.setdefault(segment, set()).add(path)
        for segment, paths in by_segment.items():
            for table in _OF_FILES:
                self._rewrite(table, segment, paths)

    def rename(self, files: Iterable[tuple[Evidence, Evidence]]) -> None:
        """Rename files and their processes in the rows, if their names have changed.

        Args:
            files: each file with its name in the case, and with its new name.
        """
        changed: dict[str, dict[str, tuple[str, str | None, str | None]]] = {}
        for old, new in files:
            names = new.path, old.origin.process_id, new.origin.process_id
            if old.segment and (old.path, old.origin.process_id) != (new.path, new.origin.process_id):
                changed.setdefault(old.segment, {})[old.path] = names
        for segment, renamed in changed.items():
            for table in _OF_FILES:
                self._rewrite(table, segment, set(), lambda batch, renamed=renamed: _renamed(batch, renamed))  # type: ignore[misc]

    def _rewrite(self, table: str, segment: str, paths: set[str], change: Callable[[pa.RecordBatch], pa.RecordBatch] = lambda batch: batch) -> None:
        """Rewrite a segment without some files. Its name gets a `~N` suffix, so that evidence rows still refer to it."""
        current = next((s for s in self._tables[table] if s.split("~")[0] == segment), None)
        if current is None:
            return
        rest = integrity.rows_in(self.root / "tables" / table / current)
        batches = rest.to_batches(filter=~pc.field("path").isin(pa.array(sorted(paths), pa.string())), batch_size=_BATCH)
        number = int(current.partition("~")[2] or 0) + 1
        name = f"{segment}~{number}"
        target = self.root / "tables" / table / name
        shutil.rmtree(target, ignore_errors=True)
        _write(target, rest.schema, map(change, batches))
        place = self._tables[table].index(current)
        self._tables[table][place : place + 1] = [name] if _has_rows(target) else []

    def _new(self, table: str) -> Path:
        target = self.root / "tables" / table / self.segment
        shutil.rmtree(target, ignore_errors=True)
        self._tables[table].append(self.segment)
        return target

    def finish(self, evidence: Sequence[Evidence], facts: Mapping[str, Any]) -> Case:
        """Return the case with all added rows and no views, for `publish`; if no row changed, the case with its present views.

        Args:
            evidence: all rows of `evidence_file`.
            facts: further keys of the manifest.
        """
        files = [e.as_record() | ({"seal": sealed} if e.is_named and (sealed := seals.of_location(e.place.location)) else {}) for e in evidence]
        if self.case is not None and self._tables == self.case.manifest["tables"] and json.loads(json.dumps(files)) == self.case.manifest["files"]:
            return Case(self.root, {**self.case.manifest, **facts})
        name = _next([self.root / "tables" / "evidence_file"], "segment")
        schema = table_schema("evidence_file")
        rows = pa.Table.from_pylist(
            [{c: hide_in_path(file[c]) if c in _PLACES and file[c] else file[c] for c in schema.names} for file in files], schema
        )
        target = self.root / "tables" / "evidence_file" / name
        _write(target, schema, rows.to_batches())
        self._tables["evidence_file"] = [name]
        for table in TABLES:
            if not self._tables[table]:
                self.segment = "segment-000"
                _write(self._new(table), table_schema(table), ())
        return Case(
            self.root,
            {
                "format": FORMAT, "root": str(self.root), **facts, "tables": self._tables, "views": {}, "contents": self._contents(),
                "files": files,
            },
        )  # fmt: skip

    def _contents(self) -> dict[str, Any]:
        """Return the recorded content of all table files. Existing files keep their first record, so that later damage is still detected."""
        known = self.case.manifest["contents"] if self.case else {}
        contents: dict[str, Any] = {}
        for table, segments in self._tables.items():
            for segment in segments:
                folder = f"tables/{table}/{segment}/"
                contents |= {p: what for p, what in known.items() if p.startswith(folder)} or integrity.record(self.root, [self.root / folder])
        return contents


@contextmanager
def writing(path: Path, *, check: bool = True) -> Iterator[CaseWriter]:
    """Open a case for writing, or create it. A case in S3 is uploaded at the end.

    Args:
        path: the case's folder, or the URL of a case in S3.
        check: as in `open_case`.

    Raises:
        CaseError: the folder has other content, cannot be written, is damaged, or is locked by another ingest.
    """
    remote = Remote.of(path)
    if remote is None:
        with _writing(path, check=check) as writer:
            yield writer
        return
    with remote.writing() as copy:
        with _writing(copy, check=check) as writer:
            if writer.case is not None:
                remote.settle()
            writer.remote = remote
            yield writer
        if (copy / MANIFEST).exists():
            remote.push(*_in_store(_opened(copy), remote.spark_url))


def _in_store(case: Case, url: str) -> tuple[Mapping[str, Any], str, Mapping[str, str]]:
    """Return a case's contents as recorded in S3, its manifest there, and the text of the files that differ from the local copy."""
    contents, texts = dict(case.manifest["contents"]), {}
    root = literal(str(case.root))
    for name in (OPEN_SQL, STEPS_SQL):
        if name in contents:
            here = (case.root / name).read_text(encoding="utf-8")
            texts[name] = here.replace(f"{path_text(root)[:-1]}/", f"{path_text(url)[:-1]}/").replace(f"`{quoted(str(case.root))}/", f"`{url}/")
            raw = texts[name].encode()
            contents[name] = {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    return contents, _dump(seals.renewed({**case.manifest, "root": url, "contents": contents}, case.manifest)), texts


@contextmanager
def _writing(path: Path, *, check: bool) -> Iterator[CaseWriter]:
    root = path.resolve()
    if root.exists() and not root.is_dir():
        raise CaseError(f"`{path}` is a file.", fix="Name a folder with --case.")
    if root.is_dir() and any(root.iterdir()) and not (root / MANIFEST).exists() and not (root / ".lock").exists():
        raise CaseError(f"`{path}` is a folder with other things in it.", fix="Name a new or empty folder with --case.")
    try:
        root.mkdir(parents=True, exist_ok=True)
        if not (root / MANIFEST).exists():
            root.chmod(0o700)  # log lines are private; a user who shares the case can change this
    except OSError as e:
        raise CaseError(f"The case `{path}` cannot be written.", why=e.strerror or str(e), where=str(root)) from e
    integrity.refuse_strange(root, path)
    with _locked(path, root):
        case = None
        if (root / MANIFEST).exists():
            _settle(_opened(root))
            case = open_case(root, check=check)
        writer = CaseWriter(root, case)
        _fresh(writer.staging)
        try:
            yield writer
        finally:
            _remove(writer.staging)


@contextmanager
def _locked(path: Path, root: Path) -> Iterator[None]:
    """Lock a case against other writers; errors name it `path`."""
    lock = FileLock(root / ".lock", timeout=0, mode=0o600)
    try:
        lock.acquire()
    except Timeout as e:
        raise CaseError(f"Another ingest is writing to the case `{path}`.", fix="Wait until it has ended.") from e
    except OSError as e:
        raise CaseError(f"The case `{path}` cannot be written.", why=e.strerror or str(e), where=str(root)) from e
    try:
        yield
    finally:
        lock.release()


def _write(folder: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Write rows, possibly none, to one Parquet file."""
    folder.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(folder / "part-00000.parquet", schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _renamed(batch: pa.RecordBatch, files: Mapping[str, tuple[str, str | None, str | None]]) -> pa.RecordBatch:
    """Return rows with new paths and process names; the `#` suffix that separates processes of a merged file is kept."""
    paths, processes = batch.column("path").to_pylist(), batch.column("process_id").to_pylist()
    for i, path in enumerate(paths):
        if path in files:
            paths[i], old, new = files[path]
            if new is not None and old is not None and processes[i] is not None and (processes[i] == old or processes[i].startswith(f"{old}#")):
                processes[i] = new + processes[i][len(old) :]
    for name, values in (("path", paths), ("process_id", processes)):
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(place, batch.schema.field(place), pa.array(values, batch.schema.field(place).type))
    return batch


def _has_rows(folder: Path) -> bool:
    return any(pq.read_metadata(file).num_rows for file in folder.glob("*.parquet"))


def _next(folders: Iterable[Path], word: str) -> str:
    """Return the next unused `word-NNN` in some folders."""
    names = (p.name for folder in folders for p in folder.glob(f"{word}-*"))
    numbers = [int(n.split("-")[1].split("~")[0]) for n in names if n.split("-")[1].split("~")[0].isdigit()]
    return f"{word}-{max(numbers, default=0) + 1:03d}"


def _sweep(case: Case) -> None:
    """Delete files that this program named and the manifest does not list: earlier tables and views, and remains of a killed ingest.

    Everything is moved away first, so that a concurrent reader finds a folder with all of its files or no folder.
    """
    tables = {Path(p) for t in TABLES for p in case.table_paths(t)}
    views = {Path(p) for p in case.views().values()}
    gone = [p for t in TABLES for p in case.root.glob(f"tables/{t}/*") if _SEGMENT.fullmatch(p.name) and p not in tables]
    for build in [p for p in case.root.glob("views/*") if _BUILD.fullmatch(p.name) and p.is_dir()]:
        here = [p for p in build.iterdir() if re.fullmatch(r"\w+", p.name)]
        gone += [build] if not views & set(here) else [p for p in here if p not in views]
    known = {path.split("/")[0] for path in case.manifest["contents"]}
    gone += [case.root / name for name in (OPEN_SQL, STEPS_SQL, KEPT_SQL) if name not in known and (case.root / name).exists()]
    if gone:
        trash = _fresh(case.root / integrity.STAGED)
        for number, path in enumerate(gone):
            path.replace(trash / str(number))
        _remove(trash)


def _fresh(folder: Path) -> Path:
    """Create an empty folder, replacing anything that is there."""
    _remove(folder)
    folder.mkdir()
    return folder


def _remove(path: Path) -> None:
    """Delete a folder and everything in it; delete a link itself, not its target."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _write_new(file: Path, text: str) -> None:
    """Write a file that must not exist yet."""
    with file.open("x", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())


def _dump(manifest: Mapping[str, Any]) -> str:
    return json.dumps({**manifest, "manifest_sha256": _digest(manifest)}, indent=1, default=str) + "\n"


def _digest(manifest: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a manifest's content, independent of whitespace."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True, default=str).encode()).hexdigest()


def files_to_drop(case: Case | None, evidence: Iterable[Evidence]) -> list[tuple[str, str]]:
    """Return the segment and path of each file of the case that `evidence` now marks as superseded."""
    if case is None:
        return []
    now = {(e.fingerprint.sha256, e.place) for e in evidence if e.status == SUPERSEDED}
    return [
        (f["segment"], f["path"])
        for f in case.manifest["files"]
        if f["status"] == READ and (f["sha256"], Place(f["location"], f["archive_member"])) in now and f.get("segment")
    ]
