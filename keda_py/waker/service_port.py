"""One port of a Service that sleeps: who waits at it, and the pods that may take them.

In: connections (`connection.py`), rules and doors (`directory.py`). Out: connections that a pod has, answers, and calls
for a wake (`sleeping_service.py`). `diallers.py` opens connections to pods and hands them over here.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from keda_py.core.values.object_key import ObjectKey
from keda_py.core.waking import answers
from keda_py.core.waking.answers import Course, course
from keda_py.core.waking.http2 import TRY_AGAIN
from keda_py.core.waking.page import confirm_page, progress_page
from keda_py.core.waking.rules import Page, WakeRules
from keda_py.core.waking.sniffing import H2Preface, HttpHead, Probe, Sniffed, TooLong, UnknownProtocol
from keda_py.serving.ports.listening import BACKLOG, listen
from keda_py.waker.connection import Connection, Phase
from keda_py.waker.diallers import Diallers, Door
from keda_py.waker.seats import Place
from keda_py.waker.surroundings import Surroundings

log = logging.getLogger(__name__)

SETTLED_SECONDS = 0.05
"""While pods are ready, a connection that is silent for so long is passed on: the server may be the one that speaks."""
AGAIN_SECONDS = 0.1
"""Pause before a request is sent again whose pod accepted it and did not answer."""
LISTEN_AGAIN_SECONDS = 5.0
_HTTP = ("http", "https", "http2", "h2c", "grpc", "grpc-web")


class Service(Protocol):
    """The Service of a port, as the port needs it (`sleeping_service.py`)."""

    key: ObjectKey
    uid: str
    is_gone: bool

    @property
    def rules(self) -> WakeRules: ...

    def ring(self, client: str, agent: str, port: str) -> None: ...

    def note_waiting(self) -> None: ...


class ServicePort:
    """Connections to one port of a Service."""

    def __init__(self, service: Service, name: str, app_protocol: str, around: Surroundings) -> None:
        self.service, self.name, self.app_protocol = service, name, app_protocol
        self._around, self._limits = around, around.limits
        self._sniffing: dict[Connection, None] = {}
        self._waiting: dict[Connection, None] = {}
        self._ending: dict[Connection, None] = {}
        self._open: set[Connection] = set()
        self._diallers = Diallers(around, self)
        self.tried = asyncio.Event()
        """Set once it listens, or could not."""

    # Listening

    async def serve(self, port: int) -> None:
        """Accept connections on a port until cancelled; those that are open go on."""
        servers = await self._listen(port)
        self.tried.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.tried.clear()
            for server in servers:
                server.close()

    async def _listen(self, port: int) -> list[asyncio.Server]:
        loop, warned = asyncio.get_running_loop(), False
        while True:
            try:
                sockets = await listen(self._around.host, port)
            except OSError as error:
                if not warned:
                    log.warning(
                        "port is in use, not listening", extra={**self.service.key.log_fields, "error": str(error)}
                    )
                warned = True
                self.tried.set()  # the operator's probe finds out; the other ports must not wait for this one
                await asyncio.sleep(LISTEN_AGAIN_SECONDS)
                continue
            return [await loop.create_server(self._connect, sock=one, backlog=BACKLOG) for one in sockets]

    def _connect(self) -> Connection:
        return Connection(self, self._around.buffer)

    @property
    def speaks_first(self) -> bool:
        """Return whether the server may be the one that speaks first, as far as the Service says."""
        named = self.app_protocol.lower().removeprefix("kubernetes.io/")
        known = named or self.name.lower().partition("-")[0]
        return known not in (*_HTTP, "ws", "wss")

    # Connections

    @property
    def waiting(self) -> int:
        """Return how many connections wait for a pod."""
        return len(self._waiting)

    @property
    def connections(self) -> int:
        """Return how many connections there are, our last answers not counted."""
        return len(self._sniffing) + len(self._waiting) + len(self._open)

    def admit(self, connection: Connection) -> None:
        """Give a new connection its place, or refuse it."""
        loop = asyncio.get_running_loop()
        connection.since = loop.time()
        drop = partial(self.refuse, connection, "crowded")
        place = Place(self.service.key.namespace, connection.address, connection.since, drop)
        if not self._around.seats.take(place):
            self._around.metrics.record_refused(self.service.key, "full")
            connection.phase = Phase.CLOSED
            connection.abort()
            return
        connection.place = place
        self._sniffing[connection] = None
        self._around.begin(self)
        if self._diallers.doors and self.speaks_first:
            loop.call_later(SETTLED_SECONDS, self._assume_silent, connection)

    def _assume_silent(self, connection: Connection) -> None:
        if connection.phase is Phase.SNIFFING and not connection.heard:
            connection.assume(UnknownProtocol())

    def found(self, connection: Connection, sniffed: Sniffed) -> None:
        """Decide what becomes of a connection, now that it is known what it speaks."""
        match sniffed:
            case Probe(uid):
                self._answer_probe(connection, uid)
            case TooLong():
                self._around.metrics.record_refused(self.service.key, "head")
                self._finish(connection, answers.plain(431, "the head of the request is too long"), "refused")
            case HttpHead() if not self._diallers.doors or sniffed.path == answers.BUTTON_PATH:
                self._follow(connection, sniffed)
            case _:
                if connection not in self._waiting:  # else it was silent so far, and waits already
                    self._wait(connection)
                if not self._diallers.doors:
                    connection.greet()
                self.wake_by(connection)

    def wake_by(self, connection: Connection) -> None:
        """Ask for a wake because of a connection that is not HTTP/1, or is silent."""
        if not self._diallers.doors and not isinstance(connection.sniffed, HttpHead) and self._may_wake(connection):
            self.service.ring(connection.address, _agent_of(connection), self.name)

    def _may_wake(self, connection: Connection) -> bool:
        """Return whether a connection that is not HTTP/1 asks for something, or waits for the server to speak first.

        Where a person has to confirm, connections that browsers open in advance must not do it for them.
        """
        if connection.heard:
            return connection.asks
        return self.service.rules.page is not Page.CONFIRM

    def _answer_probe(self, connection: Connection, uid: str) -> None:
        answer = f"KEDA-PY-WAKER {self._around.pod_name}\r\n".encode() if uid == self.service.uid else b""
        self._finish(connection, answer, "probe")

    def _follow(self, connection: Connection, head: HttpHead) -> None:
        rules, now, body = self.service.rules, self._around.clock.now(), head.method != "HEAD"
        chosen = course(head, rules)
        if chosen in (Course.HOLD, Course.PAGE, Course.BUTTON):
            self.service.ring(connection.address, answers.agent_of(head), self.name)
            rules = self.service.rules
        match chosen:
            case Course.HOLD:
                self._wait(connection)
            case Course.PAGE:
                self._finish(connection, progress_page(rules, now), chosen)
            case Course.BUTTON:
                self._finish(connection, progress_page(rules, now, answers.return_target(head)), chosen)
            case Course.CONFIRM:
                self._finish(connection, confirm_page(rules, now, head.target), chosen)
            case Course.IGNORED:
                self._finish(connection, answers.ignored(rules, body=body), chosen)
            case Course.NOT_NOW:
                text = "asleep; only a person who opens the page in a browser and presses the button wakes it"
                self._finish(connection, answers.unavailable(rules, now, text, body=body), chosen)

    def _wait(self, connection: Connection) -> None:
        """Let a connection wait for a pod, which may be there already."""
        self._forget(connection)
        connection.phase, connection.since = Phase.WAITING, asyncio.get_running_loop().time()
        connection.asked = connection.since
        if connection.place is not None:
            connection.place.wait(connection.since)
        self._waiting[connection] = None
        self.service.note_waiting()
        self._diallers.dial()

    def wait_again(self, connection: Connection) -> None:
        """Let a connection wait once more, first of all, after a pod that accepted it did not answer."""
        self._open.discard(connection)
        connection.phase, connection.since = Phase.WAITING, connection.asked
        if connection.place is not None:
            connection.place.wait(connection.since)
        self._waiting = {connection: None, **self._waiting}
        self.service.note_waiting()
        if not self._diallers.doors:
            self.ring_again()
        asyncio.get_running_loop().call_later(AGAIN_SECONDS, self._diallers.dial)

    def next_waiting(self) -> Connection | None:
        """Return the connection that has waited longest."""
        return next(iter(self._waiting), None)

    def ring_again(self) -> None:
        """Ask for a wake though connections have been taken for pods that were said to be ready.

        The oldest one that may wake does. Probes that came before it are answered: they arrive all the time, also in
        the moment in which the last pod goes.
        """
        for connection in tuple(self._waiting):
            head = connection.sniffed
            if not isinstance(head, HttpHead):
                wakes = self._may_wake(connection)
            elif not (wakes := course(head, self.service.rules) is Course.HOLD):
                self._follow(connection, head)
            if wakes:
                self.service.ring(connection.address, _agent_of(connection), self.name)
                return

    def opened(self, connection: Connection) -> None:
        """Note that a pod has the connection."""
        self._forget(connection)
        now = asyncio.get_running_loop().time()
        self._around.metrics.held_seconds.labels("opened").observe(now - connection.since)
        self._around.metrics.record_outcome(self.service.key, "opened")
        connection.phase, connection.since = Phase.OPEN, now
        if connection.place is not None:
            connection.place.settle(now)
        self._open.add(connection)
        self.service.note_waiting()

    def _finish(self, connection: Connection, answer: bytes, outcome: str) -> None:
        """Send our own answer; the client has a moment to read it."""
        self._forget(connection)
        connection.phase, connection.since = Phase.ENDING, asyncio.get_running_loop().time()
        self._ending[connection] = None
        self._around.metrics.record_outcome(self.service.key, outcome)
        connection.answer(answer)
        self.service.note_waiting()

    def refuse(self, connection: Connection, reason: str) -> None:
        """End a connection for lack of room or time; a client of HTTP that waits is told when to come back."""
        self._around.metrics.record_refused(self.service.key, reason)
        waits_since = connection.since if connection.phase is Phase.WAITING else None
        self._release(connection)
        if waits_since is None:
            connection.abort()
            return
        waited = asyncio.get_running_loop().time() - waits_since
        self._around.metrics.held_seconds.labels("refused").observe(waited)
        if isinstance(connection.sniffed, HttpHead):
            body = connection.sniffed.method != "HEAD"
            text = _REASONS.get(reason, reason)
            connection.answer(answers.unavailable(self.service.rules, self._around.clock.now(), text, body=body))
        elif isinstance(connection.sniffed, H2Preface):
            connection.answer(TRY_AGAIN)
        connection.close()

    def leave(self, connection: Connection) -> None:
        """Free all that a connection has, which its client or pod has ended."""
        if connection.phase is Phase.WAITING:
            self._around.metrics.record_outcome(self.service.key, "gone")
        self._release(connection)

    def _release(self, connection: Connection) -> None:
        self._forget(connection)
        self._open.discard(connection)
        connection.phase = Phase.CLOSED
        if connection.place is not None:
            place, connection.place = connection.place, None
            self._around.seats.leave(place)
        self.service.note_waiting()

    def _forget(self, connection: Connection) -> None:
        for found in (self._sniffing, self._waiting, self._ending):
            found.pop(connection, None)

    # Bytes

    def room(self, kept: int) -> int:
        """Return how many more bytes may be kept of a connection."""
        shared = min(self._limits.connection_bytes - kept, self._around.seats.room(self.service.key.namespace))
        return max(shared, self._limits.first_bytes - kept)

    def keep(self, count: int) -> None:
        """Account for bytes that are kept, or with a negative count no longer."""
        self._around.seats.keep(self.service.key.namespace, count)

    def count_bytes(self, count: int) -> None:
        self._around.metrics.record_bytes(self.service.key, count)

    # Time

    def update(self, doors: Sequence[Door]) -> None:
        """Take the pods that are ready now. Without any, what waits for a pod waits for a wake."""
        self._diallers.update(doors)
        if not doors:
            self.ring_again()

    def ask_to_leave(self) -> None:
        """Ask clients to open their connections anew: the Service leads to its pods by now."""
        for connection in tuple(self._open):
            connection.ask_to_leave()

    def sweep(self, now: float) -> None:
        """End what has waited for too long, and take silent connections for a protocol in which the server begins."""
        self._sweep_sniffing(now)
        hold = min(self.service.rules.hold, self._limits.longest_hold)
        for connection in _older(self._waiting, now - hold):
            self.refuse(connection, "hold")
        for connection in _older(self._ending, now - self._limits.ending):
            connection.abort()
        if not self.connections and not self._ending:
            self._around.end(self)
            if self.service.is_gone:
                self._around.metrics.forget(self.service.key)

    def _sweep_sniffing(self, now: float) -> None:
        for connection in _older(self._sniffing, now - self._limits.silence):
            if not connection.heard and self.speaks_first:
                connection.assume(UnknownProtocol())
            elif now - (connection.heard or connection.since) >= self._limits.head:
                self.refuse(connection, "slow" if connection.heard else "silent")

    def close(self) -> None:
        """End every connection."""
        for connection in (*self._sniffing, *self._waiting, *self._ending, *self._open):
            with suppress(RuntimeError):  # the loop is closing
                connection.abort()


def _agent_of(connection: Connection) -> str:
    return answers.agent_of(connection.sniffed) if isinstance(connection.sniffed, HttpHead) else ""


_REASONS = {
    "hold": "it has not come up in the time that a request may wait",
    "crowded": "too many requests wait for it",
    "leaving": "this waker is being stopped; ask again",
}


def _older(connections: dict[Connection, None], than: float) -> list[Connection]:
    """Return the connections whose phase began before that; they are in this order."""
    found = []
    for connection in connections:
        if connection.since > than:
            break
        found.append(connection)
    return found
