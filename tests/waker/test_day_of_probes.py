"""Twenty-four hours of health checks at a sleeping Service, in virtual time: none of them wakes it, and a client does.

Connections are those of the waker; their transports are of the test, so that a day costs a second.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from keda_py.clock import SystemClock
from keda_py.core.waking.http2 import SETTINGS
from keda_py.core.waking.rules import Ignored, WakeState
from keda_py.core.waking.sniffing import PREFACE
from keda_py.telemetry.waker_metrics import WakerMetrics
from keda_py.waker.connection import Connection
from keda_py.waker.limits import Limits
from keda_py.waker.seats import Seats
from keda_py.waker.service_port import ServicePort
from keda_py.waker.sleeping_service import SleepingService
from keda_py.waker.surroundings import Surroundings
from keda_py.waker.wake_calls import WakeCall
from tests.operator.jumping import JumpingLoop
from tests.waiting import eventually
from tests.waker.lab import rules

DAY_SECONDS, EVERY_SECONDS = 24 * 3600, 30
IGNORED = Ignored(paths=("/healthz",), user_agents=("kube-probe/*", "ELB-HealthChecker/*", "GoogleHC/*"))
HALF_A_HANDSHAKE = bytes.fromhex("16030102000100")


def get(path: str, agent: str, method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: web\r\nUser-Agent: {agent}\r\n\r\n".encode()


PROBES = {
    "kubelet": get("/", "kube-probe/1.36"),
    "application load balancer": get("/", "ELB-HealthChecker/2.0"),
    "google": get("/", "GoogleHC/1.0"),
    "ignored path": get("/healthz?full=1", "curl/8.5.0"),
    "HEAD for an ignored path": get("/healthz", "Uptime/1.0", "HEAD"),
    "TCP check, which sends nothing": b"",
    "half a handshake": HALF_A_HANDSHAKE,
    "half a head": b"GET / HTTP/1.1\r\nHost:",
    "HTTP/2 without a request": PREFACE + SETTINGS,
}


class Wire(asyncio.Transport):
    """The other end of a connection."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection
        self.written = b""
        self.ended = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("10.0.0.7", 40000) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Keep nothing back."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        """The answer is whole: a client closes the connection then."""

    def is_closing(self) -> bool:
        return self.ended

    def pause_reading(self) -> None:
        """Nothing comes that was not sent by the test."""

    def resume_reading(self) -> None:
        """Nothing comes that was not sent by the test."""

    def abort(self) -> None:
        self.close()

    def close(self) -> None:
        if not self.ended:
            self.ended = True
            self._connection.connection_lost(None)

    def send(self, data: bytes) -> None:
        """Send bytes as a client."""
        if data:
            self._connection.get_buffer(-1)[: len(data)] = data
            self._connection.buffer_updated(len(data))

    def leave(self) -> None:
        """End the connection as a client does."""
        if not self.ended and not self._connection.eof_received():
            self.close()


@dataclass
class Calls:
    """The operator, which hears of a wake."""

    sent: list[WakeCall] = field(default_factory=list)

    async def send(self, call: WakeCall) -> str:
        self.sent.append(call)
        return "told"


@dataclass
class Night:
    """A Service that sleeps, with the ports that a test asks for."""

    calls: Calls
    service: SleepingService
    around: Surroundings
    loop: JumpingLoop

    def port(self, name: str = "") -> ServicePort:
        if name not in self.service.ports:
            self.service.ports[name] = ServicePort(self.service, name, "", self.around)
        return self.service.ports[name]

    def connect(self, name: str = "") -> Wire:
        connection = Connection(self.port(name), self.around.buffer)
        wire = Wire(connection)
        connection.connection_made(wire)
        return wire

    async def seconds(self, seconds: float) -> None:
        """Let time pass, and end what has waited for too long."""
        self.loop.ahead += seconds
        for port in self.service.ports.values():
            port.sweep(self.loop.time())
        await asyncio.sleep(0)


@asynccontextmanager
async def open_night() -> AsyncIterator[Night]:
    loop, calls = asyncio.get_running_loop(), Calls()
    assert isinstance(loop, JumpingLoop)
    async with asyncio.TaskGroup() as tasks:
        limits = Limits()
        around = Surroundings(
            limits=limits,
            seats=Seats(limits, limits.connections),
            metrics=WakerMetrics(),
            clock=SystemClock(),
            tasks=tasks,
            pod_name="waker-0",
        )
        service = SleepingService("shop", rules(ignored=IGNORED), around, calls)  # type: ignore[arg-type]  # only `send`
        yield Night(calls, service, around, loop)
        for port in service.ports.values():
            port.close()


def on_a_jumping_loop(scenario: Callable[[Night], Awaitable[None]]) -> None:
    async def run() -> None:
        async with open_night() as night:
            await scenario(night)

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        runner.run(run())


def test_a_day_of_health_checks_wakes_nothing() -> None:
    async def scenario(night: Night) -> None:
        asked = 0
        for _ in range(DAY_SECONDS // EVERY_SECONDS):
            wires = {name: night.connect() for name in PROBES}
            for name, wire in wires.items():
                wire.send(PROBES[name])
            await night.seconds(0.5)
            for wire in wires.values():
                asked += wire.written.startswith(b"HTTP/1.1 503 ")
                wire.leave()
            await night.seconds(EVERY_SECONDS - 0.5)
        assert night.calls.sent == []
        assert asked == 5 * DAY_SECONDS // EVERY_SECONDS
        assert len(night.around.seats) == 0
        night.connect().send(get("/", "curl/8.5.0"))
        await eventually(lambda: night.calls.sent)

    on_a_jumping_loop(scenario)


@pytest.mark.parametrize(("name", "wakes"), [("", True), ("mysql", True), ("http", False), ("grpc-api", False)])
def test_a_silent_connection_wakes_after_a_second_where_the_server_may_speak_first(name: str, wakes: bool) -> None:
    """A client of MySQL or SMTP waits for the server's greeting; one of HTTP has opened a connection in advance."""

    async def scenario(night: Night) -> None:
        night.connect(name)
        await night.seconds(0.9)
        assert night.calls.sent == []
        await night.seconds(0.2)
        for _ in range(20):
            await night.seconds(1)
        assert bool(night.calls.sent) is wakes
        assert len(night.around.seats) == wakes  # without a word it was ended after fifteen seconds

    on_a_jumping_loop(scenario)


