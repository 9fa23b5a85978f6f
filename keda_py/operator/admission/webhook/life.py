"""The life of the webhook process: begun with one end of a pair of sockets, and ended with the other.

It has no client of the API server and asks no source: what it needs to know it asks the operator. Its memory is
bounded from the moment on that everything is imported.
"""

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from keda_py.clock import SystemClock
from keda_py.errors import ConfigError, Unavailable
from keda_py.net.http import HttpClientSpec, http_client
from keda_py.net.operator_identity import IdentityRule
from keda_py.net.tls import TlsContexts
from keda_py.operator.admission.webhook.callers import Callers
from keda_py.operator.admission.webhook.forwarded_logs import forward_logs
from keda_py.operator.admission.webhook.inquiries import Inquiries
from keda_py.operator.admission.webhook.link import Link
from keda_py.operator.admission.webhook.orders import Orders, from_wire
from keda_py.operator.admission.webhook.reviews import Reviewer
from keda_py.operator.admission.webhook.server import WebhookServer
from keda_py.sdk.context import SharedContext, SharedResources
from keda_py.serving.certificates import ServingCertificate
from keda_py.serving.server_tls import ServerTls

log = logging.getLogger(__name__)

BEAT_SECONDS = 2.0
ROOM_BYTES = 768 * 1024 * 1024
"""What reviews may take, over what the process has taken when it begins."""


class NoCluster:
    """A `KubeReader` for scalers that are built and never asked."""

    async def pods(self, namespace: str, label_selector: str) -> Sequence[Mapping[str, Any]]:
        """Nothing is known here."""
        raise Unavailable("the webhook asks nothing of the cluster")

    async def get(self, resource: str, namespace: str, name: str) -> Mapping[str, Any]:
        """Nothing is known here."""
        raise Unavailable("the webhook asks nothing of the cluster")

    async def list(self, resource: str, namespace: str, label_selector: str = "") -> Sequence[Mapping[str, Any]]:
        """Nothing is known here."""
        raise Unavailable("the webhook asks nothing of the cluster")

    def changes(
        self, resource: str, namespace: str, *, name: str = "", label_selector: str = ""
    ) -> AsyncIterator[None]:
        """Nothing is known here."""
        raise Unavailable("the webhook asks nothing of the cluster")


@asynccontextmanager
async def _shared_context(orders: Orders) -> AsyncIterator[SharedContext]:
    """What scalers are lent that are only built."""
    clock, spec = SystemClock(), HttpClientSpec()
    tls = TlsContexts(orders.scaler_min_tls_version, orders.scaler_ciphers, orders.ca_dirs)
    async with http_client(spec, clock, tls) as http:
        yield SharedContext(
            clock=clock,
            http=http,
            http_timeout=spec.timeout,
            kube=NoCluster(),
            tls=tls,
            resources=SharedResources(),
            answers=spec.answers,
            connections=spec.connections,
            identities=IdentityRule(),
        )


async def serve(wire: socket.socket) -> None:
    """Until the operator says so, or ends."""
    link = await Link.open(wire)
    begin = await link.next()
    if begin is None:
        return
    orders = from_wire(begin["begin"])
    forward_logs(link, orders.log_level)
    tls = ServerTls(orders.min_tls_version, orders.ciphers)
    callers, inquiries = Callers(tls, orders.client_ca_file, orders.client_names), Inquiries(link)
    async with _shared_context(orders) as shared_context, asyncio.TaskGroup() as tasks:
        reviewer = Reviewer(shared_context, orders.namespaces, inquiries)
        server = WebhookServer(reviewer, link.tell, callers.admits)
        listeners = [socket.socket(fileno=number) for number in orders.listeners]
        await server.port.serve(listeners, tls.context(asks_clients=callers.must_show, insists=callers.must_show))
        background = [tasks.create_task(callers.run()), tasks.create_task(_beat(link))]
        await _obey(link, tls, inquiries, server)
        await server.port.aclose()
        for task in background:
            task.cancel()
    await link.aclose()


async def _obey(link: Link, tls: ServerTls, inquiries: Inquiries, server: WebhookServer) -> None:
    while (message := await link.next()) is not None:
        match message:
            case {"answer": _}:
                inquiries.settle(message)
            case {"certificate": shown}:
                _show(tls, shown)
            case {"leave": _}:
                server.port.leave()
            case {"stop": _}:
                return


def _show(tls: ServerTls, shown: Mapping[str, str]) -> None:
    try:
        tls.show(ServingCertificate(**{name: text.encode() for name, text in shown.items()}))
    except ConfigError as error:  # the operator has loaded it before us
        log.error("certificate is not usable", extra={"error": str(error)})


async def _beat(link: Link) -> None:
    """The operator kills a process whose loop hangs.

    What connections and reviews leave in circles goes at once, which costs microseconds: the rest is frozen. A process
    that is idle after a flood would look for garbage only when it works again, and hold 140 MiB until then.
    """
    while True:
        link.tell({"beat": True})
        await asyncio.sleep(BEAT_SECONDS)
        gc.collect()


def _bound_memory() -> None:
    if sys.platform != "linux":
        return
    import resource  # not on Windows

    with open("/proc/self/statm", encoding="ascii") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = taken + ROOM_BYTES
    if hard == resource.RLIM_INFINITY or wanted < hard:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def main(arguments: Sequence[str]) -> int:
    """`arguments`: the descriptor of our end of the pair."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the operator ends us, when it has ended itself
        signal.signal(number, signal.SIG_IGN)
    wire = socket.socket(fileno=int(arguments[0]))
    _bound_memory()
    gc.freeze()
    asyncio.run(serve(wire))
    return 0
