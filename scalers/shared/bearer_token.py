"""Questions over HTTP that prove who asks, by a cloud's token or by a signature."""

from dataclasses import replace
from typing import Protocol

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
