"""Distinguish a complete answer of Sail from one that its server broke off: if a task of a query's last stage panics, the answer just ends, without an error.

The server ends an answer with a mark (`result_complete`) only if the client could ask for the answer again, so each request asks for that. The server
then keeps what it sent, and continues a query whose client has gone, until the client releases it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

#: The server may forget responses that have arrived when they have this size, and the last ones unless they are small: a request takes longer.
_KEPT_BYTES, _SMALL_BYTES = 4 << 20, 16 << 10
BROKEN_OFF = "the engine broke off the query before its last row; its message is on standard error"


class WholeAnswers:
    """A stub of Spark Connect whose answers to queries and commands end with an error unless they are complete.

    Args:
        stub: the stub that it uses.
    """

    def __init__(self, stub: Any) -> None:  # noqa: ANN401  (gRPC has no types)
        self._stub = stub

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._stub, name)

    def ExecutePlan(self, request: Any, metadata: Any = None) -> Iterator[Any]:  # noqa: ANN401, N802  (PySpark's name)
        """Yield the responses to a request.

        Raises:
            SparkConnectGrpcException: the answer is not complete.
        """
        import grpc
        from pyspark.errors.exceptions.connect import SparkConnectGrpcException
        from pyspark.sql.connect import proto

        request.operation_id = str(uuid.uuid4())  # not that of an attempt before
        if not any(option.HasField("reattach_options") for option in request.request_options):
            request.request_options.append(proto.ExecutePlanRequest.RequestOption(reattach_options=proto.ReattachOptions(reattachable=True)))
        complete, last, kept, answer = False, None, 0, self._stub.ExecutePlan(request, metadata=metadata)
        try:
            for tries in (1, 0):
                try:
                    for response in answer:
                        last, kept = response.response_id, kept + len(response.arrow_batch.data)
                        complete = response.HasField("result_complete")
                        yield response
                        if kept > _KEPT_BYTES and not complete:
                            self._release(request, metadata, until=last)
                            kept = 1
                except grpc.RpcError as e:
                    broken = e.code() == grpc.StatusCode.UNAVAILABLE or "deserializing response" in str(e)
                    if last is None:
                        raise
                    if not (broken and last and tries):  # the client must not try again: it would get the first rows twice
                        raise SparkConnectGrpcException(f"{BROKEN_OFF} ({e})") from e
                if complete:
                    return
                if last and tries:
                    answer.cancel()
                    answer = self._again(request, metadata, last)
            raise SparkConnectGrpcException(BROKEN_OFF)
        finally:
            if not complete or kept > _SMALL_BYTES:
                answer.cancel()
                self._release(request, metadata)

    def _again(self, request: Any, metadata: Any, last: str) -> Any:  # noqa: ANN401
        """Ask for the responses after the last one that arrived: a message can be damaged on its way, and then the answer breaks off, too."""
        from pyspark.sql.connect import proto

        rest = proto.ReattachExecuteRequest(
            session_id=request.session_id, user_context=request.user_context, operation_id=request.operation_id, last_response_id=last
        )
        return self._stub.ReattachExecute(rest, metadata=metadata)

    def _release(self, request: Any, metadata: Any, until: str = "") -> None:  # noqa: ANN401
        """Let the server forget an answer, or its responses up to one, and end its query; do not wait for that."""
        from pyspark.sql.connect import proto

        released = proto.ReleaseExecuteRequest(session_id=request.session_id, user_context=request.user_context, operation_id=request.operation_id)
        if until:
            released.release_until.response_id = until
        else:
            released.release_all.SetInParent()
        with suppress(Exception):  # the server has ended
            self._stub.ReleaseExecute.future(released, metadata=metadata)
