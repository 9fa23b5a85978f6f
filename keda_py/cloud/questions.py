"""HTTP questions to vaults and token endpoints, with the client that all share; they follow no redirect.

Errors show verb, address without its query, and status; never a body, which may repeat a secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import httpx
import orjson

from keda_py.core.documents.json_guard import check_json
from keda_py.errors import ConfigError, ScalerError
from keda_py.net.redirect_rule import EXTENSION, NO_REDIRECTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A GET, or a POST of a form or of JSON."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] | None = field(default=None, repr=False)
    json: Mapping[str, object] | None = field(default=None, repr=False)

    @property
    def verb(self) -> Literal["GET", "POST"]:
        """POST where there is something to post."""
        return "GET" if self.form is None and self.json is None else "POST"

    @property
    def shown(self) -> str:
        """For error texts."""
        address = httpx.URL(self.url).copy_with(username=None, password=None, query=None, fragment=None)
        return f'{self.verb.capitalize()} "{address}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Status and JSON; `body` is {} where there is no JSON object."""

    question: Question
    status: int
    body: Mapping[str, object] = field(repr=False)

    def text(self, *path: str) -> str | None:
        """The text at a path of the body, None if missing or not text."""
        found: object = self.body
        for step in path:
            found = found.get(step) if isinstance(found, dict) else None
        return found if isinstance(found, str) else None

    def refusal(self) -> ScalerError:
        """What to raise for a status that is of no use."""
        return ScalerError(f"{self.question.shown}: status {self.status}")


async def ask(question: Question, http: httpx.AsyncClient) -> Answer:
    """The answer, whatever its status. Raises ScalerError when none came, ConfigError for an impossible address."""
    try:
        response = await http.request(
            question.verb,
            question.url,
            headers=question.headers,
            params=question.query or None,
            data=question.form,
            json=question.json,
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
        check_json(response.content)
        body = orjson.loads(response.content)
    except ValueError:
        body = {}
    return Answer(question=question, status=response.status_code, body=body if isinstance(body, dict) else {})
