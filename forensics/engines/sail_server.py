"""Run Sail's server in this process so that no other process can reach it.

It can only listen on a TCP port, and obeys every client: any user of the machine could make it read this user's files. Therefore the port is closed
as soon as the one necessary connection has been accepted. PySpark's client reaches that connection through a Unix socket in a private folder.
"""

from __future__ import annotations

import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from forensics.errors import ForensicsError
from forensics.scratch import PrivateFolder

if TYPE_CHECKING:
    from pysail.spark import SparkConnectServer

#: If set to 1, Sail runs even where its port cannot be closed.
OPEN_PORT = "FORENSICS_SAIL_OPEN_PORT"
_FDS = Path("/dev/fd")
#: A server that has not accepted a connection after this many seconds never will.
_ACCEPT_SECONDS = 30.0
_LOOK_SECONDS = 0.0005
#: Maximum length of a Unix socket's path that works on every system.
_LONGEST_PATH = 100
_NAME = "sail"
_PIECE = 1 << 18


class SailServer:
    """A running server, and how to reach it.

    Attributes:
        target: the target for a gRPC channel.
    """

    def __init__(self) -> None:
        """Start it.

        Raises:
            ForensicsError: its port cannot be closed, or another process connected to it first.
        """
        from pysail.spark import SparkConnectServer

        may_stay_open = os.environ.get(OPEN_PORT) == "1"
        if not may_stay_open and not (hasattr(socket, "AF_UNIX") and _FDS.is_dir()):
            raise _open_port(f"this system has no {_FDS}, or no Unix sockets")
        self._server: SparkConnectServer = SparkConnectServer("127.0.0.1", 0)
        self._ends: list[socket.socket] = []
        self._server.start(background=True)
        try:
            host, port = self._server.listening_address or ("", 0)
            self.target = f"{host}:{port}" if may_stay_open else self._closed((host, port))
        except BaseException:
            self.stop()
            raise

    def _closed(self, address: tuple[str, int]) -> str:
        """Close the port after one connection; return the target that leads to it."""
        ours = socket.create_connection(address)
        self._ends.append(ours)
        try:
            _close_behind(ours, address)
        except OSError as e:
            raise _open_port(e.strerror or str(e)) from e
        ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener, folder = _listener()
        self._ends.append(listener)
        threading.Thread(target=self._join, args=(listener, folder, ours), daemon=True).start()
        return f"unix:{folder.path / _NAME}"

    def _join(self, listener: socket.socket, folder: PrivateFolder, ours: socket.socket) -> None:
        """Accept the client's connection, remove the socket, and forward bytes."""
        try:
            listener.settimeout(_ACCEPT_SECONDS)
            with suppress(OSError):
                client, _ = listener.accept()
                self._ends.append(client)
                client.setblocking(True)
                for ends in ((client, ours), (ours, client)):
                    threading.Thread(target=_pass_on, args=ends, daemon=True).start()
        finally:
            with suppress(OSError):
                listener.close()
            folder.remove()

    def cut(self) -> None:
        """End the connection: pending calls raise an error."""
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        """End the server, which waits for its client to disconnect."""
        self.cut()
        self._server.stop()


def _listener() -> tuple[socket.socket, PrivateFolder]:
    """Return a Unix socket that listens at `_NAME` in a private folder of its own, and the folder."""
    folder = PrivateFolder()
    if len(os.fsencode(folder.path / _NAME)) > _LONGEST_PATH:
        folder.remove()
        folder = PrivateFolder(Path("/tmp"))  # noqa: S108
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(folder.path / _NAME))
    listener.listen(1)
    return listener, folder


def _close_behind(ours: socket.socket, address: tuple[str, int]) -> None:
    """Close the port of a server in this process, once it has accepted our connection.

    Raises:
        OSError: the port cannot be closed.
        ForensicsError: another process is connected.
    """
    mine = ours.getsockname()
    give_up = time.monotonic() + _ACCEPT_SECONDS
    while True:
        accepted = {peer for _, peer in _sockets(address) if peer is not None}
        if mine in accepted:
            break
        if time.monotonic() > give_up:
            raise OSError("the server accepts no connection")
        time.sleep(_LOOK_SECONDS)
    listening = [number for number, peer in _sockets(address) if peer is None]
    if not listening:
        raise OSError("its socket was not found")
    for number in listening:
        # The server keeps the descriptor number, but of a listener without a path. Accepting must return *try again later*, after which the server
        # waits indefinitely. After any other error it would retry in a loop, which uses one core all the time.
        unreachable, folder = _listener()
        folder.remove()
        with unreachable:
            unreachable.setblocking(False)
            os.dup2(unreachable.fileno(), number, inheritable=False)
    if strangers := {peer for _, peer in _sockets(address)} - {mine}:
        why = f"from {', '.join(f'{peer[0]}:{peer[1]}' for peer in strangers if peer)}"
        raise ForensicsError(
            "Another process connected to Sail's port while Sail started.", why=why, where="--engine", fix="Try again, or use --engine spark."
        )


def _sockets(address: tuple[str, int]) -> Iterator[tuple[int, tuple[str, int] | None]]:
    """Yield each socket of this process with this local address: its descriptor, and its peer (None for a listener)."""
    for entry in os.listdir(_FDS):  # noqa: PTH208
        number = int(entry)
        try:
            # A second descriptor of a file must not be opened and closed: that would release the file's locks.
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            with socket.socket(fileno=os.dup(number)) as same:
                if same.family != socket.AF_INET or same.getsockname() != address:
                    continue
                if same.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    yield number, None
                else:
                    yield number, same.getpeername()
        except OSError:
            continue  # it was closed in the meantime


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    """Forward bytes until one side ends."""
    piece = memoryview(bytearray(_PIECE))
    with suppress(OSError):
        while size := source.recv_into(piece):
            sink.sendall(piece[:size])
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _open_port(why: str) -> ForensicsError:
    fix = f"Use --engine spark; or set {OPEN_PORT}=1 on a machine without other users."
    return ForensicsError("The port of Sail's server cannot be closed to other users of this machine.", why=why, where="--engine", fix=fix)
