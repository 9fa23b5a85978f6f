"""Tokens of OAuth 2 and of metadata servers: one source for one credential, asked once however many want one.

Rules: what a server gives is bounded before it is believed; an error repeats neither question nor answer; an outcome,
a failure too, is that of all who waited for it. The life of a token runs on the loop's time, which is the issuer's.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx
from pydantic import SecretStr

from keda_py.cloud.context import CloudContext, nothing_to_close
from keda_py.cloud.questions import Answer, Question, ask
from keda_py.errors import ScalerError
from keda_py.net.credential_keys import CredentialKey

EARLY_SECONDS = 60.0
EARLY_SHARE = 0.2
"""A token is renewed so long before its end, or when this share of its life is left, whichever is later."""
LONGEST_LIFE = 24 * 3600.0
LONGEST_TOKEN = 16 * 1024
"""Characters. The longest there are, of Azure with many groups, have 8 000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token and how long it is good for, from when it was asked for; with 0 s it serves those who wait for it."""

    text: SecretStr
    seconds: float

    @property
    def kept_seconds(self) -> float:
        """How long it is used: not to its end, since the server that it is sent to has another clock."""
        return self.seconds - min(EARLY_SECONDS, EARLY_SHARE * self.seconds)


class TokenSource:
    """A token from `fetch`, kept until shortly before it ends. Who asks while it is fetched waits for the same one."""

    def __init__(self, fetch: Callable[[], Awaitable[Token]]) -> None:
        self._fetch, self._lock = fetch, asyncio.Lock()
        self._token, self._until = SecretStr(""), -math.inf
        self._failure = ""
        self._outcomes = 0

    async def token(self) -> SecretStr:
        """Good for now. Raises ScalerError, and ConfigError for a credential that cannot be used."""
        if asyncio.get_running_loop().time() < self._until:
            return self._token
        seen = self._outcomes
        async with self._lock:
            if self._outcomes == seen:
                await self._renew()
        if self._failure:
            raise ScalerError(self._failure)
        return self._token

    async def _renew(self) -> None:
        asked_at = asyncio.get_running_loop().time()
        try:
            token = await self._fetch()
        except ScalerError as error:
            self._failure = str(error) or type(error).__name__
        else:
            self._failure, self._token = "", token.text
            self._until = asked_at + token.kept_seconds
        self._outcomes += 1


async def shared_source(
    context: CloudContext, key: CredentialKey, make: Callable[[], Awaitable[TokenSource]]
) -> TokenSource:
    """The source of this credential, the same for all of its tenant who ask for it."""
    return await context.shared(key, make, nothing_to_close)


async def ask_token(question: Question, http: httpx.AsyncClient) -> Token:
    """Ask a token endpoint or a metadata server. Raises ScalerError."""
    answer = await ask(question, http)
    life = answer.body.get("expires_in", 0)
    return Token(text=granted(answer, "access_token"), seconds=_seconds(life))


def granted(answer: Answer, field: str) -> SecretStr:
    """The token in a field of the answer. Raises ScalerError."""
    text = answer.text(field) if answer.status < 400 else None
    if not text or len(text) > LONGEST_TOKEN or not text.isascii() or not text.isprintable() or " " in text:
        raise ScalerError(f"{answer.question.shown} gave no token: status {answer.status}")
    return SecretStr(text)


def _seconds(life: object) -> float:
    """Some servers write the number as text; a life that cannot be understood is none."""
    try:
        seconds = float(life) if isinstance(life, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return min(max(seconds, 0.0), LONGEST_LIFE) if math.isfinite(seconds) else 0.0
