"""The case folder: Parquet tables, the manifest that says which of them count, and `open.sql`.

A case is written whole or not at all. Rows go to folders that no manifest names yet; replacing `case.json`, in one rename, makes them part of
the case. Whatever dies before that leaves the last good case, and folders that the next writer removes.

Others may have made a case. Reading one writes nothing. Writing to one makes each file new, and takes away only what bears a name that this program
gives, in a folder without links (`integrity.refuse_strange`).
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

from forensics.case import integrity, named
from forensics.case.remote import Remote
from forensics.engines.paths import quoted
from forensics.errors import CaseError
from forensics.evidence.objects import S3Path, opened, place
from forensics.inventory.evidence import READ, SUPERSEDED, Evidence, Place, is_record
from forensics.schema import TABLES, Field, table_schema

MANIFEST, OPEN_SQL = "case.json", "open.sql"
KEPT_SQL = "sql"
FORMAT = 3
#: Tables whose rows are of one file each, and are dropped and renamed with it.
_OF_FILES = ("event_row", "unrecognised_row", "counted_row", "range_row")
_BATCH = 50_000
_SEGMENT = re.compile(r"segment-\d{1,9}(~\d{1,9})?")
_BUILD = re.compile(r"build-\d{1,9}")
_VIEW_FOLDER = re.compile(rf"views/{_BUILD.pattern}/\w+")
#: Of a manifest: a file of the evidence takes less than 1 kB.
_MOST_MANIFEST = 256 << 20
_KINDS = {
    "root": str, "tables": dict, "views": dict, "files": list, "contents": dict,
    "tool_version": str, "catalogue_hash": str, "command_line": list, "created": str, "updated": str, "keep_all": bool,
}  # fmt: skip
_MOST_NUMBER = 2**63
_REQUIRED = ("root", "tables", "views", "files", "contents")


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

    @property
    def moved_from(self) -> str:
        """Where the case was when it was written, if that was elsewhere: then `open.sql` names that place. Empty: it is where it was."""
        written, remote = str(self.manifest["root"]), Remote.of(self.root)
        return "" if written == str(self.root) or (remote is not None and written == remote.spark_url) else written

    def evidence(self) -> list[Evidence]:
        """The evidence that the case was made from, superseded versions included."""
        return [replace(Evidence.of_record(f), is_named=named.is_sealed(f["location"], f.get("seal"))) for f in self.manifest["files"]]


def open_case(path: Path, *, check: bool = True, again: bool = False) -> Case:
    """Read a case, and make sure that its files are what was written. Nothing is written, also not to one that was moved.

    Args:
        path: the case's folder, or the URL of one in S3, whose copy is then the case.
        check: False where the caller has just done it, or wants `Case.faults`.
        again: fetch all of a case in S3, also what is here already.

    Raises:
        CaseError: there is no case, it is one of another format, or it is damaged.
    """
    case = _opened(path, again=again)
    while check and (faults := case.faults()):
        # What another command has just published is no damage.
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
            f"There is no case in `{called}`.", where=str(root / MANIFEST), fix="Make one with `forensics ingest PATH... --case DIR`."
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
    """The content of a manifest, whatever it is.

    Raises:
        OSError, ValueError, RecursionError: it cannot be read.
    """
    with opened(file, links=False) as content:
        text = content.read(_MOST_MANIFEST + 1)
    if len(text) > _MOST_MANIFEST:
        raise ValueError(f"it has more than {_MOST_MANIFEST:,} bytes")
    found = json.loads(text)
    json.dumps(found, ensure_ascii=False).encode()  # half a character, which no table can hold, is a ValueError
    return found


def _first(text: str) -> str:
    return text.split("\n")[0][:200]


def _fault(manifest: Mapping[str, Any]) -> str:
    """What is wrong with a manifest, empty when nothing is: others may have written it, and its paths lead nowhere but into the case."""
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
        if not isinstance(folder, str) or not _VIEW_FOLDER.fullmatch(folder):
            return f"names a wrong folder of the view `{name}`"
    knobs = manifest.get("knobs", {})
    if not isinstance(knobs, dict) or not all(type(v) is int and abs(v) < _MOST_NUMBER and name.isidentifier() for name, v in knobs.items()):
        return "has thresholds that are no numbers"
    if not all(map(is_record, manifest["files"])):
        return "lists a file without all that is to be known of it"
    return ""


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
    """Makes a case what stands in its folder, by one rename of the manifest. The caller writes alone.

    Args:
        case: what is to be; all files of its tables and views are written.
        texts: further files by their path, which take the place of `open.sql` and of the folder `sql` where they have such; None: they stay.
    """
    staged = _fresh(case.root / integrity.STAGED)
    manifest = dict(case.manifest)
    if texts is not None:
        replaced = {path.split("/")[0] for path in texts}
        manifest["contents"] = {path: told for path, told in case.manifest["contents"].items() if path.split("/")[0] not in replaced}
        manifest["root"] = str(case.root)
        for folder in {(staged / name).parent for name in texts}:
            folder.mkdir(parents=True, exist_ok=True)
        # A disk takes many small files in the time of a few.
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda text: _write_new(staged / text[0], text[1]), texts.items()))
        manifest["contents"] |= integrity.record(staged, [staged] if texts else [])
    published = Case(case.root, manifest)
    _write_new(staged / MANIFEST, _dump(manifest))
    (staged / MANIFEST).replace(case.root / MANIFEST)
    _settle(published)
    _sweep(published)
    return published


def _settle(case: Case) -> None:
    """Puts staged files in their places, if the manifest speaks of them; a kill between the two is made good by the next writer."""
    staged, contents = case.root / integrity.STAGED, case.manifest["contents"]
    for top in (KEPT_SQL, OPEN_SQL):
        told = {path: what for path, what in contents.items() if path.split("/")[0] == top}
        if (staged / top).exists() and integrity.record(staged, [staged / top]) == told:
            if (case.root / top).is_dir():
                shutil.rmtree(case.root / top)
            (staged / top).replace(case.root / top)
    _remove(staged)


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
        """The case with everything that was added, and no views: what `publish` makes of the folder. Where no row changed, the case as it was.

        Args:
            evidence: all rows of `evidence_file`.
            facts: further keys of the manifest.
        """
        files = [e.as_record() | ({"seal": sealed} if e.is_named and (sealed := named.seal(e.place.location)) else {}) for e in evidence]
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
    """Removes what bears a name that this program gives and is not in the manifest: earlier tables and views, what a killed ingest left.

    All is moved away first: who reads it still finds a folder with all files, or none.
    """
    tables = {Path(p) for t in TABLES for p in case.table_paths(t)}
    views = {Path(p) for p in case.views().values()}
    gone = [p for t in TABLES for p in case.root.glob(f"tables/{t}/*") if _SEGMENT.fullmatch(p.name) and p not in tables]
    for build in [p for p in case.root.glob("views/*") if _BUILD.fullmatch(p.name) and p.is_dir()]:
        here = [p for p in build.iterdir() if re.fullmatch(r"\w+", p.name)]
        gone += [build] if not views & set(here) else [p for p in here if p not in views]
    known = {path.split("/")[0] for path in case.manifest["contents"]}
    gone += [case.root / name for name in (OPEN_SQL, KEPT_SQL) if name not in known and (case.root / name).exists()]
    if gone:
        trash = _fresh(case.root / integrity.STAGED)
        for number, path in enumerate(gone):
            path.replace(trash / str(number))
        _remove(trash)


def _fresh(folder: Path) -> Path:
    """Makes a folder that did not exist, in the place of what was there."""
    _remove(folder)
    folder.mkdir()
    return folder


def _remove(path: Path) -> None:
    """Takes away a folder with all that is in it; of a link only the link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _write_new(file: Path, text: str) -> None:
    """Writes a file that does not exist yet."""
    with file.open("x", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())


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
