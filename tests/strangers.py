"""Changes that a stranger may make to a case before sending it: links, pipes and devices in every place, and every value of the manifest replaced."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

#: Places that a case of this or an earlier version may have for a while.
PASSING = (
    ".case.json.new", ".open.sql.new", ".lock", ".next", ".next/case.json", ".next/open.sql", ".next/steps.sql", ".next/sql", ".next/sql/knobs.sql", "staging", "staging/rows",
    "tables/x", "tables/event_row/segment-002", "tables/event_row/segment-000~1", "views/x", "views/build-002", "views/build-002/finding", "sql/x.sql",
)  # fmt: skip


def canary(root: Path) -> Path:
    """A tree of the reader's own, beside the case."""
    for name, text in (("project/src/a.txt", "precious"), ("photos/2024/b.jpg", "precious"), (".bashrc", "alias ll='ls -l'\n"), ("top.txt", "top")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def state(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return all entries of a tree, with their contents and modification times."""
    found = {}
    for place in (root, *sorted(root.rglob("*"))):
        about = place.lstat()
        found[str(place.relative_to(root))] = about.st_ino, about.st_mtime_ns, place.read_bytes() if place.is_file() else b""
    return found


def sealed(manifest: dict[str, Any]) -> str:
    """The text of a manifest with the checksum that goes with it: whoever changes one may write its checksum too."""
    manifest = {k: v for k, v in manifest.items() if k != "manifest_sha256"}
    digest = hashlib.sha256(json.dumps(manifest, sort_keys=True, default=str).encode()).hexdigest()
    return json.dumps({**manifest, "manifest_sha256": digest})


def renew(case: Path, file: Path) -> None:
    """Record the content of a changed file in the manifest, as anyone can."""
    manifest = json.loads((case / "case.json").read_text())
    recorded = {"bytes": file.stat().st_size, "sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "rows": pq.read_metadata(file).num_rows}
    manifest["contents"][file.relative_to(case).as_posix()] = recorded
    (case / "case.json").write_text(sealed(manifest))


def without_seal(case: Path) -> None:
    """Remove the seal of a case, as anyone can."""
    manifest = json.loads((case / "case.json").read_text())
    del manifest["seal"]
    (case / "case.json").write_text(sealed(manifest))


def placements(case: Path, outside: Path) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Yield replacements for each file and folder of a case, and for places that it may have, each with its name."""
    here = [str(p.relative_to(case)) for p in sorted(case.rglob("*"))]
    kinds: dict[str, Callable[[Path], None]] = {
        "a link to a folder": lambda p: p.symlink_to(outside),
        "a relative link": lambda p: p.symlink_to(os.path.relpath(outside / "project", p.parent)),
        "a link to a file": lambda p: p.symlink_to(outside / ".bashrc"),
        "a link to nothing": lambda p: p.symlink_to(outside / "new"),
        "a link to a device": lambda p: p.symlink_to("/dev/zero"),
        "a second name of a file": lambda p: os.link(outside / ".bashrc", p),
        "a named pipe": os.mkfifo,
        "a socket": _socket,
        "a folder": lambda p: p.mkdir(),
        "an empty file": lambda p: p.touch(),
    }
    for path in dict.fromkeys((*here, *PASSING)):
        for kind, make in kinds.items():
            yield f"{path}: {kind}", _put(path, make)


def _put(path: str, make: Callable[[Path], None]) -> Callable[[Path], None]:
    def put(case: Path) -> None:
        place = case / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        make(place)

    return put


def _socket(place: Path) -> None:
    here = Path.cwd()
    os.chdir(place.parent)  # the name of a socket has 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(place.name)
    finally:
        os.chdir(here)


def manifests(manifest: dict[str, Any], outside: Path, *, each: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """A manifest with each of its values, and each of its keys, replaced.

    Args:
        manifest: a sound one.
        outside: the reader's own tree.
        each: False: of many entries of one form only the first is changed.
    """
    values: tuple[Any, ...] = (
        str(outside), str(outside / ".bashrc"), "../../outside", "..", "", "/dev/zero", "/", "s3://bucket/x", "views/../../outside/photos", "x\0y", "\ud800",
        "x" * 70_000, None, True, -1, 0, 2**70, 1.5, [], {}, ["../../outside"], {"../../outside": 1},
    )  # fmt: skip
    seen = set()
    for path in _paths(manifest):
        form = tuple("*" if n == 1 and path[0] == "contents" else "*" if isinstance(part, int) else part for n, part in enumerate(path))
        if not each and form in seen:
            continue
        seen.add(form)
        for value in values:
            changed = copy.deepcopy(manifest)
            _parent(changed, path)[path[-1]] = value
            yield f"{'/'.join(map(str, path))} = {str(value)[:40]!r}", changed
        if isinstance(path[-1], str):
            for key in ("../../outside", str(outside), "tables/../../outside/photos/2024/b.jpg"):
                changed = copy.deepcopy(manifest)
                parent = _parent(changed, path)
                parent[key] = parent.pop(path[-1])
                yield f"{'/'.join(map(str, path))} is named {key[-30:]!r}", changed


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from _paths(part, (*path, key))


def _parent(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        value = value[key]
    return value
