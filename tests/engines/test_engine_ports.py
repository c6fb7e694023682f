"""Nobody else can ask an engine: Sail leaves no port open, and each of Spark's asks for a secret."""

from __future__ import annotations

import contextlib
import io
import ipaddress
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forensics.engines import engine, sail_server
from forensics.errors import ForensicsError

needs_sail = pytest.mark.skipif(find_spec("pysail") is None, reason="pysail is not installed")
on_linux = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="ports of processes are read from /proc")
NOBODY = 65534


def ports_of(pid: int) -> set[tuple[str, int]]:
    """Addresses and TCP ports that a process and its children listen on."""
    inodes = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                address, _, port = fields[1].partition(":")
                inodes[fields[9]] = address_of(address), int(port, 16)
    found = set()
    for process in [pid, *children_of(pid)]:
        for fd in Path(f"/proc/{process}/fd").iterdir():
            try:
                target = str(fd.readlink())
            except OSError:
                continue
            if target.startswith("socket:[") and target[8:-1] in inodes:
                found.add(inodes[target[8:-1]])
    return found


def address_of(printed: str) -> str:
    """Return an address from /proc, which prints the bytes of each 32-bit number in the machine's order."""
    words = [int(printed[n : n + 8], 16).to_bytes(4, sys.byteorder) for n in range(0, len(printed), 8)]
    found = ipaddress.ip_address(b"".join(words))
    return str(getattr(found, "ipv4_mapped", None) or found)


@pytest.mark.parametrize(
    ("printed", "address"), [("0100007F", "127.0.0.1"), ("00000000", "0.0.0.0"), ("0000000000000000FFFF00000100007F", "127.0.0.1")]
)  # noqa: S104
def test_addresses_are_read(printed: str, address: str):
    assert address_of(printed) == address or sys.byteorder == "big"


def test_a_port_on_every_address_is_seen():
    with socket.create_server(("", 0)) as server:
        assert ("0.0.0.0", server.getsockname()[1]) in ports_of(os.getpid())  # noqa: S104


def children_of(pid: int) -> list[int]:
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [pid]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found[1:]


ASKING = """
import sys, threading
from forensics.engines import engine, sail_server
ports = []
close = sail_server._close_behind
sail_server._close_behind = lambda ours, address: (ports.append(address[1]), close(ours, address))
sail = engine("sail", jobs=2)
sail.session
print(ports[0], flush=True)
asking = threading.Thread(target=lambda: [sail.collected(sail.query("SELECT count(*) AS n FROM range(1000000)")) for _ in range(5)])
asking.start()
sys.stdin.readline()
asking.join()
print(sail.collected(sail.query("SELECT 1 AS a"))[0].num_rows, flush=True)
"""


