"""Questions over HTTP that prove who asks, by a password, a cloud's token or a signature."""

import base64
from dataclasses import dataclass, field, replace
from typing import Protocol

from pydantic import SecretStr

from keda_py.cloud.tokens import TokenSource
from scalers.shared.http_answer import HttpQuestion


class Signer(Protocol):
    """Whatever makes a question prove who asks."""

    async def sign(self, question: HttpQuestion) -> HttpQuestion:
        """The question with its proof. Raises ScalerError."""
        ...


class BearerToken:
    """A Signer with the tokens of a source."""

    def __init__(self, source: TokenSource) -> None:
        self._source = source

    async def sign(self, question: HttpQuestion) -> HttpQuestion:
        """The question with the header Authorization."""
        token = await self._source.token()
        headers = {**question.headers, "Authorization": f"Bearer {token.get_secret_value()}"}
        return replace(question, headers=headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicPassword:
    """A Signer with user and password."""

    user: str = ""
    password: SecretStr = field(default_factory=lambda: SecretStr(""))

    async def sign(self, question: HttpQuestion) -> HttpQuestion:
        """The question with the header Authorization."""
        pair = base64.b64encode(f"{self.user}:{self.password.get_secret_value()}".encode()).decode()
        return replace(question, headers={**question.headers, "Authorization": f"Basic {pair}"})
