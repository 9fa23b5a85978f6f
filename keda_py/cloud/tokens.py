"""Tokens of OAuth 2 and of metadata servers: one source per credential, one request for all concurrent callers.

Rules: a server's answer is bounded before it is trusted; an error repeats neither request nor answer; every caller that
waited gets the same outcome, a failure too. A token's life runs on the loop's time, as the issuer's clock does.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx
from pydantic import SecretStr

from keda_py.cloud.context import CloudContext, nothing_to_close
from keda_py.cloud.http_calls import HttpCall, HttpReply, ask
from keda_py.errors import ScalerError
from keda_py.net.credential_keys import CredentialKey

EARLY_SECONDS = 60.0
EARLY_SHARE = 0.2
"""Before its end a token is renewed: by this many seconds or this share of its life, whichever is shorter."""
LONGEST_LIFE = 24 * 3600.0
# Characters. The longest known, Azure's with many groups, have 8 000.
LONGEST_TOKEN = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """Token and its life from the moment of the request; with 0 s it serves only the callers that wait for it."""

    text: SecretStr
    seconds: float

    @property
    def kept_seconds(self) -> float:
        """Return how long it is used: not to its end, because the receiving server's clock may be ahead."""
        return self.seconds - min(EARLY_SECONDS, EARLY_SHARE * self.seconds)


class TokenSource:
    """Cache of one token, fetched again shortly before it expires; concurrent callers share a fetch."""

    def __init__(self, fetch: Callable[[], Awaitable[IssuedToken]]) -> None:
        self._fetch, self._lock = fetch, asyncio.Lock()
        self._token, self._until = SecretStr(""), -math.inf
        self._failure = ""
        self._outcomes = 0

    async def token(self) -> SecretStr:
        """Return a valid token. Raises ScalerError, and ConfigError for a credential that cannot be used."""
        if asyncio.get_running_loop().time() < self._until:
            return self._token
        seen = self._outcomes
        async with self._lock:
            # Another caller may have renewed it, or failed to, while this one waited for the lock: share that outcome,
            # so that a failing endpoint gets one request and not one per caller.
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
    """Return the source of this credential, shared within its tenant."""
    return await context.shared(key, make, nothing_to_close)


async def ask_token(question: HttpCall, http: httpx.AsyncClient) -> IssuedToken:
    """Request a token from a token endpoint or a metadata server. Raises ScalerError."""
    answer = await ask(question, http)
    life = answer.body.get("expires_in", 0)
    return IssuedToken(text=granted(answer, "access_token"), seconds=_seconds(life))


def granted(answer: HttpReply, field: str) -> SecretStr:
    """Return the token in a field of the answer. Raises ScalerError."""
    text = answer.text(field) if answer.status < 400 else None
    if not text or len(text) > LONGEST_TOKEN or not text.isascii() or not text.isprintable() or " " in text:
        raise ScalerError(f"{answer.question.shown} gave no token: status {answer.status}")
    return SecretStr(text)


def _seconds(life: object) -> float:
    """Read the life of a token, which some servers write as text; anything malformed counts as 0."""
    try:
        seconds = float(life) if isinstance(life, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return min(max(seconds, 0.0), LONGEST_LIFE) if math.isfinite(seconds) else 0.0
