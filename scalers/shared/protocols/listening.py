"""Sources that announce work on an open connection: one connection for all triggers of a server and credential.

A line (an open connection) announces a topic once and must be subscribed again. So a busy source costs one event for
each reading of its trigger, and nothing piles up. Events in between are not lost, since each new subscription causes a
further reading. A line that breaks is opened again; a source that refuses is polled alone.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Protocol

from keda_py.sdk.advanced import ScalerContext, SharingKey, sharing_key
from keda_py.sdk.scaler import ScalerError

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
"""Seconds before a line that broke is opened again; twice as long each time until one has lasted."""
# Seconds before a source that refused is asked again: an administrator may have allowed it meanwhile.
_REFUSED_PAUSE = 600.0
# Lines of one namespace: the larger part of its share of connections is left for readings.
_MOST_LINES = 50
_CHECK_SECONDS = 30.0
# Messages of one line that were not asked for: those on their way when it is told to stop are not so many.
_MOST_UNASKED, _COUNTED_SECONDS = 10_000, 10.0

log = logging.getLogger(__name__)

Tell = Callable[[str], bool]
"""Called with a topic at an event; returns False for a topic without a subscription."""


class PushRefused(ScalerError):
    """The source cannot announce work, or not to this user, and will not for a while."""


class EventConnection(Protocol):
    """An open connection. Its methods but `follow` are never called at the same time; each raises ScalerError."""

    async def ask(self, topic: str) -> None:
        """Subscribe to the next event of a topic. Raises PushRefused."""
        ...

    async def drop(self, topic: str) -> None:
        """Unsubscribe from a topic."""
        ...

    async def check(self) -> None:
        """Find out whether the server is there and tells: raise here or in `follow`, now or at the next call."""
        ...

    async def follow(self) -> None:
        """Receive until the connection breaks. Raises PushRefused."""
        ...


OpenLine = Callable[[Tell], AbstractAsyncContextManager[EventConnection]]
"""Opens a line that calls `tell` with a topic, and closes it; holds `context.connection()` meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListeningShare:
    """The limits that the lines of a namespace share."""

    lines: asyncio.Semaphore
    check_seconds: float
    """Between two questions whether the server is still there."""


class _Listener:
    """A listener; `wake` is done at the first event. An asyncio.Event is ten times as large."""

    __slots__ = ("wake",)

    def __init__(self) -> None:
        self.listen()

    def listen(self) -> None:
        """Wait for the next event."""
        self.wake = asyncio.get_running_loop().create_future()

    def tell(self) -> None:
        """Wake the listener once."""
        if not self.wake.done():
            self.wake.set_result(None)