def test_http2_wakes_by_its_first_request_however_its_bytes_come() -> None:
    headers = bytes((0, 0, 3, 1, 5, 0, 0, 0, 1)) + b"\x82\x86\x84"

    async def scenario(night: Night) -> None:
        wire = night.connect("grpc-api")
        for byte in PREFACE + SETTINGS + headers[:3]:
            wire.send(bytes([byte]))
        await night.seconds(5)
        assert night.calls.sent == []
        wire.send(headers[3:])
        await eventually(lambda: night.calls.sent)

    on_a_jumping_loop(scenario)


def test_requests_that_the_pods_have_answered_ask_for_no_wake_of_the_next_sleep() -> None:
    """The call that sums up the requests of a second would come up to a second after they were answered."""

    async def scenario(night: Night) -> None:
        first, second = night.connect(), night.connect()
        first.send(get("/", "curl/8.5.0"))
        await eventually(lambda: len(night.calls.sent) == 1)
        second.send(get("/", "curl/8.5.0"))
        for wire in (first, second):
            wire.leave()
        for state in (WakeState.FORWARDING, WakeState.ASLEEP):
            night.service.take_rules(rules(state=state))
        for _ in range(20):
            await night.seconds(1)
        assert len(night.calls.sent) == 1

    on_a_jumping_loop(scenario)
