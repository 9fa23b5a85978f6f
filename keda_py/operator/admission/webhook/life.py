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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keda_py.clock import SystemClock
from keda_py.errors import ConfigError
from keda_py.net.tls import TlsContexts
from keda_py.operator.admission.webhook.callers import Callers
from keda_py.operator.admission.webhook.forwarded_logs import forward_logs
from keda_py.operator.admission.webhook.idleness import Idleness
from keda_py.operator.admission.webhook.inquiries import Inquiries
from keda_py.operator.admission.webhook.judges import Judges
from keda_py.operator.admission.webhook.link import Link
from keda_py.operator.admission.webhook.orders import Orders, from_wire
from keda_py.operator.admission.webhook.reviews import Reviewer
from keda_py.operator.admission.webhook.server import WebhookServer
from keda_py.operator.process.loops import loop_factory
from keda_py.operator.process.memory import NEW_OBJECTS
from keda_py.sdk.building_context import context_to_build_in
from keda_py.sdk.context import SharedContext
from keda_py.sdk.registry import use_places
from keda_py.serving.server_tls import ServerTls
from keda_py.serving.serving_certificate import ServingCertificate

log = logging.getLogger(__name__)

ROOM_BYTES = 768 * 1024 * 1024
"""What reviews may take, over what the process has taken when it begins."""


def lent_to_scalers(orders: Orders) -> SharedContext:
    """Return what scalers are lent that are built as the operator builds them, and never opened."""
    tls = TlsContexts(orders.scaler_min_tls_version, orders.scaler_ciphers, orders.ca_dirs)
    return context_to_build_in(SystemClock(), tls)


async def serve(wire: socket.socket) -> None:
    """Until the operator says so or ends, or no client has come for long."""
    link = await Link.open(wire)
    begin = await link.next()
    if begin is None:
        return
    orders = from_wire(begin["begin"])
    forward_logs(link, orders.log_level)
    use_places(orders.scalers)
    tls = ServerTls(orders.min_tls_version, orders.ciphers)
    callers, inquiries = Callers(tls, orders.client_ca_file, orders.client_names), Inquiries(link)
    async with asyncio.TaskGroup() as tasks:
        reviewer = Reviewer(Judges(lent_to_scalers(orders), inquiries), orders.kinds, orders.namespaces)
        server = WebhookServer(reviewer, link.tell, callers.admits)
        idleness = Idleness(link.tell, lambda: server.port.connections, lambda: server.answered, orders.idle_seconds)
        server.port.on_first_client = idleness.wake
        obeying = tasks.create_task(_obey(link, Receivers(tls, inquiries, server, idleness)))
        following = tasks.create_task(callers.run())
        serving = tasks.create_task(_serve(server, orders, tls, idleness))
        await asyncio.wait((obeying, serving), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            link.tell({"done": True})
        for task in (obeying, serving, following):
            task.cancel()
        await server.port.aclose()
    await link.aclose()


async def _serve(server: WebhookServer, orders: Orders, tls: ServerTls, idleness: Idleness) -> None:
    """Once a certificate is there: the client that has had this process started must not be the one that fails."""
    must_show = bool(orders.client_ca_file)
    await tls.shown.wait()
    listeners = [socket.socket(fileno=number) for number in orders.listeners]
    await server.port.serve(listeners, tls.context(asks_clients=must_show, insists=must_show))
    while True:
        await idleness.run()
        if not server.port.connections:  # one that came while this task was about to run has been accepted
            server.port.stop_listening()  # the operator holds the sockets open; who connects now waits there
            return


@dataclass(frozen=True, slots=True)
class Receivers:
    """What messages of the operator are for."""

    tls: ServerTls
    inquiries: Inquiries
    server: WebhookServer
    idleness: Idleness


async def _obey(link: Link, to: Receivers) -> None:
    while (message := await link.next()) is not None:
        match message:
            case {"answer": _}:
                to.inquiries.settle(message)
            case {"certificate": shown}:
                _show(to.tls, shown)
            case {"leave": _}:
                to.server.port.leave()
            case {"ping": _}:
                to.idleness.wake()
            case {"stop": _}:
                return


def _show(tls: ServerTls, shown: Mapping[str, str]) -> None:
    try:
        tls.show(ServingCertificate(**{name: text.encode() for name, text in shown.items()}))
    except ConfigError as error:  # the operator has loaded it before us
        log.error("certificate is not usable", extra={"error": str(error)})


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
    gc.set_threshold(NEW_OBJECTS)  # a review leaves no cycles; what connections leave, `Idleness` collects
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(serve(wire))
    return 0