class Listening:
    """The listeners by topic of a line, which is open while there are any.

    Listeners wait for a future of their own and never inside a library, which may swallow a cancellation.
    """

    def __init__(self, open_line: OpenLine, room: ListeningShare) -> None:
        self._open_line, self._room = open_line, room
        self._ears: dict[str, tuple[_Listener, ...]] = {}
        """Most topics have one listener, for which a set is four times as large."""
        self._asked: set[str] = set()
        """Topics that the line is subscribed to."""
        self._wanted: set[str] = set()
        """Topics to subscribe to."""
        self._over: set[str] = set()
        """Topics to unsubscribe from."""
        self._announced: set[str] = set()
        """Topics with an event that came, or may have been missed, since they were subscribed to."""
        self._work = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()

    async def events(self, topic: str) -> AsyncGenerator[bool, None]:
        """True after one event or many; the next one is asked for when the next item is."""
        ear = _Listener()
        self._ears[topic] = (*self._ears.get(topic, ()), ear)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        try:
            while True:
                self._want(topic)
                await ear.wake
                ear.listen()
                yield True
        finally:
            self._leave(topic, ear)

    async def aclose(self) -> None:
        """Close the line."""
        self._ears.clear()
        self._end()
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _want(self, topic: str) -> None:
        if topic not in self._asked:
            self._wanted.add(topic)
            self._work.set()

    def _leave(self, topic: str, ear: _Listener) -> None:
        ears = tuple(one for one in self._ears.pop(topic, ()) if one is not ear)
        if ears:
            self._ears[topic] = ears
        else:
            self._announced.discard(topic)
            self._drop(topic)
        if not self._ears:
            self._end()

    def _drop(self, topic: str) -> None:
        self._wanted.discard(topic)
        if topic in self._asked:
            self._asked.discard(topic)
            self._over.add(topic)
            self._work.set()

    def _end(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            task.cancel()

    def _notify(self, topic: str) -> bool:
        asked = topic in self._asked
        if asked:
            self._announced.add(topic)
            self._drop(topic)
            self._wake(topic)
        return asked

    def _wake(self, topic: str) -> None:
        for ear in self._ears.get(topic, ()):
            ear.tell()

    async def _run(self) -> None:
        mine, loop = asyncio.current_task(), asyncio.get_running_loop()
        pause, missed = _FIRST_PAUSE, False
        async with self._room.lines:
            while True:
                began, refused = loop.time(), False
                try:
                    await self._hear(mine, missed=missed)
                except Exception as error:  # noqa: BLE001 - what a server says may make a library raise anything
                    refused = _log_break(error)
                # A library may swallow the cancellation of `_end`: after each await this task sees whether it is still
                # the current one. Else two tasks would hold a line each, and a place of the namespace's share.
                if self._task is not mine:
                    return
                if loop.time() - began > _LONGEST_PAUSE:
                    pause = _FIRST_PAUSE
                missed = True
                await asyncio.sleep(_REFUSED_PAUSE if refused else pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    async def _hear(self, mine: asyncio.Task[None] | None, *, missed: bool) -> None:
        """Raises ScalerError when the line breaks, alone or in a group."""
        async with self._open_line(self._notify) as line:
            if self._task is not mine:
                return
            # A new line has no subscription, and events were missed while there was no line: every topic is wanted, and
            # each listener is woken once after its subscription, which is when no further event can be missed.
            self._asked.clear()
            self._over.clear()
            self._wanted = set(self._ears)
            self._announced = set(self._ears) if missed else set()
            self._work.set()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(line.follow())
                tasks.create_task(self._serve(line, mine))

    async def _serve(self, line: EventConnection, mine: asyncio.Task[None] | None) -> None:
        """Subscribe to wanted topics, and unsubscribe from those without a listener."""
        loop = asyncio.get_running_loop()
        check_at = loop.time() + self._room.check_seconds
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(check_at):
                    await self._work.wait()
            if self._task is not mine:
                raise ScalerError("closed")
            self._work.clear()
            while self._over or self._wanted:
                if self._over:
                    await line.drop(self._over.pop())
                else:
                    await self._ask(line, self._wanted.pop())
            if loop.time() >= check_at:
                await line.check()
                check_at = loop.time() + self._room.check_seconds

    async def _ask(self, line: EventConnection, topic: str) -> None:
        # Before the await: the event may come while the subscription is being confirmed.
        self._asked.add(topic)
        await line.ask(topic)
        if topic in self._announced:
            self._announced.discard(topic)
            self._wake(topic)  # for what happened meanwhile


def _log_break(error: Exception) -> bool:
    """Log why a line broke, and return whether the source refused."""
    cause = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
    refused = isinstance(cause, PushRefused)
    text = str(cause) or type(cause).__name__
    log.debug("source does not push, polling only", extra={"error": text, "refused": refused})
    return refused


async def listening(key: SharingKey, open_line: OpenLine, context: ScalerContext) -> Listening:
    """Share the listening of this key; nothing is opened before the first listener."""
    room = await share_of(context)

    async def make() -> Listening:
        return Listening(open_line, room)

    return await context.shared(key, make, Listening.aclose)


async def share_of(context: ScalerContext, check_seconds: float = _CHECK_SECONDS) -> ListeningShare:
    """Share the limits of a namespace; `check_seconds` of the first caller count."""

    async def make() -> ListeningShare:
        return ListeningShare(lines=asyncio.Semaphore(_MOST_LINES), check_seconds=check_seconds)

    async def no_close(_: ListeningShare) -> None:
        """Do nothing at the end: a room holds no connection."""

    return await context.shared(sharing_key(context.namespace, ("listening", context.namespace)), make, no_close)


class MessageLimit:
    """A limit on unrequested messages of a line."""

    def __init__(self) -> None:
        self._since, self._count = -_COUNTED_SECONDS, 0

    def allows(self) -> bool:
        """Count one more message, and return whether that is still within the limit."""
        now = asyncio.get_running_loop().time()
        if now - self._since >= _COUNTED_SECONDS:
            self._since, self._count = now, 0
        self._count += 1
        return self._count <= _MOST_UNASKED
