"""Addresses and errors of HTTP requests, in one form for all scalers: `Get "http://host:port/": Connection refused`.

An address is shown without userinfo and query, since both may hold keys.
"""

from functools import lru_cache

import httpx

from keda_py.errors import AnswerTooLong, ScalerError
from keda_py.net.kept_address import KeptAddress

_LONGEST_KEPT, _MOST_KEPT = 1000, 1024
"""Characters of an address that is kept parsed, and how many are kept."""


def address_of(url: str) -> httpx.URL:
    """Parse an address, once where it is asked again and again, since that takes 30 us. Raises httpx.InvalidURL."""
    return _kept_address(url) if len(url) <= _LONGEST_KEPT else httpx.URL(url)


_kept_address = lru_cache(_MOST_KEPT)(KeptAddress)


def http_failure(error: Exception, what: str, seconds: float | None) -> ScalerError:
    """Word an error for the user. `what`: as `question_of` has it; `seconds`: the time-out, if it is known."""
    match error:
        case httpx.TimeoutException():
            limit = f"{seconds:g} s" if seconds else "time"
            reason = f"{error} ({limit})" if str(error) and seconds else str(error) or f"no answer in {limit}"
        case httpx.HTTPError():
            if isinstance(error.__cause__, AnswerTooLong):
                return AnswerTooLong(f"{what}: {error}")
            reason = str(error)
        case _:  # the text of InvalidURL and UnicodeError repeats the address or the header
            reason = "the address or a header has a character that HTTP does not allow"
    return ScalerError(f"{what}: {reason}")


def failure_of(error: httpx.RequestError, scaler: str) -> ScalerError:
    """Word an error that a scaler did not catch: it knows its request, unless the scaler made it itself."""
    try:
        request = error.request
    except RuntimeError:
        return http_failure(error, scaler, None)
    limits = request.extensions.get("timeout") or {}
    return http_failure(error, question_of(request.method, shown(str(request.url))), limits.get("read"))


def question_of(method: str, address: str) -> str:
    """`Get "http://host:port/path"`."""
    return f'{method.capitalize()} "{address}"'


def shown(url: str) -> str:
    """An address for error texts: scheme, host, port and path only."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return "the address (not shown)"
    return str(parsed.copy_with(username=None, password=None, query=None, fragment=None))
