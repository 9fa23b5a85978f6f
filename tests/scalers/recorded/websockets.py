"""A websocket of a recorded exchange: for each message of a type, all frames that the script has for it."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
from aiohttp import WSMsgType, web

from tests.scalers.recorded.scripts import Asked, AskedServer, Script

_CHANNEL = b"@@@@CHANNEL@@@@@"
"""Stands for the channel's name in a binary frame, which is padded with zeros."""


async def converse(request: web.BaseRequest, asked: Asked, script: Script) -> web.WebSocketResponse:
    """Until the client hangs up, or the exchange is over."""
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    script.asked.append(replace(asked, method="GET"))
    async for message in socket:
        if message.type is not WSMsgType.TEXT:
            continue
        said = orjson.loads(message.data)
        script.asked.append(_said(asked, said))
        for frame in script.frames(said["type"]):
            await _send(socket, frame, said.get("channel", ""))
    return socket


def _said(asked: Asked, said: dict[str, Any]) -> Asked:
    """As recordings have it: without a place, and with any channel."""
    body = {**said, "channel": "<channel>"} if "channel" in said else said
    return replace(
        asked, place=AskedServer(), method="WS", path=said["type"], host="", headers={}, body=orjson.dumps(body)
    )


async def _send(socket: web.WebSocketResponse, frame: Mapping[str, Any], channel: str) -> None:
    if "bodyB64" in frame:
        name = channel.encode().ljust(len(_CHANNEL), b"\0")
        await socket.send_bytes(base64.b64decode(frame["bodyB64"]).replace(_CHANNEL, name))
    else:
        await socket.send_str(orjson.dumps(frame["body"]).decode().replace("{{channel}}", channel))
