"""The case folder: Parquet tables, the manifest that says which of them count, and `open.sql`.

A case is written whole or not at all. Rows go to folders that no manifest names yet; replacing `case.json`, in one rename, makes them part of
the case. Whatever dies before that leaves the last good case, and folders that the next writer removes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from forensics.case import integrity
from forensics.case.remote import Remote
from forensics.engines.paths import quoted
from forensics.errors import CaseError
from forensics.evidence.objects import S3Path, place
from forensics.inventory.evidence import NEEDED, READ, SUPERSEDED, Evidence, Place
from forensics.schema import TABLES, Field, table_schema

MANIFEST, OPEN_SQL = "case.json", "open.sql"
#: Files that become part of the case with a manifest, until they are in their places.
STAGED = ".next"
KEPT_SQL = "sql"
FORMAT = 3
#: Tables whose rows are of one file each, and are dropped and renamed with it.
_OF_FILES = ("event_row", "unrecognised_row", "counted_row", "range_row")
_BATCH = 50_000
_SEGMENT = re.compile(r"segment-\d+(~\d+)?")
_VIEW_FOLDER = re.compile(r"views/build-\d+/\w+")


@dataclass(frozen=True)
class Case:
    """A case as its manifest tells it.

    Attributes:
        root: absolute path of the folder.
        manifest: content of `case.json`: tool_version, catalogue_hash, command_line, created, updated, tables, views, files,
            contents.
    """

    root: Path
    manifest: Mapping[str, Any]

    def table_paths(self, name: str) -> list[str]:
        """Absolute folders of Parquet files that are a table, oldest first."""
        return [str(self.root / "tables" / name / segment) for segment in self.manifest["tables"].get(name, ())]

    def tables(self) -> dict[str, list[str]]:
        """All tables and their folders."""
        return {name: self.table_paths(name) for name in TABLES}

    def view_path(self, name: str) -> Path | None:
        """Folder of a view's rows, None while it has not been built."""
        relative = self.manifest["views"].get(name)
        return self.root / relative if relative else None

    def views(self) -> dict[str, str]:
        """All views that were built, and their folders."""
        return {name: str(self.root / relative) for name, relative in self.manifest["views"].items()}

    def faults(self) -> list[integrity.Fault]:
        """Files of the case that are missing, damaged or not its own; all are read for it."""
        folders = [*(Path(p) for paths in self.tables().values() for p in paths), *map(Path, self.views().values())]
        return integrity.faults(self.root, self.manifest["contents"], folders)

    @property
    def knobs(self) -> dict[str, int]:
        """The user's own thresholds that the views were built with."""
        return dict(self.manifest.get("knobs", {}))

    def evidence(self) -> list[Evidence]:
        """The evidence that the case was made from, superseded versions included."""
        return [Evidence.of_record(file) for file in self.manifest["files"]]


def open_case(path: Path, *, check: bool = True, again: bool = False) -> Case:
    """Reads a case and makes sure that its files are what was written; one that was moved gets its `open.sql` mended.

    Args:
        path: the case's folder, or the URL of one in S3, whose copy is then the case.
        check: False where the caller has just done it, or wants `Case.faults`.
        again: fetch all of a case in S3, also what is here already.

    Raises:
        CaseError: there is no case, it is one of another format, or it is damaged.
    """
    case = _opened(path, again=again)
    while check and (faults := case.faults()):
        # What another command has just published, or was killed before it had put into its place, is no damage.
        with suppress(CaseError), _locked(path, case.root):
            _settle(_opened(path))
        now = _opened(path, again=True)
        if now.manifest == case.manifest and (faults := now.faults()):
            raise integrity.error(place(path), faults)
        case = now
    return case


def _opened(path: Path, *, again: bool = False) -> Case:
    called = place(path)
    remote = Remote.of(path) if isinstance(called, S3Path) else None
    root = (remote.pulled(again=again) if remote else path).resolve()
    try:
        manifest = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as e:
        raise CaseError(
            f"There is no case in `{called}`.", where=str(root / MANIFEST), fix="Make one with `forensics ingest PATH... --case DIR`."
        ) from e
    except (OSError, ValueError) as e:
        raise CaseError(f"The case in `{called}` cannot be read.", why=str(e), where=str(root / MANIFEST)) from e
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
    case = Case(root, manifest)
    return _mend(case) if manifest["root"] != str(root) else case


