"""Questions of scalers that ask by HTTP: the shared client, and errors that say what failed without telling a secret.

An address is shown without userinfo and query, since both may hold keys.
"""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import httpx
import orjson

from keda_py.sdk.scaler import AnswerTooLong, RedirectRule, ScalerContext, ScalerError


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpQuestion:
    """What one trigger asks each time. `parameters` join those of `url`; `tls` None: the client's own trust.

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
    """What errors call the address, where its path holds a secret."""


async def ask(context: ScalerContext, question: HttpQuestion) -> httpx.Response:
    """The answer, read whole, whatever its status. Raises ScalerError when none came, AnswerTooLong for a long one."""
    timeout = question.timeout.total_seconds() if question.timeout else context.http_timeout
    with _as_scaler_error(question, timeout):
        url = httpx.URL(question.url)
        if question.parameters:
            url = url.copy_merge_params(dict(question.parameters))
        extensions: dict[str, object] = {"redirects": question.redirects}
        if question.tls is not None:
            extensions["ssl"] = question.tls
        return await context.http.request(
            question.method,
            url,
            headers=question.headers,
            content=question.content or None,
            timeout=timeout,
            extensions=extensions,
        )


async def get(context: ScalerContext, question: HttpQuestion) -> httpx.Response:
    """As `ask`: a question without a method of its own is a GET."""
    return await ask(context, question)


async def post(context: ScalerContext, question: HttpQuestion, json: object) -> httpx.Response:
    """The answer to a body of JSON, as `ask` has it."""
    headers = {"Content-Type": "application/json", **question.headers}
    return await ask(context, replace(question, method="POST", headers=headers, content=orjson.dumps(json)))


@contextmanager
def _as_scaler_error(question: HttpQuestion, timeout: float) -> Iterator[None]:
    try:
        yield
        return
    except httpx.TimeoutException as error:
        reason = f"{error} ({timeout:g} s)" if str(error) else f"no answer in {timeout:g} s"
    except httpx.HTTPError as error:
        if isinstance(error.__cause__, AnswerTooLong):
            raise AnswerTooLong(f"{_what(question)}: {error}") from None
        reason = str(error)
    except (httpx.InvalidURL, UnicodeError):
        # The text of these errors repeats the address or the header.
        reason = "the address or a header has a character that HTTP does not allow"
    raise ScalerError(f"{_what(question)}: {reason}")


def _what(question: HttpQuestion) -> str:
    return f'{question.method.capitalize()} "{question.shown or shown(question.url)}"'


def shown(url: str) -> str:
    """An address for error texts: scheme, host, port and path only."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return "the address (not shown)"
    return str(parsed.copy_with(username=None, password=None, query=None, fragment=None))
