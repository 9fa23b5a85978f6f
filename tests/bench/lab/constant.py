"""The client's ceiling: a server that answers every HTTPS request with the same bytes and does nothing else.

`python -m tests.bench.lab.constant FOLDER` writes `ca.pem` and `port` there. It speaks just enough HTTP/1.1 for keep-alive
GETs without a body, so that whatever limits a run against it is the client.
"""

import asyncio
import sys
from pathlib import Path
from typing import cast

from keda_py.clock import SystemClock
from keda_py.operator.process.loops import loop_factory
from keda_py.serving.certificates import make_certificate
from keda_py.serving.server_tls import ServerTls

_BODY = b'{"kind":"ExternalMetricValueList","items":[{"metricName":"s0-redis-q1","value":"7"}]}'
_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
    + str(len(_BODY)).encode()
    + b"\r\n\r\n"
    + _BODY
)


class _Constant(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class
        self._seen = b""

    def data_received(self, data: bytes) -> None:
        *whole, self._seen = (self._seen + data).split(b"\r\n\r\n")
        self._transport.write(_ANSWER * len(whole))


async def _serve(folder: Path) -> None:
    certificate = make_certificate(["127.0.0.1"], SystemClock().now())
    tls = ServerTls()
    tls.show(certificate)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Constant, "127.0.0.1", 0, ssl=tls.context(asks_clients=False))
    (folder / "ca.pem").write_bytes(certificate.ca)
    (folder / "port").write_text(str(server.sockets[0].getsockname()[1]))
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_serve(Path(sys.argv[1])))