def _fault(manifest: Mapping[str, Any]) -> str:
    """What is wrong with a manifest, empty when nothing is: others may have written it, and its paths lead nowhere but into the case."""
    for key, kind in (("root", str), ("tables", dict), ("views", dict), ("files", list), ("contents", dict)):
        if not isinstance(manifest.get(key), kind):
            return f"has no `{key}`" if key not in manifest else f"has a `{key}` of a wrong form"
    for name, segments in manifest["tables"].items():
        if not isinstance(segments, list) or not all(isinstance(s, str) and _SEGMENT.fullmatch(s) for s in segments):
            return f"names a wrong folder of the table `{name}`"
    missing = [name for name in TABLES if not manifest["tables"].get(name)]
    if missing:
        return f"does not name the table `{missing[0]}`"
    for name, folder in manifest["views"].items():
        if not isinstance(folder, str) or not _VIEW_FOLDER.fullmatch(folder):
            return f"names a wrong folder of the view `{name}`"
    knobs = manifest.get("knobs", {})
    if not isinstance(knobs, dict) or not all(isinstance(v, int) and name.isidentifier() for name, v in knobs.items()):
        return "has thresholds that are no numbers"
    if not all(isinstance(file, dict) and file.keys() >= NEEDED for file in manifest["files"]):
        return "lists a file without all that is to be known of it"
    return ""


def _mend(case: Case) -> Case:
    """Writes the present place of a moved case into `open.sql`, where that is allowed."""
    old, script = case.manifest["root"], case.root / OPEN_SQL
    moved = Case(case.root, {**case.manifest, "root": str(case.root)})
    known = case.manifest["contents"].get(OPEN_SQL)
    try:
        if known is None or integrity.record(case.root, [script]).get(OPEN_SQL) != known:
            return moved  # it is said to be damaged, and not mended over
        text = script.read_text(encoding="utf-8").replace(f"`{quoted(old)}/", f"`{quoted(str(case.root))}/")
        with _locked(case.root, case.root):
            return publish(moved, {OPEN_SQL: text})
    except (OSError, CaseError):
        return moved  # a case on a read-only disk is still read


def new_views_folder(case: Case) -> Path:
    """A folder that does not exist yet, for a build of the views."""
    return case.root / "views" / _next([case.root / "views"], "build")


def with_views(case: Case, built: Mapping[str, str], knobs: Mapping[str, int]) -> Case:
    """The case with other views than it has, not published yet.

    Args:
        case: the case that they were built from.
        built: view name to folder; of none there is no SQL that made them, either.
        knobs: the user's own thresholds that they were built with.
    """
    views = {name: str(Path(path).relative_to(case.root)) for name, path in built.items()}
    gone = ("views/",) if built else ("views/", f"{KEPT_SQL}/")
    contents = {path: told for path, told in case.manifest["contents"].items() if not path.startswith(gone)}
    contents |= integrity.record(case.root, map(Path, built.values()))
    return Case(case.root, {**case.manifest, "views": views, "knobs": dict(knobs), "contents": contents})


def open_sql(statements: Sequence[str]) -> str:
    """The text of `open.sql`: what makes the case known to a user's own Spark.

    Args:
        statements: SQL, in order, without semicolons at their ends.
    """
    head = f"-- The tables and views of this case: spark-sql -i {OPEN_SQL} -e 'SELECT * FROM split_brain'\n"
    return head + "".join(f"{s};\n" for s in statements)


def publish(case: Case, texts: Mapping[str, str] | None = None) -> Case:
    """Makes a case what stands in its folder, at once: by one rename of the manifest. The caller writes alone.

    Args:
        case: what is to be; all files of its tables and views are written.
        texts: further files by their path, which take the place of `open.sql` and of the folder `sql` where they have such; None: they stay.
    """
    staged = case.root / STAGED
    shutil.rmtree(staged, ignore_errors=True)
    contents = dict(case.manifest["contents"])
    if texts is not None:
        replaced = {path.split("/")[0] for path in texts}
        contents = {path: told for path, told in contents.items() if path.split("/")[0] not in replaced}
        for folder in {(staged / name).parent for name in texts}:
            folder.mkdir(parents=True, exist_ok=True)
        # A disk takes many small files in the time of a few.
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda text: _replace(staged / text[0], text[1]), texts.items()))
        contents |= integrity.record(staged, [staged] if texts else [])
    published = Case(case.root, {**case.manifest, "contents": contents})
    _replace(case.root / MANIFEST, _dump(published.manifest))
    _settle(published)
    _sweep(published)
    return published


