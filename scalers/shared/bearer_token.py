"""HTTP requests authenticated by a cloud's token or by a signature."""

from dataclasses import replace
from typing import Protocol

from keda_py.cloud.tokens import TokenSource
from scalers.shared.http_answer import HttpQuestion


class Signer(Protocol):
    """An object that authenticates HTTP requests."""

    async def sign(self, question: HttpQuestion) -> HttpQuestion:
        """Return the request with its credential. Raises ScalerError."""
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
