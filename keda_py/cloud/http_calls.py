"""HTTP calls to vaults and token endpoints, over the client of the process; they follow no redirect.

Errors show verb, address without its query, and status; never a body, which may repeat a secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import httpx
import orjson
from pydantic import SecretStr

from keda_py.core.documents.json_guard import check_json
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.redirect_rule import EXTENSION, NO_REDIRECTS
from keda_py.net.secret_texts import plain

Sent = Mapping[str, str | SecretStr]
"""Headers, or fields of a form; only `ask` unwraps their secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCall:
    """One call: a GET, or a POST of a form or of JSON."""

    url: str
    headers: Sent = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Sent | None = field(default=None, repr=False)
    json: Mapping[str, object] | None = field(default=None, repr=False)

    @property
    def verb(self) -> Literal["GET", "POST"]:
        return "GET" if self.form is None and self.json is None else "POST"

    @property
    def shown(self) -> str:
        """Return verb and address for error texts, without credentials and query."""
        address = httpx.URL(self.url).copy_with(username=None, password=None, query=None, fragment=None)
        return f'{self.verb.capitalize()} "{address}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReply:
    """Status and JSON of an answer; `body` is {} if it is not a JSON object."""

    question: HttpCall
    status: int
    body: Mapping[str, object] = field(repr=False)

    def text(self, *path: str) -> str | None:
        """Return the text at a path of the body, None if missing or not text."""
        found: object = self.body
        for step in path:
            found = found.get(step) if isinstance(found, dict) else None
        return found if isinstance(found, str) else None

    def secret(self, *path: str) -> SecretStr | None:
        """Return the text at a path of the body, wrapped; None if missing or not text."""
        found = self.text(*path)
        return None if found is None else SecretStr(found)

    def refusal(self) -> ScalerError:
        """Make the error for an answer that cannot be used."""
        return ScalerError(f"{self.question.shown}: status {self.status}")


def bearer(token: SecretStr) -> Mapping[str, SecretStr]:
    """Make the Authorization header of a token."""
    return {"Authorization": SecretStr(f"Bearer {token.get_secret_value()}")}


async def ask(question: HttpCall, http: httpx.AsyncClient) -> HttpReply:
    """Return the answer, of any status. Raises ScalerError without one, ConfigError for an invalid address."""
    try:
        response = await http.request(
            question.verb,
            question.url,
            headers=plain(question.headers),
            params=question.query or None,
            data=plain(question.form) if question.form is not None else None,
            json=_plain_json(question.json),
            extensions={EXTENSION: NO_REDIRECTS},
        )
    except httpx.TimeoutException:
        raise ScalerError(f"{question.shown}: no answer in time") from None
    except httpx.UnsupportedProtocol:
        raise ConfigError("the address of a vault or a login must begin with http:// or https://") from None
    except httpx.HTTPError as error:
        raise ScalerError(f"{question.shown}: {error}") from None
    except (httpx.InvalidURL, UnicodeError):
        raise ConfigError(
            "the address of a vault or a login, or a header, has a character that HTTP does not allow"
        ) from None
    try:
        # Bounded in depth and size of numbers before it is parsed on the loop.
        check_json(response.content)
        body = orjson.loads(response.content)
    except ValueError:
        body = {}
    return HttpReply(question=question, status=response.status_code, body=body if isinstance(body, dict) else {})


def _plain_json(fields: Mapping[str, object] | None) -> dict[str, object] | None:
    if fields is None:
        return None
    return {name: value.get_secret_value() if isinstance(value, SecretStr) else value for name, value in fields.items()}