def _settle(case: Case) -> None:
    """Puts staged files in their places, if the manifest speaks of them; a kill between the two is made good by the next command."""
    staged, contents = case.root / STAGED, case.manifest["contents"]
    for top in (KEPT_SQL, OPEN_SQL):
        told = {path: what for path, what in contents.items() if path.split("/")[0] == top}
        if (staged / top).exists() and integrity.record(staged, [staged / top]) == told:
            if (case.root / top).is_dir():
                shutil.rmtree(case.root / top)
            (staged / top).replace(case.root / top)
    shutil.rmtree(staged, ignore_errors=True)


class CaseWriter:
    """Adds rows to a case. Use `writing`.

    Attributes:
        case: the case as it was, None when it is new.
        staging: a folder for files that are not yet part of the case.
        remote: where the case lies, when it lies in S3.
    """

    def __init__(self, root: Path, case: Case | None) -> None:
        self.root, self.case = root, case
        self.staging = root / "staging"
        self._tables: dict[str, list[str]] = {t: list(case.manifest["tables"].get(t, ())) if case else [] for t in TABLES}
        self.segment = ""
        self.remote: Remote | None = None

    def known(self) -> list[Evidence]:
        """Evidence that the case has."""
        return self.case.evidence() if self.case else []

    def add(self, staged: Path, files: Iterable[tuple[str, str]], ranges: Sequence[Mapping[str, Any]], captures: Iterable[Field]) -> None:
        """Takes what tasks wrote as a new segment of the tables.

        Args:
            staged: folder of the files, on the case's disk.
            files: table and name of each file that counts; others are thrown away with the folder.
            ranges: rows of `range_row`, times in microseconds.
            captures: what the event table has columns for.
        """
        # A table may have no rows of a segment any more, and no folder, where another has.
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
        shaped = ({**{k: v for k, v in row.items() if k in schema.names}, "layouts": [tuple(pair) for pair in row["layouts"]]} for row in ranges)
        rows = sorted(shaped, key=lambda r: (r["path"], r["range_start"]))
        _write(self._new("range_row"), schema, pa.Table.from_pylist(rows, schema).to_batches())

    def drop(self, gone: Iterable[tuple[str, str]]) -> None:
        """Removes the rows of files that have been superseded.

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
        """Gives rows of files their names anew, where they have changed.

        Args:
            files: each file as the case has it, and as it is called from now on.
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
        """Writes a segment again without some files; it keeps its name with a mark, so that files still know theirs."""
        current = next((s for s in self._tables[table] if s.split("~")[0] == segment), None)
        if current is None:
            return
        rest = ds.dataset(str(self.root / "tables" / table / current), format="parquet")
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
        """The case with everything that was added, and no views: what `publish` makes of the folder. Where no row changed, the case as it was.

        Args:
            evidence: all rows of `evidence_file`.
            facts: further keys of the manifest.
        """
        files = [e.as_record() for e in evidence]
        if self.case is not None and self._tables == self.case.manifest["tables"] and json.loads(json.dumps(files)) == self.case.manifest["files"]:
            return Case(self.root, {**self.case.manifest, **facts})
        name = _next([self.root / "tables" / "evidence_file"], "segment")
        schema = table_schema("evidence_file")
        rows = pa.Table.from_pylist([{c: file[c] for c in schema.names} for file in files], schema)
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
        """What the files of all tables hold. Those that were there before keep what was recorded then: damage is not taken for the truth."""
        known = self.case.manifest["contents"] if self.case else {}
        told: dict[str, Any] = {}
        for table, segments in self._tables.items():
            for segment in segments:
                folder = f"tables/{table}/{segment}/"
                told |= {p: what for p, what in known.items() if p.startswith(folder)} or integrity.record(self.root, [self.root / folder])
        return told


