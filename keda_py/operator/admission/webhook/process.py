"""The operator's hold on its webhook process: starts it, starts it again when it ends, kills it when it hangs.

The listening sockets stay open here: while there is no process, a client that connects waits. The first process is
started by the first client: an installation whose webhook is never called does without its memory.
"""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from keda_py.clock import SystemClock
from keda_py.kube.backoff import Backoff
from keda_py.operator.admission.webhook.link import Link, Message

log = logging.getLogger(__name__)

SILENCE_SECONDS = 20.0
"""A process that has not even beaten for so long hangs."""
HEALTHY_SECONDS = 60.0
MODULE = "keda_py.operator.admission.webhook"
_GIVE_BACK = {"MALLOC_MMAP_THRESHOLD_": str(128 * 1024)}
"""glibc raises this when a large block is freed, and keeps such blocks from then on: after a flood of connections the
buffers of each (256 KiB for TLS) stayed, 140 MiB. Other C libraries do not look at it."""


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

    @property
    def pid(self) -> int | None:
        """Of the process, if there is one."""
        return self._process.pid if self._process is not None else None

    def tell(self, message: Message) -> None:
        """What it should know now; one that is started later is greeted with it."""
        if self._link is not None and not self._link.tell(message):
            self._kill()

    async def run(self, listeners: Sequence[socket.socket]) -> None:
        """Until stopped or cancelled."""
        backoff, loop = Backoff(first=0.5, cap=30.0), asyncio.get_running_loop()
        self._ended.clear()
        self.begun.set()
        try:
            await self._called(listeners)
            while not self._stopping.is_set():
                began = loop.time()
                await self._live([one.fileno() for one in listeners])
                if self._stopping.is_set():
                    return
                if loop.time() - began > HEALTHY_SECONDS:
                    backoff.reset()
                await asyncio.sleep(backoff.next())
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

    async def _called(self, listeners: Sequence[socket.socket]) -> None:
        """Until a client has connected to one of them, or there is to be none."""
        loop = asyncio.get_running_loop()
        for one in listeners:
            loop.add_reader(one, self._wanted.set)
        try:
            await self._wanted.wait()
        finally:
            for one in listeners:
                loop.remove_reader(one)

    async def _live(self, listeners: Sequence[int]) -> None:
        """The life of one process."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = await _start(theirs.fileno(), listeners)
            self._link = await Link.open(ours)
            for message in self._greet():
                self.tell(message)
            if not self._stopping.is_set():
                await self._listen(self._link)
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
            if not self._stopping.is_set():
                log.warning("webhook process has ended", extra={"code": code})

    async def _listen(self, link: Link) -> None:
        """Until it ends, or says nothing for too long by the machine's time, which is the process's own."""
        machine = SystemClock()
        heard = machine.monotonic()
        while True:
            try:
                async with asyncio.timeout(SILENCE_SECONDS):
                    message = await link.next()
            except TimeoutError:
                if machine.monotonic() - heard < SILENCE_SECONDS:
                    continue
                log.error("webhook process hangs; killed", extra={"seconds": SILENCE_SECONDS})
                return
            if message is None:
                return
            heard = machine.monotonic()
            self._hear(message)

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()


async def _start(wire: int, listeners: Sequence[int]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", MODULE, str(wire)),
        pass_fds=(wire, *listeners),
        stdin=asyncio.subprocess.DEVNULL,
        env={**os.environ, **_GIVE_BACK},
        start_new_session=True,  # a terminal's Ctrl-C is for the operator
    )
