"""The case folder: Parquet tables, the manifest that says which of them count, and `open.sql`.

A case is written whole or not at all. Rows go to folders that no manifest names yet; replacing `case.json`, in one rename, makes them part of
the case. Whatever dies before that leaves the last good case, and folders that the next writer removes.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from forensics.errors import CaseError
from forensics.evidence import READ, SUPERSEDED, Evidence
from forensics.schema import TABLES, Field, table_schema

MANIFEST, OPEN_SQL = "case.json", "open.sql"
FORMAT = 1
_BATCH = 50_000
_NOT_KEPT = {"profile", "ends", "counts", "head_id"}


@dataclass(frozen=True)
class Case:
    """A case as its manifest tells it.

    Attributes:
        root: absolute path of the folder.
        manifest: content of `case.json`: tool_version, catalogue_hash, command_line, created, updated, tables, views, files.
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

    @property
    def knobs(self) -> dict[str, int]:
        """The user's own thresholds that the views were built with."""
        return dict(self.manifest.get("knobs", {}))

    def evidence(self) -> list[Evidence]:
        """The evidence that the case was made from, superseded versions included."""
        names = {f.name for f in fields(Evidence)}
        return [Evidence(**{k: v for k, v in file.items() if k in names}) for file in self.manifest["files"]]


def open_case(path: Path) -> Case:
    """Reads a case; one that was moved gets its `open.sql` mended.

    Raises:
        CaseError: there is no case, or one of another format.
    """
    root = path.resolve()
    try:
        manifest = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as e:
        raise CaseError(
            f"There is no case in `{path}`.", where=str(root / MANIFEST), fix="Make one with `forensics ingest PATH... --case DIR`."
        ) from e
    except (OSError, ValueError) as e:
        raise CaseError(f"The case in `{path}` cannot be read.", why=str(e), where=str(root / MANIFEST)) from e
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise CaseError(
            f"The case in `{path}` has another format.", why=f"this version reads format {FORMAT}", where=str(root / MANIFEST), fix="Ingest again."
        )
    case = Case(root, manifest)
    return _mend(case) if manifest["root"] != str(root) else case


def _mend(case: Case) -> Case:
    """Writes the present place of a moved case into `open.sql`, where that is allowed."""
    old = case.manifest["root"]
    moved = Case(case.root, {**case.manifest, "root": str(case.root)})
    script = case.root / OPEN_SQL
    try:
        if script.is_file():
            _replace(script, script.read_text(encoding="utf-8").replace(f"`{_quoted(old)}/", f"`{_quoted(str(case.root))}/"))
        _replace(case.root / MANIFEST, _dump(moved.manifest))
    except OSError:
        pass  # a case on a read-only disk is still read
    return moved


def write_open_sql(case: Case, statements: Sequence[str]) -> None:
    """Writes `open.sql`: what makes the case known to a user's own Spark.

    Args:
        case: the case.
        statements: SQL, in order, without semicolons at their ends.
    """
    head = f"-- The tables and views of this case: spark-sql -i {OPEN_SQL} -e 'SELECT * FROM split_brain'\n"
    _replace(case.root / OPEN_SQL, head + "".join(f"{s};\n" for s in statements))


def keep_sql(case: Case, texts: Mapping[str, str]) -> None:
    """Keeps the SQL that the views were made with, by file name, under `sql/`."""
    folder = case.root / "sql"
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def new_views_folder(case: Case) -> Path:
    """A folder that does not exist yet, for a build of the views."""
    return case.root / "views" / _next(case.root / "views", "build")


def publish_views(case: Case, built: Mapping[str, str], knobs: Mapping[str, int]) -> Case:
    """Makes built views part of the case, and removes those of earlier builds.

    Args:
        case: the case that they were built from.
        built: view name to folder.
        knobs: the user's own thresholds that they were built with.
    """
    views = {name: str(Path(path).relative_to(case.root)) for name, path in built.items()}
    published = Case(case.root, {**case.manifest, "views": views, "knobs": dict(knobs)})
    _replace(case.root / MANIFEST, _dump(published.manifest))
    _sweep(published)
    return published


