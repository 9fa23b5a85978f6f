"""One connection by AMQP 0-9-1 with one channel, for one question at a time: a client for passive declarations.

A whole AMQP client takes 70 us of CPU for a question, in queues and tasks for what is not done here: publishing and
consuming. `pamqp` reads and writes the frames. Rules of this file: a frame is bounded before it is read; each takes
from an allowance that our questions and heartbeats refill; a broker that is silent for two heartbeats is gone.
"""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from scalers.shared.extras import needs_extra

if TYPE_CHECKING:
    from pamqp.base import Frame

_LONGEST_FRAME = 16 * 1024
"""Bytes; frames that we ask for hold a number or a line of text, and the first one what the server can do."""
_AROUND = 8
"""Bytes of a frame around what it says: kind, channel and length before, and one after."""
_METHOD, _HEARTBEAT = 1, 8
_LONGEST_BEAT = 60
"""Seconds between two heartbeats, at most; each side sends twice as many."""
_ALLOWANCE, _REFILL = 50, 10
_CLOSING_SECONDS = 1.0
_CONNECTION, _CHANNEL = 0, 1
_DECLARED = b"\x00\x32\x00\x0b"
"""Class and method of Queue.DeclareOk."""


class AmqpRefusal(Exception):
    """Refusal of one question; the connection goes on, its channel is closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AmqpLogin:
    """How a connection introduces itself. `user` "": its client certificate says who it is."""

    user: str
    password: str = field(repr=False)
    vhost: str
    name: str


class AmqpLink(asyncio.Protocol):
    """A connection; `ended` says why it is over, "" while it is not."""

    def __init__(self) -> None:
        with needs_extra("rabbitmq"):
            from pamqp import commands, frame, heartbeat
        self._commands, self._frames, self._beat = commands, frame, heartbeat.Heartbeat().marshal()
        self._transport: asyncio.Transport | None = None
        self._rest, self._left = b"", _ALLOWANCE
        self._answer: asyncio.Future[Any] | None = None
        self._channel_open = False
        self._seconds, self._heard = 0.0, 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._gone = asyncio.Event()
        self.ended = ""

    async def log_in(self, login: AmqpLogin) -> None:
        """Shake hands on a connection that has just been made. Raises OSError with what the broker says."""
        commands, is_user = self._commands, bool(login.user)
        await self._exchange(b"AMQP\x00\x00\x09\x01", commands.Connection.Start)
        begin = commands.Connection.StartOk(
            client_properties={
                "connection_name": login.name,
                "product": "keda-py",
                "capabilities": {"authentication_failure_close": True},  # else the broker only hangs up
            },
            mechanism="PLAIN" if is_user else "EXTERNAL",
            response=f"\0{login.user}\0{login.password}" if is_user else "",
        )
        tune = await self._exchange(self._written(begin, _CONNECTION), commands.Connection.Tune)
        beat = min(tune.heartbeat or _LONGEST_BEAT, _LONGEST_BEAT)
        tuned = commands.Connection.TuneOk(
            channel_max=tune.channel_max or 0, frame_max=tune.frame_max or 0, heartbeat=beat
        )
        opening = commands.Connection.Open(virtual_host=login.vhost)
        both = self._written(tuned, _CONNECTION) + self._written(opening, _CONNECTION)
        await self._exchange(both, commands.Connection.OpenOk)
        self._keep_beating(beat)

    async def ready_messages(self, declaration: bytes) -> int:
        """Ask how many messages are ready. Raises AmqpRefusal for this queue, OSError for the connection."""
        if not self._channel_open:
            opening = self._written(self._commands.Channel.Open(), _CHANNEL)
            await self._exchange(opening, self._commands.Channel.OpenOk)
            self._channel_open = True
        count: int = await self._exchange(declaration, int)
        return count

    async def _exchange(self, data: bytes, wanted: type[Any]) -> Any:
        if self._transport is None or self.ended:
            raise OSError(self.ended or "the connection was closed")
        self._left = _ALLOWANCE
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        try:
            answer = await self._answer
        finally:
            self._answer = None
        if not isinstance(answer, wanted):
            raise OSError(f"the server answered with {getattr(answer, 'name', 'something else')[:40]}")
        return answer

    async def aclose(self) -> None:
        """Say goodbye, and close; a broker that does not take it in a second is left at once."""
        transport = self._transport
        if transport is not None and self._seconds and not self.ended:
            self._send(self._commands.Connection.Close(200, "", 0, 0), _CONNECTION)
            transport.close()
            try:
                async with asyncio.timeout(_CLOSING_SECONDS):
                    await self._gone.wait()
            except TimeoutError:
                pass
            finally:
                transport.abort()
        self._end("the connection was closed")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none of asyncio's classes
        self._heard = asyncio.get_running_loop().time()

    def connection_lost(self, error: Exception | None) -> None:
        self._gone.set()
        self._end(str(error) if error else "the server closed the connection")

    def data_received(self, data: bytes) -> None:
        data, at = self._rest + data if self._rest else data, 0
        self._heard = asyncio.get_running_loop().time()
        try:
            while len(data) - at >= _AROUND and not self.ended:
                end = at + _AROUND + int.from_bytes(data[at + 3 : at + 7], "big")
                if end - at > _LONGEST_FRAME:
                    raise OSError("the server announces a frame that is longer than any answer to our questions")
                if end > len(data):
                    break
                self._receive(data[at:end])
                at = end
        except Exception as error:  # noqa: BLE001 - whatever a malformed frame leads to in the library
            self._end(str(error)[:200] or type(error).__name__)
        self._rest = b"" if self.ended else data[at:]

    def _receive(self, data: bytes) -> None:
        self._left -= 1
        if self._left < 0:
            raise OSError("the server sends frames that no question asked for")
        kind, payload = data[0], data[7:-1]
        if kind == _HEARTBEAT:
            return
        if kind != _METHOD:
            raise OSError("the server sent something that is no answer")
        if payload[:4] == _DECLARED:  # what is read again and again: its name, and the count
            at = 5 + payload[4]
            self._give(int.from_bytes(payload[at : at + 4], "big"))
            return
        _, _, said = self._frames.unmarshal(data)
        commands = self._commands
        match said:
            case commands.Connection.Close():
                self._send(commands.Connection.CloseOk(), _CONNECTION)
                raise OSError(said.reply_text or "the server closed the connection")
            case commands.Channel.Close():
                self._send(commands.Channel.CloseOk(), _CHANNEL)
                self._channel_open = False
                self._give(AmqpRefusal(said.reply_text or "the server closed the channel"))
            case commands.Connection.Blocked() | commands.Connection.Unblocked():
                pass  # for those who publish
            case _:
                self._give(said)

    def _give(self, answer: Any) -> None:
        if self._answer is None or self._answer.done():
            raise OSError("the server answered what was not asked")
        if isinstance(answer, Exception):
            self._answer.set_exception(answer)
        else:
            self._answer.set_result(answer)

    def _send(self, frame: "Frame", channel: int) -> None:
        if self._transport is not None:
            self._transport.write(self._written(frame, channel))

    def _written(self, frame: "Frame", channel: int) -> bytes:
        return self._frames.marshal(frame, channel)

    def _keep_beating(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer = asyncio.get_running_loop().call_later(seconds / 2, self._on_beat)

    def _on_beat(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() - self._heard > 2 * self._seconds:
            self._end("the server has been silent for two heartbeats")
            return
        self._left = min(self._left + _REFILL, _ALLOWANCE)
        if self._transport is not None:
            self._transport.write(self._beat)
        self._timer = loop.call_later(self._seconds / 2, self._on_beat)

    def _end(self, reason: str) -> None:
        self.ended = self.ended or reason
        if self._timer is not None:
            self._timer.cancel()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(OSError(self.ended))
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()
