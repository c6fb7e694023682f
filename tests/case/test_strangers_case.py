"""A case from a stranger does no harm: whatever it contains, no command reads, writes or deletes a file of the reader's, hangs, or contacts a store."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from made_case import written
from strangers import canary, manifests, placements, sealed, state
from typer.testing import CliRunner, Result

from forensics.case import folder as case_folder
from forensics.case import integrity, seals
from forensics.cli import app
from forensics.errors import CaseError, ForensicsError
from forensics.evidence import objects

#: On a machine that does nothing else, no command takes 2.
SECONDS = 20
LINE = (
    "[2026-11-21 07:51:24,897] INFO [Consumer clientId=c-1, groupId=g] (Re-)joining group "
    "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:611)\n"
)
#: The number of each kind that the quick tests try, a random but fixed sample; `make slow` tries all.
SOME = 24


class Hangs(BaseException):
    """A command took too long."""


@contextmanager
def in_time() -> Iterator[None]:
    def late(*_: object) -> None:
        raise Hangs

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in args], catch_exceptions=True)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked() -> None:
        raise Hangs("a store was asked")

    monkeypatch.setattr(objects, "_store", asked)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound case of a stranger, its views built."""
    return written(tmp_path_factory.mktemp("stranger") / "case").root


def commands(case: Path, sound: Path, logs: Path, out: Path) -> list[tuple[object, ...]]:
    return [
        ("verify", case),
        ("report", "--case", case, "--format", "json", "-o", out / "r.json"),
        ("sql", "split_brain", "--case", case),
        ("ingest", logs, "--case", case, "--no-views", "--jobs", 1),
        ("show", "f-split-brain-task", "--case", case),
        ("timeline", "--case", case),
        ("export", "--to", "timesketch", "-o", out / "t.jsonl", "--case", case),
        ("compare", case, sound),
        ("show", "f-split-brain-task", "--merge", "--case", case),
    ]


class World:
    """A folder with a case from a stranger, the reader's own files beside it, and logs."""

    def __init__(self, root: Path, sound: Path) -> None:
        self.root, self.sound, self.case = root, sound, root / "case"
        self.outside = canary(root / "outside")
        (root / "out").mkdir()
        (root / "logs").mkdir()
        (root / "logs" / "c.log").write_text(LINE)
        self.before = state(self.outside)
        self.tried = 0

    def renew(self) -> None:
        shutil.rmtree(self.case, ignore_errors=True)
        shutil.copytree(self.sound, self.case)

    def run(self, name: str, which: int) -> None:
        """Run a command on the present case, and check the guarantees."""
        all_commands = commands(self.case, self.sound, self.root / "logs", self.root / "out")
        command = all_commands[which % len(all_commands)]
        self.tried += 1
        try:
            with in_time():
                done = run(*command)
        except Hangs as e:
            pytest.fail(f"{command[0]} hangs with {name} {e}")
        assert isinstance(done.exception, ForensicsError | SystemExit | None), (name, command, done.exception)
        assert state(self.outside) == self.before, (name, command)


@pytest.fixture
def world(tmp_path: Path, sound: Path, no_network: None, record_property: Callable[[str, object], None]) -> Iterator[World]:
    made = World(tmp_path, sound)
    yield made
    record_property("inputs", max(made.tried, 1))


def _some(found: list[Any]) -> list[Any]:
    return random.Random(7).sample(found, SOME)  # noqa: S311


def _try_placements(world: World, chosen: list[tuple[str, Callable[[Path], None]]], several: int) -> None:
    for number, (name, put) in enumerate(chosen):
        for turn in range(several):
            world.renew()
            put(world.case)
            world.run(name, number + turn)


def test_no_link_pipe_or_device_in_a_case_leads_out_of_it(world: World) -> None:
    _try_placements(world, _some(list(placements(world.sound, world.outside))), 1)


@pytest.mark.slow
def test_no_link_pipe_or_device_anywhere_in_a_case_leads_out_of_it(world: World) -> None:
    _try_placements(world, list(placements(world.sound, world.outside)), 1)


def _try_manifests(world: World, *, each: bool, chosen: Callable[[list[Any]], list[Any]]) -> None:
    manifest = json.loads((world.sound / "case.json").read_text())
    manifest["files"] = [_record(world.root / "logs" / "c.log")]
    world.renew()
    for number, (_, changed) in enumerate(chosen(list(manifests(manifest, world.outside, each=each)))):
        (world.case / "case.json").write_text(sealed(changed))
        world.run(_, number)
        if number % 9 == 3:  # after an ingest
            world.renew()


