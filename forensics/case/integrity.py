"""What a case's own files were when they were written, and whether they still are.

The manifest keeps the size, the rows and the SHA-256 of every file of a case. No command answers from a case with a file that is missing, damaged
or not its own: an empty view would read as "nothing happened".
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from forensics.errors import CaseError
from forensics.evidence.objects import Location

#: By path below the case: `bytes`, `sha256`, and `rows` of a Parquet file.
Contents = Mapping[str, Mapping[str, Any]]
_BLOCK = 1 << 20
_NAMED = 3
_TABLES = "tables/"


@dataclass(frozen=True)
class Fault:
    """A file that is not as it was written.

    Attributes:
        path: below the case.
        why: what is wrong with it, to be read after the path.
    """

    path: str
    why: str


def record(root: Path, below: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """What some files and folders of a case hold now, for its manifest.

    Args:
        root: the case.
        below: files and folders in it.
    """
    files = [file for place in below for file in (_files(place) if place.is_dir() else (place,))]
    with ThreadPoolExecutor() as pool:
        return dict(zip((f.relative_to(root).as_posix() for f in files), pool.map(_record, files), strict=True))


def faults(root: Path, contents: Contents, folders: Iterable[Path] = ()) -> list[Fault]:
    """What is not as the manifest says, by path.

    Args:
        root: the case.
        contents: what the manifest says of each file.
        folders: folders that must exist, whatever they hold.
    """
    with ThreadPoolExecutor() as pool:
        checked = pool.map(lambda item: (item[0], _why(root / item[0], item[1])), contents.items())
        found = [Fault(path, why) for path, why in checked if why]
    found += [Fault(f.relative_to(root).as_posix(), "is missing") for f in folders if not f.is_dir()]
    # Whoever reads a folder reads every file in it.
    for folder in {(root / path).parent for path in contents} - {root}:
        strange = (file.relative_to(root).as_posix() for file in _files(folder))
        found += [Fault(path, "does not belong to the case") for path in strange if path not in contents]
    return sorted(set(found), key=lambda fault: fault.path)


def error(path: Location, found: list[Fault]) -> CaseError:
    """The error that a damaged case ends every command with."""
    named = "; ".join(f"{fault.path} {fault.why}" for fault in found[:_NAMED])
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    if any(fault.path.startswith(_TABLES) for fault in found):
        fix = "Ingest the logs again, into a new folder."
    else:
        fix = f"`forensics verify {path} --rebuild` makes the views again from the case's tables, which are whole."
    return CaseError(f"The case in `{path}` is damaged and cannot be used.", why=named + more, where=str(path), fix=fix)


def of_views(found: Iterable[Fault]) -> bool:
    """Whether only what is made from the tables is damaged."""
    return not any(fault.path.startswith(_TABLES) for fault in found)


def _files(folder: Path) -> Iterator[Path]:
    """Files below a folder; those that Spark and pyarrow pass over when they read it (`_SUCCESS`, `.part-0.crc`) are left out."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        yield from (Path(place) / name for name in names if not name.startswith((".", "_")))


def _record(file: Path) -> dict[str, Any]:
    told: dict[str, Any] = {"bytes": file.stat().st_size, "sha256": _sha256(file)}
    if file.suffix == ".parquet":
        told["rows"] = pq.read_metadata(file).num_rows
    return told


def _why(file: Path, told: Mapping[str, Any]) -> str:
    """What is wrong with a file, empty when nothing is."""
    try:
        size = file.stat().st_size
        if size != told["bytes"]:
            return f"has {size:,} bytes, not {told['bytes']:,}"
        if _sha256(file) != told["sha256"]:
            return "has another SHA-256 than when it was written"
        if "rows" in told and (rows := pq.read_metadata(file).num_rows) != told["rows"]:
            return f"has {rows:,} rows, not {told['rows']:,}"
    except (FileNotFoundError, NotADirectoryError):
        return "is missing"
    except (OSError, pa.ArrowException) as e:
        return f"cannot be read ({(e.strerror if isinstance(e, OSError) else None) or e})"
    return ""


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while data := content.read(_BLOCK):
            digest.update(data)
    return digest.hexdigest()
