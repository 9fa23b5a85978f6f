"""One source per credential: fetched once, renewed in time, and bounded."""

import asyncio
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from keda_py.cloud.http_calls import HttpCall
from keda_py.cloud.tokens import LONGEST_LIFE, LONGEST_TOKEN, IssuedToken, TokenSource, ask_token
from keda_py.errors import ScalerError
from keda_py.sdk.context import EngineContext
from tests.http_server import HttpServer


class Fetcher:
    """Fetch function that waits for `gate`, then returns or raises `outcome`."""

    def __init__(self, seconds: float = 3600.0) -> None:
        self.seconds, self.asked = seconds, 0
        self.begun, self.gate = asyncio.Event(), asyncio.Event()
        self.error: ScalerError | None = None

    async def __call__(self) -> IssuedToken:
        self.asked += 1
        self.begun.set()
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return IssuedToken(text=SecretStr(f"t{self.asked}"), seconds=self.seconds)


async def outcome_of(source: TokenSource) -> str:
    try:
        return (await source.token()).get_secret_value()
    except ScalerError as error:
        return str(error)


@pytest.mark.parametrize("seconds", [3600.0, 0.0], ids=["a token that lasts", "one that is over at once"])
async def test_all_who_ask_meanwhile_get_the_same_token(seconds: float) -> None:
    fetch = Fetcher(seconds)
    source = TokenSource(fetch)
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(source.token()) for _ in range(20)]
        await fetch.begun.wait()
        fetch.gate.set()
    assert {one.result().get_secret_value() for one in asked} == {"t1"}
    await source.token()
    assert fetch.asked == (1 if seconds else 2)


async def test_a_failure_is_that_of_all_who_waited_and_the_next_asks_anew() -> None:
    fetch = Fetcher()
    fetch.error = ScalerError("the login is away")
    source = TokenSource(fetch)
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(outcome_of(source)) for _ in range(20)]
        await fetch.begun.wait()
        fetch.gate.set()
    assert {one.result() for one in waiting} == {"the login is away"}
    assert fetch.asked == 1
    fetch.error = None
    assert (await source.token()).get_secret_value() == "t2"


async def test_one_who_gives_up_leaves_the_question_to_the_next() -> None:
    fetch = Fetcher()
    source = TokenSource(fetch)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(source.token())
        await fetch.begun.wait()
        second = group.create_task(source.token())
        first.cancel()
        fetch.gate.set()
    assert first.cancelled()
    assert second.result().get_secret_value() == "t2"


@pytest.mark.parametrize(("life", "kept"), [(3600, 3540), (300, 240), (100, 80), (10, 8), (0, 0)])
def test_a_token_is_renewed_before_it_ends(life: float, kept: float) -> None:
    assert IssuedToken(text=SecretStr("t"), seconds=life).kept_seconds == kept


BAD: dict[str, Any] = {
    "no object": ["s3cret"],
    "no token": {"token": "s3cret"},
    "a number": {"access_token": 1},
    "empty": {"access_token": ""},
    "two words": {"access_token": "s3cret s3cret"},
    "a line's end": {"access_token": "s3cret\r\nX-Key: 1"},
    "not ASCII": {"access_token": "s3cret\u00e9"},
    "too long": {"access_token": "s3cret" * LONGEST_TOKEN},
}


@pytest.mark.parametrize("what", BAD)
async def test_an_answer_that_is_no_token_is_an_error_that_repeats_nothing(
    anywhere: EngineContext, server: HttpServer, what: str
) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response(BAD[what])

    server.answers["/token"] = answer
    with pytest.raises(ScalerError, match=f'^Post "{server.url}/token" gave no token: status 200$'):
        await ask_token(HttpCall(url=f"{server.url}/token?key=s3cret", form={"a": "s3cret"}), anywhere.http)


async def test_a_refusal_is_an_error_whatever_its_body_says(anywhere: EngineContext, server: HttpServer) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"access_token": "t0ken", "expires_in": 1}, status=403)

    server.answers["/token"] = answer
    with pytest.raises(ScalerError, match="gave no token: status 403"):
        await ask_token(HttpCall(url=f"{server.url}/token"), anywhere.http)


LIVES = {"3600": 3600, '"3600"': 3600, "-5": 0, '"NaN"': 0, '"inf"': 0, "[1]": 0, "null": 0, "1e12": LONGEST_LIFE}


@pytest.mark.parametrize("text", LIVES)
async def test_the_life_that_a_server_tells_is_a_number_within_bounds(
    anywhere: EngineContext, server: HttpServer, text: str
) -> None:
    server.answers["/token"] = f'{{"access_token": "t0ken", "expires_in": {text}}}'
    token = await ask_token(HttpCall(url=f"{server.url}/token"), anywhere.http)
    assert token.seconds == LIVES[text]
    assert "t0ken" not in repr(token)