def _record(file: Path) -> dict[str, Any]:
    from forensics.inventory.evidence import Evidence, Fingerprint, Place

    return Evidence("c.log", Place(str(file)), fingerprint=Fingerprint("0" * 24, "0" * 64, 10, 1)).as_record()


def test_no_word_of_a_manifest_leads_out_of_the_case(world: World) -> None:
    _try_manifests(world, each=False, chosen=_some)


@pytest.mark.slow
def test_no_word_of_any_manifest_leads_out_of_the_case(world: World) -> None:
    _try_manifests(world, each=False, chosen=lambda found: found)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"a":' * 200_000,
        "{}",
        "[]",
        "1",
        "",
        "\ufeff{}",
        '{"format": 3, "contents": NaN}',
        '{"format": 3, "x": "\\ud800"}',
        "9" * 10_000,
    ],
)
def test_a_manifest_of_any_form_is_refused_with_words(tmp_path: Path, text: str) -> None:
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "case.json").write_text(text)
    with in_time():
        assert isinstance(run("report", "--case", tmp_path / "case").exception, CaseError)


def test_a_manifest_that_never_ends_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "case").mkdir()
    monkeypatch.setattr(case_folder, "_MAX_MANIFEST", 1000)
    (tmp_path / "case" / "case.json").write_text("[" + "1," * 1000 + "1]")
    with pytest.raises(CaseError, match="cannot be read"):
        case_folder.open_case(tmp_path / "case")


def test_the_lock_of_a_case_is_no_second_name_of_the_readers_file(world: World) -> None:
    """A command that takes a lock empties its file."""
    world.renew()
    (world.case / ".lock").unlink(missing_ok=True)
    os.link(world.outside / ".bashrc", world.case / ".lock")
    before = state(world.outside)  # its number of names is another now, its inode the same
    with pytest.raises(CaseError, match="unexpected entry"), case_folder.writing(world.case):
        pass
    assert state(world.outside) == before


def test_what_is_the_users_own_in_a_case_folder_stays(tmp_path: Path) -> None:
    """Only what bears a name that this program gives is taken away."""
    case = written(tmp_path / "case").root
    notes = [case / "notes.txt", case / "tables" / "mine" / "a.txt", case / "views" / "mine.txt", case / "tables" / "event_row" / "notes" / "a.txt"]
    for note in notes:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text("mine")
    left = case / "tables" / "event_row" / "segment-777"
    left.mkdir()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "c.log").write_text(LINE)
    assert run("ingest", tmp_path / "logs", "--case", case, "--no-views", "--jobs", 1).exit_code == 0
    assert [note.read_text() for note in notes] == ["mine"] * 4
    assert not left.exists()


# --- the evidence


@pytest.fixture
def ingested(tmp_path: Path) -> Path:
    (tmp_path / "logs" / "c1").mkdir(parents=True)
    (tmp_path / "logs" / "c1" / "c.log").write_text(LINE * 2)
    assert run("ingest", tmp_path / "logs", "--case", tmp_path / "case", "--no-views", "--jobs", 1).exit_code == 0
    return tmp_path / "case"


def _event(case: Path) -> str:
    return pq.read_table(case_folder.open_case(case).table_paths("event_row")[0]).column("event_id")[0].as_py()


def _relocate(case: Path, location: str) -> None:
    """Make the case claim that its log was somewhere else, with all hashes adjusted."""
    opened = case_folder.open_case(case)
    (part,) = Path(opened.table_paths("evidence_file")[0]).glob("*.parquet")
    table = pq.read_table(part)
    column = table.schema.get_field_index("location")
    pq.write_table(table.set_column(column, table.schema.field(column), [[location] * table.num_rows]), part)
    manifest = json.loads((case / "case.json").read_text())
    del manifest["seal"]  # the reader's: a stranger has none
    for file in manifest["files"]:
        file["location"] = location
    manifest["contents"] |= integrity.record(case, [part])
    (case / "case.json").write_text(sealed(manifest))