class CaseWriter:
    """Adds rows to a case. Use `writing`.

    Attributes:
        case: the case as it was, None when it is new.
        staging: a folder for files that are not yet part of the case.
    """

    def __init__(self, root: Path, case: Case | None) -> None:
        self.root, self.case = root, case
        self.staging = root / "staging"
        self._tables: dict[str, list[str]] = {t: list(case.manifest["tables"].get(t, ())) if case else [] for t in TABLES}
        self.segment = ""

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
        self.segment = _next(self.root / "tables" / "event_row", "segment")
        written = list(files)
        for table in ("event_row", "unrecognised_row"):
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
            for table in ("event_row", "unrecognised_row", "range_row"):
                self._rewrite(table, segment, paths)

    def _rewrite(self, table: str, segment: str, paths: set[str]) -> None:
        """Writes a segment again without some files; it keeps its name with a mark, so that files still know theirs."""
        current = next((s for s in self._tables[table] if s.split("~")[0] == segment), None)
        if current is None:
            return
        rest = ds.dataset(str(self.root / "tables" / table / current), format="parquet")
        batches = rest.to_batches(filter=~pc.field("path").isin(pa.array(sorted(paths))), batch_size=_BATCH)
        number = int(current.partition("~")[2] or 0) + 1
        name = f"{segment}~{number}"
        target = self.root / "tables" / table / name
        shutil.rmtree(target, ignore_errors=True)
        _write(target, rest.schema, batches)
        place = self._tables[table].index(current)
        self._tables[table][place : place + 1] = [name] if _has_rows(target) else []

    def _new(self, table: str) -> Path:
        target = self.root / "tables" / table / self.segment
        shutil.rmtree(target, ignore_errors=True)
        self._tables[table].append(self.segment)
        return target

    def publish(self, evidence: Sequence[Evidence], facts: Mapping[str, Any]) -> Case:
        """Makes everything that was added part of the case, at once.

        Args:
            evidence: all rows of `evidence_file`.
            facts: further keys of the manifest.
        """
        name = _next(self.root / "tables" / "evidence_file", "segment")
        schema = table_schema("evidence_file")
        rows = pa.Table.from_pylist([{c: getattr(e, c) for c in schema.names} for e in evidence], schema)
        target = self.root / "tables" / "evidence_file" / name
        _write(target, schema, rows.to_batches())
        self._tables["evidence_file"] = [name]
        for table in TABLES:
            if not self._tables[table]:
                self.segment = "segment-000"
                _write(self._new(table), table_schema(table), ())
        manifest = {
            "format": FORMAT, "root": str(self.root), **facts, "tables": self._tables, "views": {},
            "files": [{k: v for k, v in asdict(e).items() if k not in _NOT_KEPT} for e in evidence],
        }  # fmt: skip
        case = Case(self.root, manifest)
        _replace(self.root / MANIFEST, _dump(manifest))
        _sweep(case)
        return case


@contextmanager
def writing(path: Path) -> Iterator[CaseWriter]:
    """Opens a case for writing, or begins a new one.

    Raises:
        CaseError: the folder holds something else, cannot be written, or another ingest is writing to it.
    """
    root = path.resolve()
    if root.exists() and not root.is_dir():
        raise CaseError(f"`{path}` is a file.", fix="Name a folder with --case.")
    if root.is_dir() and any(root.iterdir()) and not (root / MANIFEST).exists() and not (root / ".lock").exists():
        raise CaseError(f"`{path}` is a folder with other things in it.", fix="Name a new or empty folder with --case.")
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = os.open(root / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as e:
        raise CaseError(f"The case `{path}` cannot be written.", why=e.strerror or str(e), where=str(root)) from e
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            raise CaseError(f"Another ingest is writing to the case `{path}`.", fix="Wait until it has ended.") from e
        case = open_case(root) if (root / MANIFEST).exists() else None
        writer = CaseWriter(root, case)
        shutil.rmtree(writer.staging, ignore_errors=True)
        writer.staging.mkdir()
        try:
            yield writer
        finally:
            shutil.rmtree(writer.staging, ignore_errors=True)
    finally:
        os.close(lock)


def _write(folder: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """One Parquet file with some rows, maybe none."""
    folder.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(folder / "part-00000.parquet", schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _has_rows(folder: Path) -> bool:
    return any(pq.read_metadata(file).num_rows for file in folder.glob("*.parquet"))


def _next(folder: Path, word: str) -> str:
    """The first unused `word-NNN` in a folder."""
    numbers = [int(n.split("-")[1].split("~")[0]) for n in (p.name for p in folder.glob(f"{word}-*")) if n.split("-")[1].split("~")[0].isdigit()]
    return f"{word}-{max(numbers, default=0) + 1:03d}"


def _sweep(case: Case) -> None:
    """Removes folders that the manifest does not name: earlier evidence tables, views of earlier builds, what a killed ingest left."""
    named = {Path(p) for t in TABLES for p in case.table_paths(t)} | {Path(p) for p in case.views().values()}
    for folder in [*case.root.glob("tables/*/*"), *case.root.glob("views/*/*")]:
        if folder not in named:
            shutil.rmtree(folder, ignore_errors=True)
    for build in case.root.glob("views/*"):
        if not any(build.iterdir()):
            build.rmdir()


def _replace(file: Path, text: str) -> None:
    """Writes a file whole: beside it first, then by one rename."""
    beside = file.with_name(f".{file.name}.new")
    with beside.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    beside.replace(file)


def _dump(manifest: Mapping[str, Any]) -> str:
    return json.dumps(manifest, indent=1, default=str) + "\n"


def _quoted(path: str) -> str:
    return path.replace("`", "``")


def files_to_drop(case: Case | None, evidence: Iterable[Evidence]) -> list[tuple[str, str]]:
    """Segment and path of the files of a case that `evidence` marks as superseded now."""
    if case is None:
        return []
    now = {(e.sha256, e.location, e.archive_member) for e in evidence if e.status == SUPERSEDED}
    return [
        (f["segment"], f["path"])
        for f in case.manifest["files"]
        if f["status"] == READ and (f["sha256"], f["location"], f["archive_member"]) in now and f.get("segment")
    ]
