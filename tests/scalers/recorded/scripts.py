"""Requests to the servers of a recorded exchange, and the answers of its script.

In: requests of `stage.py`, which runs the servers. Next: `comparison.py`, which compares what was asked.
"""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, unquote

import orjson
from aiohttp import web

_DEFAULT_PORT = {False: ":80", True: ":443"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedServer:
    """Which of the servers was asked: the number of a plain one, 1 for the others; `proxied` stands for all hosts."""

    server: int = 1
    tls: bool = False
    proxied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as a server saw it. `host` is "" unless it came through the proxy; `at` is what the clock said."""

    place: AskedServer
    method: str
    path: str
    query: str
    host: str
    headers: Mapping[str, str]
    body: bytes
    client_cert: str
    at: datetime

    @classmethod
    async def read(cls, request: web.BaseRequest, place: AskedServer, at: datetime) -> "Asked":
        """The target may be a whole URL: that is how one asks a proxy."""
        target = request.raw_path
        if "://" in target.partition("?")[0]:
            target = target.partition("://")[2]
            target = target[target.find("/") :] if "/" in target else "/"
        path, _, query = target.partition("?")
        host = request.headers.get("Host", "").removesuffix(_DEFAULT_PORT[place.tls])
        return cls(
            place=place,
            method=request.method,
            path=path,
            query=query,
            host=host if place.proxied else "",
            headers={name.lower(): value for name, value in request.headers.items()},
            body=await request.read(),
            client_cert=_common_name(request),
            at=at,
        )

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Parse the query into pairs."""
        return parse_qsl(self.query, keep_blank_values=True)

    @property
    def operation(self) -> str:
        """`Service.Operation` of what speaks the JSON of AWS; "" of everything else."""
        is_json = self.headers.get("content-type", "").startswith("application/x-amz-json")
        return self.headers.get("x-amz-target", "") if is_json else ""

    def __str__(self) -> str:
        where = f"{self.host}{self.path}" if self.host else self.path
        body = f" {self.body.decode(errors='replace')}" if self.body else ""
        return f"{self.method} {where}{'?' if self.query else ''}{self.query}{body}"


class Script:
    """The answers of one exchange, and how often each has been given."""

    def __init__(self, answers: Sequence[Mapping[str, Any]], pace: float = 1.0) -> None:
        self._answers, self._pace = answers, pace
        self._given = [0] * len(answers)
        self.asked: list[Asked] = []
        self.over = asyncio.Event()

    async def answer(self, asked: Asked) -> web.Response:
        """The answer after its delay, which ends with the exchange."""
        self.asked.append(asked)
        chosen = self._choose(asked)
        if chosen is None:
            return web.Response(status=404)
        if delay := chosen.get("delayMs", 0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self.over.wait(), delay / 1000 * self._pace)
        return _response({**chosen, "body": chosen["cbor"]} if asked.operation and "cbor" in chosen else chosen)

    def frames(self, kind: str) -> Sequence[Mapping[str, Any]]:
        """All that is sent when a message of this type comes by a websocket."""
        return [answer for answer in self._answers if answer.get("match") == f"WS {kind}"]

    def _choose(self, asked: Asked) -> Mapping[str, Any] | None:
        fitting = [index for index, answer in enumerate(self._answers) if _fits(answer, asked)]
        fresh = [index for index in fitting if self._given[index] < self._answers[index].get("times", 1)]
        again = [index for index in fitting if not self._answers[index].get("once", False)]
        if not fresh and not again:
            return None
        index = fresh[0] if fresh else again[-1]
        self._given[index] += 1
        return self._answers[index]


def segments(path: str) -> list[str]:
    """A path by its meaning: "%2F" stays apart from "/"; how "(" is escaped does not count."""
    return [unquote(part) for part in path.split("/")]


def _fits(answer: Mapping[str, Any], asked: Asked) -> bool:
    if answer.get("server", asked.place.server) != asked.place.server:
        return False
    if not asked.host.startswith(answer.get("host", "")):
        return False
    if answer.get("contains", "").encode() not in asked.body:
        return False
    return "match" not in answer or _matches(answer["match"], asked)


def _matches(match: str, asked: Asked) -> bool:
    """The order of parameters does not count, and the last may be a beginning. "WS" is of websockets: it never fits."""
    method, _, rest = match.partition(" ")
    path, question, query = rest.partition("?")
    if method != asked.method:
        return False
    if not question:
        return "/".join(segments(asked.path)).startswith("/".join(segments(path)))
    if segments(path) != segments(asked.path):
        return False
    *whole, last = query.split("&")
    texts = [f"{key}={value}" for key, value in asked.pairs]
    wanted = {f"{key}={value}" for key, value in parse_qsl("&".join(whole), keep_blank_values=True)}
    return wanted <= set(texts) and (not last or any(text.startswith(unquote(last)) for text in texts))


def _response(chosen: Mapping[str, Any]) -> web.Response:
    body, kind = chosen.get("body", b""), "application/octet-stream"
    if "bodyB64" in chosen and "body" not in chosen:
        body = base64.b64decode(chosen["bodyB64"])
    elif isinstance(body, str):
        body, kind = body.encode(), "text/plain"
    elif not isinstance(body, bytes):
        body, kind = orjson.dumps(body), "application/json"
    return web.Response(
        status=chosen.get("status", 200), body=body, headers={"Content-Type": kind, **chosen.get("headers", {})}
    )


def _common_name(request: web.BaseRequest) -> str:
    shown = request.transport.get_extra_info("peercert") if request.transport else None
    subject = (shown or {}).get("subject", ())
    return next((value for part in subject for name, value in part if name == "commonName"), "")