def test_the_readers_own_case_shows_its_lines_also_after_a_move(ingested: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(ingested, moved)
    for case in (ingested, moved):
        assert "(Re-)joining group" in run("show", _event(case), "--case", case).stdout
        assert "1 file of logs: 1 unchanged" in run("verify", case).stdout


@pytest.mark.parametrize(
    "location", ["/dev/zero", "/dev/stdin", "FIFO", "s3://attacker-bucket/x", "/proc/kmsg", "LINK", "/etc/passwd", "FOLDER", "..", ""]
)
def test_a_place_that_only_a_case_names_is_not_opened(ingested: Path, tmp_path: Path, location: str, no_network: None) -> None:
    event = _event(ingested)
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/dev/zero")
    _relocate(ingested, {"FIFO": str(tmp_path / "fifo"), "LINK": str(tmp_path / "link"), "FOLDER": str(tmp_path)}.get(location, location))
    more = tmp_path / "more"
    more.mkdir()
    (more / "d.log").write_text(LINE)
    with in_time():
        for evidence in ((), ("--evidence", tmp_path / "logs" / "none"), ("--evidence", more)):
            checked = run("verify", ingested, *evidence)
            assert checked.exit_code == 0, checked.output
            assert "1 not opened" in checked.stdout
            shown = run("show", event, "--case", ingested, *evidence)
            assert shown.exit_code == 0
            assert "was not opened" in " ".join(shown.stdout.split())
        # An ingest looks whether a new log is the beginning of one that the case has.
        assert run("ingest", more, "--case", ingested, "--no-views", "--jobs", 1).exit_code == 0
        assert "1 unchanged, 1 not opened" in run("verify", ingested).stdout, "an ingest makes no place of the sender's the reader's own"


def test_evidence_is_read_where_the_user_says_it_is(ingested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody sent a case with its logs: they are found by the last parts of their place, and by no link that leads out."""
    monkeypatch.setattr(seals, "_key", lambda folder: b"another user's key, 32 bytes long")
    event = _event(ingested)
    assert "1 not opened" in run("verify", ingested).stdout
    (tmp_path / "logs").rename(tmp_path / "sent")
    here = ("--evidence", tmp_path / "sent")
    assert "1 unchanged" in run("verify", ingested, *here).stdout
    assert "(Re-)joining group" in run("show", event, "--case", ingested, *here).stdout
    assert "1 unchanged" in run("verify", ingested, "--evidence", tmp_path / "sent" / "c1" / "c.log").stdout
    (tmp_path / "sent" / "c1").rename(tmp_path / "away")
    (tmp_path / "sent" / "c1").symlink_to(tmp_path / "away")
    assert "1 not opened" in run("verify", ingested, *here).stdout


# --- what a case may not do while others use it


def test_rows_that_vanish_after_the_check_are_no_empty_view(ingested: Path, tmp_path: Path) -> None:
    case = written(tmp_path / "made").root
    opened = case_folder.open_case(case)
    folder = opened.view_path("finding")
    assert folder is not None
    (folder / "part-0.parquet").unlink()
    with pytest.raises(CaseError, match="are missing"):
        integrity.rows_in(folder)


def test_a_name_of_a_column_is_no_sql(tmp_path: Path) -> None:
    import pyarrow as pa

    from forensics.case import open_sql

    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"x` FROM a; DROP TABLE b; --": [1]}), tmp_path / "t" / "p.parquet")
    assert "`x`` FROM a; DROP TABLE b; --`" in open_sql._table("range_row", [str(tmp_path / "t")])


# --- output


def test_a_report_in_any_encoding_is_printed(sound: Path) -> None:
    """`PYTHONIOENCODING=latin-1` printed nothing, and exited with 4."""
    for encoding in ("latin-1", "ascii", "cp1252:strict"):
        env = os.environ | {"PYTHONIOENCODING": encoding}
        done = subprocess.run(
            [sys.executable, "-m", "forensics", "report", "--full", "--case", str(sound)], capture_output=True, env=env, check=False
        )
        assert (done.returncode, b"SPLIT BRAIN" in done.stdout, b"error" in done.stderr) == (0, True, False)


@pytest.mark.parametrize(
    "command",
    [
        ("report", "--format", "json", "-o", "OUT"),
        ("report", "-o", "OUT.md"),
        ("export", "--to", "timesketch", "-o", "OUT"),
        ("export", "--to", "perfetto", "-o", "OUT"),
    ],
)
@pytest.mark.parametrize("is_there", [True, False])
def test_a_full_disk_leaves_no_half_file(sound: Path, tmp_path: Path, command: tuple[str, ...], is_there: bool) -> None:
    out = tmp_path / ("out.md" if "OUT.md" in command else "out.json")
    if is_there:
        out.write_text("before")
    told = [str(out) if part.startswith("OUT") else part for part in command]
    most = f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); from forensics.cli import main; sys.argv = {['forensics', *told, '--case', str(sound)]}; main()"
    # -B: Python keeps the half of a compiled module that fits.
    done = subprocess.run([sys.executable, "-B", "-c", most], capture_output=True, text=True, check=False)
    assert done.returncode in (2, 4), done.stderr
    assert "cannot be written" in done.stderr
    assert [(f.name, f.read_text()) for f in tmp_path.iterdir()] == ([(out.name, "before")] if is_there else [])


def test_output_goes_through_a_link_and_into_a_pipe(sound: Path, tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("before")
    (tmp_path / "real.json").chmod(0o600)
    (tmp_path / "link.json").symlink_to("real.json")
    assert run("report", "--case", sound, "-o", tmp_path / "link.json").exit_code == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["brief"]
    assert (tmp_path / "real.json").stat().st_mode & 0o777 == 0o600
    assert sorted(f.name for f in tmp_path.iterdir()) == ["link.json", "real.json"]
    assert run("report", "--case", sound, "--format", "json", "-o", "/dev/null").exit_code == 0


def _states(sound: Path, case: Path, table: str, make: Callable[[Path], None]) -> Path:
    """Copy a case with another file in a table, and a manifest that fits it but for the hash."""
    shutil.copytree(sound, case)
    manifest = json.loads((case / "case.json").read_text())
    name = next(path for path in manifest["contents"] if path.endswith(".parquet") and f"/{table}/" in path)
    make(case / name)
    manifest["contents"][name] |= {"bytes": (case / name).stat().st_size, "rows": 60_000_000}
    (case / "case.json").write_text(sealed(manifest))
    return case


def _holes(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(200 << 30)


def _many_rows(path: Path) -> None:
    import pyarrow as pa

    column = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), 6_000_000), ["x" * 100])
    pq.write_table(pa.table({"a": column}), path, compression="zstd")


def _wide(path: Path) -> None:
    import pyarrow as pa

    column = pa.nulls(50_000, pa.string())
    pq.write_table(pa.table([column] * 1_001, [f"c{n}" for n in range(1_001)]), path, compression="zstd")


def _long_lists(path: Path) -> None:
    import pyarrow as pa

    lists = pa.ListArray.from_arrays([0, 51_000_000], pa.repeat(pa.scalar(0, pa.int8()), 51_000_000))
    pq.write_table(pa.table({"a": lists}), path, compression="zstd")


def _one_long_text(path: Path) -> None:
    import pyarrow as pa

    column = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), 20_000), ["x" * 1_000_000])
    pq.write_table(pa.table({"a": column}), path, compression="zstd", dictionary_pagesize_limit=4 << 20)


def _one_long_text_in_lists(path: Path) -> None:
    import pyarrow as pa

    texts = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), 20_000), ["x" * 1_000_000])
    pq.write_table(pa.table({"a": pa.ListArray.from_arrays(list(range(20_001)), texts)}), path, compression="zstd", dictionary_pagesize_limit=4 << 20)


def _much_content(path: Path) -> None:
    import pyarrow as pa

    pq.write_table(pa.table({"a": ["x" * (100 << 20)] * 3}), path, compression="zstd", use_dictionary=False, write_statistics=False)


def _long_description(path: Path) -> None:
    path.write_bytes(b"PAR1" + b"\0" * 100 + (1 << 30).to_bytes(4, "little") + b"PAR1")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (_holes, "is mostly holes: it has 214,748,364,800 bytes"),
        (_many_rows, "has 6,000,000 rows in"),
        (_wide, "has 50,050,000 values in"),
        (_long_lists, "has 51,000,000 values in"),
        (_one_long_text, "has more than 1,073,741,824 bytes of text in"),
        (_one_long_text_in_lists, "has more than 1,073,741,824 bytes of text in"),
        (_much_content, "has 314,.* bytes of content in"),
        (_long_description, "has a description of 1,073,741,824 bytes"),
    ],
)
def test_sizes_that_a_case_states_are_checked_before_they_are_read(
    sound: Path, tmp_path: Path, monkeypatch, make: Callable[[Path], None], why: str
) -> None:
    case = _states(sound, tmp_path / "case", "ownership", make)
    hashed = integrity._sha256
    monkeypatch.setattr(integrity, "_sha256", lambda file: pytest.fail(f"{file} is read") if "/ownership/" in str(file) else hashed(file))
    with in_time(), pytest.raises(CaseError, match=why):
        case_folder.open_case(case)
