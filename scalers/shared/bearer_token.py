"""Bearer tokens of cloud identities: fetched once, shared by all triggers of one identity, renewed before they end."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import httpx
from pydantic import BaseModel, SecretStr

from keda_py.core.documents.json_guard import check_json
from keda_py.sdk.scaler import NO_REDIRECTS, CredentialKey, ScalerContext, ScalerError
from scalers.shared.http_answer import HttpQuestion, get, post_form, shown

_EARLY_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token and how long it is good for, from when it was asked for."""

    text: SecretStr
    seconds: float


class Signer(Protocol):
    """Whatever makes a question prove who asks."""

    async def sign(self, question: HttpQuestion) -> HttpQuestion:
        """The question with its proof. Raises ScalerError."""
        ...


class BearerToken:
    """A Signer with a token from `fetch`; who needs it while it is being fetched waits for the same one."""

    def __init__(self, fetch: Callable[[], Awaitable[Token]]) -> None:
        self._fetch, self._lock = fetch, asyncio.Lock()
        self._token, self._until = SecretStr(""), 0.0

    async def sign(self, question: HttpQuestion) -> HttpQuestion:
        """The question with the header Authorization."""
        # An expiry is the issuer's time, not a decision's: it runs on the loop.
        now = asyncio.get_running_loop().time
        async with self._lock:
            if now() >= self._until:
                asked_at, token = now(), await self._fetch()
                self._token, self._until = token.text, asked_at + token.seconds - _EARLY_SECONDS
        headers = {**question.headers, "Authorization": f"Bearer {self._token.get_secret_value()}"}
        return replace(question, headers=headers)


class _Answer(BaseModel):
    access_token: SecretStr
    expires_in: float


async def token_for_form(context: ScalerContext, url: str, form: Mapping[str, str]) -> Token:
    """Ask an OAuth 2 token endpoint. Raises ScalerError, which repeats neither question nor answer."""
    return _read(url, await post_form(context, url, form))


async def token_from(context: ScalerContext, question: HttpQuestion) -> Token:
    """Ask a metadata server. Raises ScalerError."""
    return _read(question.url, await get(context, replace(question, redirects=NO_REDIRECTS)))


async def shared_token(
    context: ScalerContext, key: CredentialKey, fetch: Callable[[], Awaitable[Token]]
) -> BearerToken:
    """The token of this identity, the same for all triggers of its tenant."""

    async def make() -> BearerToken:
        return BearerToken(fetch)

    return await context.shared(key, make, _forget)


async def _forget(token: BearerToken) -> None:
    """Nothing to close."""


def _read(url: str, answer: httpx.Response) -> Token:
    try:
        check_json(answer.content)
        parsed = _Answer.model_validate_json(answer.content)
    except ValueError:
        raise ScalerError(f'"{shown(url)}" gave no token: status {answer.status_code}') from None
    return Token(text=parsed.access_token, seconds=parsed.expires_in)
