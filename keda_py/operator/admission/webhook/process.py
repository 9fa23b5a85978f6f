"""The operator's hold on its webhook process: starts it, starts it again when it ends, kills it when it hangs.

The listening sockets stay open here: while there is no process, a client that connects waits. A process is started by a
client: an installation whose webhook is not called does without its memory, and a process that has had no client for
long ends by itself (`idleness.py`).

Why not by fork from the operator: this was measured with 100 objects on Python 3.11 and 3.12. The operator took 75 MB
PSS alone; with a process forked from it before its event loop began, 130 MB, since half of the shared pages part ways
once both sides count references in them; with a parent that waits to fork again, 142 to 150 MB, 32 of them also where
no client ever comes. A process of its own takes 24 MB once it has given back what its imports leave, and 0 while no
client comes.
"""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from zoneinfo import TZPATH

from keda_py.clock import SystemClock
from keda_py.kube.backoff import Backoff
from keda_py.operator.admission.webhook.link import Link, Message

log = logging.getLogger(__name__)

SILENCE_SECONDS = 20.0
"""A process that has clients, or may have one, and has not even beaten for so long hangs."""
HEALTHY_SECONDS = 60.0
MODULE = "keda_py.operator.admission.webhook"
_GIVE_BACK = {"MALLOC_MMAP_THRESHOLD_": str(128 * 1024)}
"""glibc raises this when a large block is freed, and keeps such blocks from then on: after a flood of connections the
buffers of each (256 KiB for TLS) stayed, 140 MiB. Other C libraries do not look at it."""
_ZONES = {"PYTHONTZPATH": os.pathsep.join(TZPATH)}
"""What zoneinfo would find by itself, for which it imports how Python was built, 0.2 MB."""


class WebhookProcess:
    """One process at a time, while `run` runs. `greet` gives what each new one is told first, `hear` what it says."""

    def __init__(self, greet: Callable[[], Iterable[Message]], hear: Callable[[Message], None]) -> None:
        self._greet, self._hear = greet, hear
        self._link: Link | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = asyncio.Event()
        self._ended = asyncio.Event()
        self._ended.set()
        self.begun = asyncio.Event()
        """Clients may connect: the first of them starts the process."""
        self._wanted = asyncio.Event()
        self._idle = False
        """Whether the last process has ended because it had no clients."""

    @property
    def pid(self) -> int | None:
        """Return the process id, None while there is no process."""
        return self._process.pid if self._process is not None else None

    def tell(self, message: Message) -> None:
        """Send a message to the process; a later one gets the same by its greeting."""
        if self._link is not None and not self._link.tell(message):
            self._kill()

    async def run(self, listeners: Sequence[socket.socket]) -> None:
        """Until stopped or cancelled."""
        backoff, loop = Backoff(first=0.5, cap=30.0), asyncio.get_running_loop()
        self._ended.clear()
        self.begun.set()
        try:
            while await self._called(listeners):
                began = loop.time()
                await self._live(listeners)
                if self._stopping.is_set():
                    return
                if self._idle:
                    continue
                if loop.time() - began > HEALTHY_SECONDS:
                    backoff.reset()
                await asyncio.sleep(backoff.next())
                self._wanted.set()  # after a fault without delay: its clients have had to wait long enough
        finally:
            self._ended.set()

    async def stop(self, seconds: float) -> None:
        """Let it answer what it has begun for so long, then end it."""
        self._stopping.set()
        self._wanted.set()
        self.tell({"stop": True})
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        self._kill()

    async def _called(self, listeners: Sequence[socket.socket]) -> bool:
        """True once a client has connected to one of them; False if there is to be no process any more."""
        with watching(listeners, self._wanted.set):
            await self._wanted.wait()
        self._wanted.clear()
        return not self._stopping.is_set()

    async def _live(self, listeners: Sequence[socket.socket]) -> None:
        """The life of one process."""
        ours, theirs = socket.socketpair()
        self._idle = False
        try:
            with theirs:
                self._process = await _start(theirs.fileno(), [listener.fileno() for listener in listeners])
            self._link = await Link.open(ours)
            for message in self._greet():
                self.tell(message)
            if not self._stopping.is_set():
                await self._listen(self._link, Silence(listeners, self.tell))
        except OSError as error:
            log.error("webhook process cannot be started", extra={"error": str(error)})
        finally:
            if self._link is None:
                ours.close()
            await self._bury()

    async def _bury(self) -> None:
        """Whatever there is of it."""
        self._kill()
        process, link, self._process, self._link = self._process, self._link, None, None
        if link is not None:
            await link.aclose()
        if process is not None:
            code = await process.wait()
            if self._idle:
                log.debug("webhook process has ended after a long time without clients")
            elif not self._stopping.is_set():
                log.warning("webhook process has ended", extra={"code": code})

    async def _listen(self, link: Link, silence: "Silence") -> None:
        """Until it ends, or is silent for too long."""
        with closing(silence):
            while True:
                try:
                    async with silence.limit():
                        message = await link.next()
                except TimeoutError:
                    if not silence.is_too_long:
                        continue
                    log.error("webhook process hangs; killed", extra={"seconds": SILENCE_SECONDS})
                    return
                if message is None:
                    return
                silence.end(message)
                self._idle = "done" in message
                self._hear(message)

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()


class Silence:
    """How long the process may say nothing: for ever while it has no clients, else SILENCE_SECONDS.

    While it is idle, its listening sockets are watched here, too: a client that connects is noticed even if the process
    hangs, and from then on it has to answer a ping. Measured by the machine's time, which is that of the process.
    """

    def __init__(self, listeners: Sequence[socket.socket], tell: Callable[[Message], object]) -> None:
        self._listeners, self._send, self._machine = listeners, tell, SystemClock()
        self._heard = self._machine.monotonic()
        self._limit = asyncio.timeout(None)
        self._watching = ExitStack()
        self.may_last = False

    def limit(self) -> asyncio.Timeout:
        """For waiting for the next message; a client that connects meanwhile shortens it."""
        self._limit = asyncio.timeout(None if self.may_last else SILENCE_SECONDS)
        return self._limit

    @property
    def is_too_long(self) -> bool:
        return not self.may_last and self._machine.monotonic() - self._heard >= SILENCE_SECONDS

    def end(self, message: Message) -> None:
        """It has said something."""
        self._heard = self._machine.monotonic()
        if "idle" in message:
            self.may_last = True
            self._watching.enter_context(watching(self._listeners, self._on_client))
        elif "beat" in message:
            self.close()

    def close(self) -> None:
        """Watch for clients no longer: the process beats, or has ended."""
        self.may_last = False
        self._watching.close()

    def _on_client(self) -> None:
        self.close()
        self._heard = self._machine.monotonic()
        self._limit.reschedule(asyncio.get_running_loop().time() + SILENCE_SECONDS)
        self._send({"ping": True})


@contextmanager
def watching(listeners: Sequence[socket.socket], on_client: Callable[[], object]) -> Iterator[None]:
    """Call `on_client` while a connection waits to be accepted at one of them."""
    loop = asyncio.get_running_loop()
    for one in listeners:
        loop.add_reader(one, on_client)
    try:
        yield
    finally:
        for one in listeners:
            loop.remove_reader(one)


async def _start(wire: int, listeners: Sequence[int]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", MODULE, str(wire)),
        pass_fds=(wire, *listeners),
        stdin=asyncio.subprocess.DEVNULL,
        env={**os.environ, **_GIVE_BACK, **_ZONES},
        start_new_session=True,  # a terminal's Ctrl-C is for the operator
    )
