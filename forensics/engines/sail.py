"""Run Sail: PySpark's API over an engine in this process, without Java. It starts immediately and is limited to one machine."""

from __future__ import annotations

import atexit
import ctypes
import os
import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from forensics.engines import SAIL
from forensics.engines.base import Engine
from forensics.engines.paths import as_url
from forensics.engines.rows import ArrowRows, are_numbers
from forensics.engines.sail_answers import WholeAnswers
from forensics.engines.sail_server import SailServer
from forensics.engines.sail_sql import Variables, to_sail
from forensics.errors import ForensicsError
from forensics.extract.reading_processes import cores

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.connect.client.retries import RetryPolicy
    from pyspark.sql.types import StructType

#: Rows up to this size are sent to the server, which need not open a file for each query then: a tenth of the time of a small case's views.
_SENT_BYTES = 1 << 20
#: With fewer parts, the planner of Sail 0.7.2 refuses to merge sorted branches of a union.
_FEWEST_PARTS = 2
#: A column that no file has.
_ONE = "__one"
#: The path of a socket is not a host name. A connection closed for idleness could not be reopened.
_CHANNEL = [("grpc.default_authority", "localhost"), ("grpc.client_idle_timeout_ms", (1 << 31) - 1)]
_FOR_EVER = 10 * 365 * 24 * 3600
#: Position, in bytes, of what the parser did not expect in a statement.
_AT = re.compile(r" at (?P<place>[0-9]+):[0-9]+(?= expected )")
#: Larger than `struct sigaction` on any system.
_SIGACTION_BYTES = 1024
#: Signals that the server handles itself, and by which it ends.
_TAKEN = (signal.SIGINT, signal.SIGTERM)
_INSTALL = "`pip install '.[sail]'` in the clone installs matching versions."


class Sail(Engine):
    """A Spark Connect server in this process, and a session with it."""

    name: ClassVar[str] = SAIL
    _lock: ClassVar[threading.Lock] = threading.Lock()
    #: The session of this process, a function that ends it and its server, and the server.
    _running: ClassVar[tuple[SparkSession, Callable[[], None], SailServer] | None] = None

    def __init__(self, jobs: int | None = None) -> None:
        super().__init__(jobs)
        self._variables = Variables()

    def _start(self) -> SparkSession:
        with Sail._lock:
            if Sail._running is None:
                Sail._running = _served(self.jobs)
                atexit.register(self.stop)
            return Sail._running[0]

    def stop(self) -> None:
        with Sail._lock:
            if Sail._running is not None:
                Sail._running[1]()
            Sail._running = self._session = None

    def cut(self) -> None:
        if Sail._running is not None:
            Sail._running[2].cut()

    def sql(self, statement: str) -> DataFrame:
        if self._variables.take(statement):
            return self.query("SELECT 1 WHERE false")
        return self.session.sql(to_sail(statement, self._variables.texts()))

    def place_of(self, message: str, statement: str) -> tuple[str, int | None]:
        found = _AT.search(message)
        if found is None:
            return message, None
        sent = to_sail(statement, self._variables.texts())
        place = len(sent.encode()[: int(found["place"])].decode(errors="ignore"))
        same = len(sent) == len(statement) and sent[place : place + 1] == statement[place : place + 1]
        return message[: found.start()] + message[found.end() :], place if same else None

    def query(self, text: str) -> DataFrame:
        """Return a query; see `Engine.query`. `session.sql` would make the server parse it once more for a check: a tenth of a small view's time."""
        session = self.session  # before the client is imported, because starting the session suppresses one of its warnings
        from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
        from pyspark.sql.connect.plan import SQL

        return ConnectFrame(SQL(to_sail(text, self._variables.texts())), session)  # type: ignore[arg-type]

    def collected(self, frame: DataFrame) -> tuple[pa.Table, StructType]:
        """Return rows and types; see `Engine.collected`. The types come with the rows, because requesting them first would parse the query twice."""
        from pyspark.sql.pandas.types import to_arrow_schema

        query: Any = frame
        table, schema = query._to_table()  # noqa: SLF001
        if schema is None:
            return super().collected(frame)
        return table.cast(to_arrow_schema(schema, timezone="UTC")), schema

    def rows(self, frame: DataFrame) -> ArrowRows:
        def batches() -> Iterator[pa.RecordBatch]:
            import pyarrow as pa

            # As toLocalIterator does, without converting to rows.
            query: Any = frame
            client = query.sparkSession.client
            for part in client.to_table_as_iterator(query._plan.to_proto(client), {}):  # noqa: SLF001
                if isinstance(part, pa.Table):
                    yield from part.to_batches()

        return ArrowRows(frame.columns, are_numbers(frame.schema), batches)

    def begin_thread(self) -> None:
        """Do nothing: Sail needs no preparation."""

    def place(self, path: str) -> str:
        return as_url(path)

    def keep_rows(self, rows: DataFrame, path: Path) -> None:
        import pyarrow.parquet as pq
        from pyspark.sql.pandas.types import to_arrow_schema

        super().keep_rows(rows, path)
        if not path.exists():  # Sail writes neither files nor the folder if there are no rows.
            path.mkdir()
            pq.write_table(to_arrow_schema(rows.schema, timezone="UTC").empty_table(), path / "part-0.parquet")

    def from_files(self, rows: DataFrame) -> DataFrame:
        # A hash join makes the scans of its other side wait for its filter, and two such joins can wait for each other for ever (docs/engines.md).
        # No such filter passes through an expression that makes rows of lists; conditions and columns of the query itself do.
        return rows.selectExpr("*", f"explode(array(1)) AS {_ONE}").drop(_ONE)

    def know(self, name: str, path: Path, types: StructType, *, sent: bool = False) -> None:
        """Register rows; see `Engine.know`. Types come from the files: Sail reads lists as nullable."""
        import pyarrow.parquet as pq

        del sent
        table = None if sum(file.stat().st_size for file in path.iterdir()) > _SENT_BYTES else pq.read_table(path)
        if table is None or table.nbytes > _SENT_BYTES:
            rows = self.from_files(self.session.read.parquet(self.place(str(path))))
        else:  # Arrow cannot make a frame without rows
            rows = self.session.createDataFrame(*((table,) if table.num_rows else ([], types)))
        rows.createOrReplaceTempView(name)


