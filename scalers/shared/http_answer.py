"""Questions of scalers that ask by HTTP: the shared client, and errors that tell what failed and no secret."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

import httpx
import orjson

from keda_py.sdk.advanced import RedirectRule, ScalerContext
from keda_py.sdk.http_failures import address_of, http_failure, question_of, shown
from keda_py.sdk.scaler import ScalerError


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpQuestion:
    """One trigger's HTTP request. `parameters` join those of `url`; `tls` None: the client's own trust.

    `timeout` None or zero: the context's, as in KEDA. `redirects`: which of them may be followed. `content`: the body;
    the header Content-Type is the caller's.
    """

    url: str
    method: str = "GET"
    content: bytes = field(default=b"", repr=False)
    parameters: Mapping[str, str | list[str]] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: timedelta | None = None
    tls: ssl.SSLContext | None = None
    redirects: RedirectRule = field(default_factory=RedirectRule)
    shown: str = ""
    """Text for the address in errors, where its path holds a secret."""


class KeptQuestion:
    """A question that is asked again and again, whose request is built once: that takes as long as half an exchange."""

    def __init__(self, context: ScalerContext, question: HttpQuestion) -> None:
        self._context, self._question = context, question
        self._request: httpx.Request | None = None

    @property
    def url(self) -> str:
        return self._question.url

    async def ask(self) -> httpx.Response:
        """Ask as the function `ask` does."""
        http = self._context.http
        try:
            if self._request is None:
                self._request = _request(self._context, self._question)
            return await http.send(self._request)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise _failure(self._context, self._question, error) from None


async def ask(context: ScalerContext, question: HttpQuestion) -> httpx.Response:
    """Send the request and read the whole answer, whatever its status.

    Raises ScalerError without one, or AnswerTooLong.
    """
    try:
        return await context.http.send(_request(context, question))
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        raise _failure(context, question, error) from None


def _request(context: ScalerContext, question: HttpQuestion) -> httpx.Request:
    url = address_of(question.url)
    if question.parameters:
        url = url.copy_merge_params(dict(question.parameters))
    extensions: dict[str, object] = {"redirects": question.redirects}
    if question.tls is not None:
        extensions["ssl"] = question.tls
    return context.http.build_request(
        question.method,
        url,
        headers=question.headers,
        content=question.content or None,
        timeout=_seconds(context, question),
        extensions=extensions,
    )


def _seconds(context: ScalerContext, question: HttpQuestion) -> float:
    return question.timeout.total_seconds() if question.timeout else context.http_timeout


def _failure(context: ScalerContext, question: HttpQuestion, error: Exception) -> ScalerError:
    what = question_of(question.method, question.shown or shown(question.url))
    return http_failure(error, what, _seconds(context, question))


async def get(context: ScalerContext, question: HttpQuestion) -> httpx.Response:
    """Send a GET, as `ask` does."""
    return await ask(context, question)


async def post(context: ScalerContext, question: HttpQuestion, json: object) -> httpx.Response:
    """Send a POST with a body of JSON, as `ask` does."""
    headers = {"Content-Type": "application/json", **question.headers}
    return await ask(context, replace(question, method="POST", headers=headers, content=orjson.dumps(json)))
