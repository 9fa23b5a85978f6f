"""One GET for scalers that read HTTP: the shared client, and errors that say what failed without telling a secret.

An address is shown without userinfo and query, since both may hold keys.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import httpx

from keda_py.scaler import ScalerContext, ScalerError


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpQuestion:
    """What one trigger asks each time. `parameters` join those of `url`; `tls` None: the client's own trust."""

    url: str
    parameters: Mapping[str, str | list[str]] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: timedelta | None = None
    tls: ssl.SSLContext | None = None


async def get(context: ScalerContext, question: HttpQuestion) -> httpx.Response:
    """The answer, read whole, whatever its status. Raises ScalerError when none came."""
    timeout = context.http_timeout if question.timeout is None else question.timeout.total_seconds()
    extensions = {} if question.tls is None else {"ssl": question.tls}
    try:
        url = httpx.URL(question.url)
        if question.parameters:
            url = url.copy_merge_params(dict(question.parameters))
        return await context.http.get(url, headers=question.headers, timeout=timeout, extensions=extensions)
    except httpx.TimeoutException as error:
        reason = f"{error} ({timeout:g} s)" if str(error) else f"no answer in {timeout:g} s"
        raise ScalerError(f'Get "{shown(question.url)}": {reason}') from None
    except httpx.HTTPError as error:
        raise ScalerError(f'Get "{shown(question.url)}": {error}') from None
    except (httpx.InvalidURL, UnicodeError):
        # The text of these errors repeats the address or the header.
        message = "the address or a header has a character that HTTP does not allow"
        raise ScalerError(f'Get "{shown(question.url)}": {message}') from None


def shown(url: str) -> str:
    """An address for error texts: scheme, host, port and path only."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return "the address (not shown)"
    return str(parsed.copy_with(username=None, password=None, query=None, fragment=None))