@needs_sail
@on_linux
@pytest.mark.engine
def test_nobody_can_connect_to_sail_while_it_runs():
    with subprocess.Popen([sys.executable, "-c", ASKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        port = int(process.stdout.readline())
        assert ports_of(process.pid) == set()
        knock = f"import socket; socket.create_connection(('127.0.0.1', {port}))"
        someone = {"user": NOBODY} if os.geteuid() == 0 else {}
        knocked = subprocess.run(["/usr/bin/env", "python3", "-c", knock], capture_output=True, text=True, check=False, cwd="/", **someone)
        said, _ = process.communicate("\n")
    assert "ConnectionRefusedError" in knocked.stderr
    assert said == "1\n"
    assert process.returncode == 0


def listening() -> tuple[socket.socket, list[socket.socket]]:
    """A server as Sail's: it accepts all, in a thread of its own, and does not wait within a call."""
    server = socket.create_server(("127.0.0.1", 0))
    server.setblocking(False)
    accepted: list[socket.socket] = []

    def accept() -> None:
        while True:
            time.sleep(0.005)
            with contextlib.suppress(OSError):
                accepted.append(server.accept()[0])

    threading.Thread(target=accept, daemon=True).start()
    return server, accepted


def test_the_port_closes_behind_one_connection():
    server, accepted = listening()
    ours = socket.create_connection(server.getsockname())
    address = server.getsockname()
    sail_server._close_behind(ours, address)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(address)
    ours.sendall(b"x")
    assert accepted[0].recv(1) == b"x"


def test_the_server_of_a_closed_port_waits():
    """On any other error it would accept again without waiting, and use a core for as long as it runs."""
    server, _ = listening()
    sail_server._close_behind(socket.create_connection(server.getsockname()), server.getsockname())
    with pytest.raises(BlockingIOError):
        server.accept()


def test_who_connected_before_it_closed_is_noticed():
    server, _ = listening()
    address = server.getsockname()
    code = f"import socket, sys; s = socket.create_connection({address!r}); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stranger:
        stranger.stdout.readline()
        with pytest.raises(ForensicsError, match="Another process connected"):
            sail_server._close_behind(socket.create_connection(address), address)


@needs_sail
def test_sail_does_not_start_where_its_port_would_stay_open(monkeypatch, tmp_path):
    monkeypatch.setattr(sail_server, "_FDS", tmp_path / "none")
    with pytest.raises(ForensicsError, match="cannot be closed") as e:
        sail_server.SailServer()
    assert "--engine spark" in e.value.fix
    assert sail_server.OPEN_PORT in e.value.fix


def answer(port: int, sent: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as asking:
        asking.settimeout(3)
        asking.sendall(sent)
        try:
            return asking.recv(1 << 16)
        except OSError:
            return b""


def worker_refuses(port: int) -> bool:
    """Return True if the other end names a process and then refuses a wrong secret, as PySpark's daemon and its worker do."""
    with socket.create_connection(("127.0.0.1", port)) as asking:
        asking.settimeout(3)
        asking.sendall(struct.pack(">I", 3) + b"bad")
        try:
            said = asking.makefile("rb").read()
        except OSError:
            return False
    return len(said) == 11 and said[4:] == struct.pack(">I", 3) + b"err"


@on_linux
@pytest.mark.spark
def test_each_port_of_spark_asks_for_a_secret(spark):
    """A request to the JVM's network library, one to py4j's gateway, and an update of an accumulator: none is answered.

    After Python code ran on executors, the process that forks Python workers has a port too: it names the new worker, which asks for a secret.
    """
    assert spark.sparkContext.parallelize([1, 2]).map(lambda n: n + 1).collect() == [2, 3]
    body = b"\x00\x00\x05hello" + bytes(20)
    message = struct.pack(">QBQI", 8 + 1 + 8 + 4 + len(body), 3, 77, len(body)) + body
    how = []
    assert {address for address, _ in ports_of(os.getpid())} == {"127.0.0.1"}
    for _, port in ports_of(os.getpid()):
        if b"Expected SaslMessage" in answer(port, message):
            how.append("SASL")
        elif b"uthentication" in answer(port, b"r\nu\njava.lang.System\ne\n"):
            how.append("py4j")
        elif worker_refuses(port):
            how.append("worker")
        elif answer(port, b"x" * 64) == b"":
            how.append("token")
        else:
            how.append("none")
    # Workers of earlier tests may still run.
    assert "worker" in how
    assert sorted(kind for kind in how if kind != "worker") == ["SASL", "SASL", "py4j", "token"]
    assert spark.conf.get("spark.authenticate") == "true"


# --- joins that waited for each other

#: Two joins to the same groups of a file, each of which lets the scans of its other side wait for what it has found.
WAITING = """
WITH f AS (SELECT p, life FROM line GROUP BY p, life),
  y AS (SELECT f.p, f.life, min(few.id) AS id FROM f JOIN few ON few.p = f.p GROUP BY f.p, f.life)
SELECT f.p, a.id FROM f LEFT JOIN y AS a ON a.p = f.p AND a.life = f.life LEFT JOIN y AS b ON b.p = f.p AND b.life = f.life WHERE f.life = 0
"""
HOW = {
    "a table of the case": "sail.table('line', [path], [])",
    "a path in a statement": "sail.sql(f'CREATE OR REPLACE TEMPORARY VIEW line AS SELECT * FROM parquet.`{path}`')",
    "a view that was kept": "f = sail.session.createDataFrame(rows); kept = Path(path + '.kept'); sail.keep_rows(f, kept); sail.know('line', kept, f.schema)",
}
JOINING = """
import sys
from pathlib import Path
import pyarrow as pa, pyarrow.parquet as pq
from forensics.engines import engine
path, rows = sys.argv[1], pa.table({{"p": ["w1"] * 3, "life": [0, 0, 1]}})
Path(path).mkdir()
pq.write_table(rows, path + "/part-0.parquet")
sail = engine("sail", jobs=2)
sail.session.createDataFrame(pa.table({{"p": ["w1"], "id": ["e5"]}})).createOrReplaceTempView("few")
{how}
print(sail.collected(sail.query({query!r}))[0].to_pylist())
"""


@needs_sail
@pytest.mark.engine
@pytest.mark.parametrize("how", HOW)
def test_joins_of_a_file_do_not_wait_for_each_other(how: str, tmp_path: Path):
    code = JOINING.format(how=HOW[how], query=WAITING)
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "line")], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "[{'p': 'w1', 'id': 'e5'}]\n", done.stderr


@needs_sail
@pytest.mark.engine
def test_conditions_of_a_query_still_reach_the_file(tmp_path: Path):
    """Else each query would read all row groups and all columns of a large case."""
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"], "c": ["x", "y"]}), tmp_path / "t" / "part-0.parquet")
    sail = engine("sail", jobs=2)
    sail.table("plan_t", [str(tmp_path / "t")], [])
    with contextlib.redirect_stdout(io.StringIO()) as said:
        sail.query("SELECT b FROM plan_t WHERE a = 1").explain()
    scan = next(line for line in said.getvalue().splitlines() if "file_groups" in line)
    assert "projection=[a, b]" in scan
    assert "a_min" in scan