@contextmanager
def writing(path: Path, *, check: bool = True) -> Iterator[CaseWriter]:
    """Opens a case for writing, or begins a new one. What is published of one in S3 is written there at the end.

    Args:
        path: the case's folder, or the URL of one in S3.
        check: as in `open_case`.

    Raises:
        CaseError: the folder holds something else, cannot be written, is damaged, or another ingest is writing to it.
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
    """What the manifest of a case says of its files where it lies in S3, that manifest, and the files that are other there than here."""
    contents, texts = dict(case.manifest["contents"]), {}
    if OPEN_SQL in contents:
        here = (case.root / OPEN_SQL).read_text(encoding="utf-8")
        texts[OPEN_SQL] = here.replace(f"`{quoted(str(case.root))}/", f"`{url}/")
        raw = texts[OPEN_SQL].encode()
        contents[OPEN_SQL] = {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    return contents, _dump({**case.manifest, "root": url, "contents": contents}), texts


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
            root.chmod(0o700)  # lines of logs are nobody else's business; whoever wants to share a case changes it later
    except OSError as e:
        raise CaseError(f"The case `{path}` cannot be written.", why=e.strerror or str(e), where=str(root)) from e
    with _locked(path, root):
        case = None
        if (root / MANIFEST).exists():
            _settle(_opened(root))
            case = open_case(root, check=check)
        writer = CaseWriter(root, case)
        shutil.rmtree(writer.staging, ignore_errors=True)
        writer.staging.mkdir()
        try:
            yield writer
        finally:
            shutil.rmtree(writer.staging, ignore_errors=True)


@contextmanager
def _locked(path: Path, root: Path) -> Iterator[None]:
    """Keeps other writers out of a case; `path` is what errors call it."""
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
    """One Parquet file with some rows, maybe none."""
    folder.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(folder / "part-00000.parquet", schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _renamed(batch: pa.RecordBatch, files: Mapping[str, tuple[str, str | None, str | None]]) -> pa.RecordBatch:
    """Rows with the new paths of some files and the new names of their processes; what tells processes of a merged file apart stays behind `#`."""
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
    """The `word-NNN` behind all that are in some folders."""
    names = (p.name for folder in folders for p in folder.glob(f"{word}-*"))
    numbers = [int(n.split("-")[1].split("~")[0]) for n in names if n.split("-")[1].split("~")[0].isdigit()]
    return f"{word}-{max(numbers, default=0) + 1:03d}"


def _sweep(case: Case) -> None:
    """Removes what the manifest does not name: earlier evidence tables, views of earlier builds and their SQL, what a killed ingest left."""
    named = {Path(p) for t in TABLES for p in case.table_paths(t)} | {Path(p) for p in case.views().values()}
    for folder in [*case.root.glob("tables/*/*"), *case.root.glob("views/*/*")]:
        if folder not in named:
            shutil.rmtree(folder, ignore_errors=True)
    for build in case.root.glob("views/*"):
        if not any(build.iterdir()):
            build.rmdir()
    known = {path.split("/")[0] for path in case.manifest["contents"]}
    if OPEN_SQL not in known:
        (case.root / OPEN_SQL).unlink(missing_ok=True)
    if KEPT_SQL not in known:
        shutil.rmtree(case.root / KEPT_SQL, ignore_errors=True)


def _replace(file: Path, text: str) -> None:
    """Writes a file whole: beside it first, then by one rename."""
    beside = file.with_name(f".{file.name}.new")
    with beside.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    beside.replace(file)


def _dump(manifest: Mapping[str, Any]) -> str:
    return json.dumps({**manifest, "manifest_sha256": _digest(manifest)}, indent=1, default=str) + "\n"


def _digest(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of what a manifest says, however it is spaced."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True, default=str).encode()).hexdigest()


def files_to_drop(case: Case | None, evidence: Iterable[Evidence]) -> list[tuple[str, str]]:
    """Segment and path of the files of a case that `evidence` marks as superseded now."""
    if case is None:
        return []
    now = {(e.fingerprint.sha256, e.place) for e in evidence if e.status == SUPERSEDED}
    return [
        (f["segment"], f["path"])
        for f in case.manifest["files"]
        if f["status"] == READ and (f["sha256"], Place(f["location"], f["archive_member"])) in now and f.get("segment")
    ]
