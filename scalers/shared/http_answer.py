"""Questions of scalers that ask by HTTP: the shared client, and errors that tell what failed and no secret."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

import httpx
import orjson

from keda_py.sdk.advanced import RedirectRule, ScalerContext
from keda_py.sdk.http_failures import address_of, http_failure, question_of, shown


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


async def ask(context: ScalerContext, question: HttpQuestion) -> httpx.Response:
    """Send the request and read the whole answer, whatever its status.

    Raises ScalerError without one, or AnswerTooLong.
    """
    timeout = question.timeout.total_seconds() if question.timeout else context.http_timeout
    try:
        url = address_of(question.url)
        if question.parameters:
            url = url.copy_merge_params(dict(question.parameters))
        extensions: dict[str, object] = {"redirects": question.redirects}
        if question.tls is not None:
            extensions["ssl"] = question.tls
        request = context.http.build_request(
            question.method,
            url,
            headers=question.headers,
            content=question.content or None,
            timeout=timeout,
            extensions=extensions,
        )
        return await context.http.send(request)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        what = question_of(question.method, question.shown or shown(question.url))
        raise http_failure(error, what, timeout) from None


async def get(context: ScalerContext, question: HttpQuestion) -> httpx.Response:
    """Send a GET, as `ask` does."""
    return await ask(context, question)


async def post(context: ScalerContext, question: HttpQuestion, json: object) -> httpx.Response:
    """Send a POST with a body of JSON, as `ask` does."""
    headers = {"Content-Type": "application/json", **question.headers}
    return await ask(context, replace(question, method="POST", headers=headers, content=orjson.dumps(json)))