def _served(jobs: int | None) -> tuple[SparkSession, Callable[[], None], SailServer]:
    """Return a session with a server of its own, a function that ends both, and the server.

    Raises:
        ForensicsError: a package is missing, or its version does not match the others.
    """
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]", UserWarning)  # the error contains it too
    # These are read when the server is loaded.
    os.environ.setdefault("RUST_LOG", "error")
    # The planner uses statistics to estimate how many rows a condition leaves, and fails if rounding makes that more than all.
    os.environ["SAIL_EXECUTION__COLLECT_STATISTICS"] = "false"
    os.environ["SAIL_EXECUTION__DEFAULT_PARALLELISM"] = str(max(jobs or cores(), _FEWEST_PARTS))
    # By default a session and its views expire after 15 minutes without a request; here a user may take longer to read, and there is no other client.
    os.environ["SAIL_SPARK__SESSION_TIMEOUT_SECS"] = str(_FOR_EVER)
    try:
        import pysail.spark  # noqa: F401 - whether it is there
    except ImportError as e:
        raise ForensicsError("The engine `sail` is not installed.", why=str(e), where="--engine", fix=_INSTALL) from e
    try:
        import pyspark.sql.connect.session
    except ImportError as e:  # PySpark imports pandas and gRPC only here
        raise ForensicsError("The engine `sail` needs all of PySpark's Connect client.", why=str(e), where="--engine", fix=_INSTALL) from e
    if any(signal.getsignal(number) is signal.SIG_IGN for number in _TAKEN):
        # An ignored signal would end the server that has just taken it. Only the first server in a process takes signals, so the first is a dummy.
        with _own_signals():
            _answering()[1]()
    with _own_signals():
        session, stop, refused, server = _answering()
    if refused is not None:
        stop()
        why = f"{str(refused).splitlines()[0]} (PySpark {pyspark.__version__})"
        raise ForensicsError("The engine `sail` does not start.", why=why, where="--engine", fix=_INSTALL) from refused
    return session, stop, server


def _answering() -> tuple[SparkSession, Callable[[], None], PySparkException | None, SailServer]:
    """Return a session with a server that has answered, a function that ends both, the answer if it was an error, and the server."""
    import grpc
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.client.core import DefaultChannelBuilder
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    server = SailServer()

    class Channel(DefaultChannelBuilder):
        def toChannel(self) -> grpc.Channel:  # noqa: N802  (PySpark's name)
            return self._insecure_channel(server.target)

    session = ConnectSession.builder.channelBuilder(Channel("sc://localhost", _CHANNEL)).create()
    # Answers need not survive a lost connection, because the server ends with it.
    session.client.disable_reattachable_execute()
    session.client._stub = WholeAnswers(session.client._stub)  # type: ignore[assignment]  # noqa: SLF001
    session.client.set_retry_policies([_seldom(), _again_when_garbled()])

    def stop() -> None:
        # The order matters: a server waits for its clients, and the process for the server.
        session.stop()
        server.stop()

    refused = None
    try:
        session.conf.set("spark.sql.session.timeZone", "UTC")
    except PySparkException as e:
        refused = e
    return session, stop, refused, server  # type: ignore[return-value]


@contextmanager
def _own_signals() -> Iterator[None]:
    """Restore this process's handling of SIGINT and SIGTERM.

    The starting server takes over both signals and ends by them, even if this process ignores them, as a script's background job does. It takes them
    over before it answers. In Python only the main thread may set signal handlers, and engines start in another thread.
    """
    if os.name == "nt":
        yield
        return
    take = ctypes.CDLL(None).sigaction
    kept = {number: ctypes.create_string_buffer(_SIGACTION_BYTES) for number in _TAKEN}
    for number, action in kept.items():
        take(number, None, action)
    try:
        yield
    finally:
        for number, action in kept.items():
            take(number, action, None)


def _seldom() -> RetryPolicy:
    """Return a policy of a few retries within a second. A server in this process that does not answer then has ended; the default is ten minutes."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    return DefaultPolicy(max_retries=4, initial_backoff=20, max_backoff=400, max_server_retry_delay=400)


def _again_when_garbled() -> RetryPolicy:
    """Return a policy of one retry if gRPC could not read a response, which happened once in thousands of queries, after hundreds in that session."""
    import grpc
    from pyspark.sql.connect.client import retries

    class AgainWhenGarbled(retries.RetryPolicy):
        def __init__(self) -> None:
            super().__init__(max_retries=2, initial_backoff=100, max_backoff=1000, backoff_multiplier=2.0, jitter=0, min_jitter_threshold=0)

        def can_retry(self, exception: BaseException) -> bool:
            return isinstance(exception, grpc.RpcError) and "deserializing response" in str(exception)

    return AgainWhenGarbled()
