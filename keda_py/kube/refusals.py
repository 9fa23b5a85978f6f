"""Map a refusal of the API server to the class of keda_py/errors.py that says who can fix it.

Used by `client.py` for HTTP answers and by `informers/reflector.py` for the ERROR events of a watch.
"""

from typing import Any

import orjson
import re2

from keda_py.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)

# Load balancers and proxies answer with pages of any length; this much identifies the sender.
QUOTED_CHARACTERS = 200
RETRY_AFTER_DEFAULT = 1.0

# Text in the authoriser's 403; quotas and admission webhooks answer with this code too, and need other remedies.
_NO_RIGHT = re2.compile(r'cannot \S+ resource "')

_LOG_IN = (
    "the API server does not accept our credentials; their token or certificate may have expired: "
    "log in again, or renew it"
)

_CLASSES: dict[int, type[KubeError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
}


def error_from_answer(code: int, body: bytes, retry_after: str = "", remedy: str = "") -> KubeError:
    """Build the error for an HTTP answer outside 2xx; `retry_after` is the header of that name, in seconds.

    `remedy` is added to a 403 that RBAC answers: how the missing right is given.
    """
    status = _parse(body)
    message = status.get("message")
    if code == 403 and remedy and isinstance(message, str) and _NO_RIGHT.search(message):
        status["message"] = f"{message}; {remedy}"
    if code == 401 and message == "Unauthorized":  # all that an API server says
        status["message"] = f"{message}: {_LOG_IN}"
    if status.get("kind") == "Status":
        return error_from_status({**status, "code": code}, retry_after)
    text = " ".join(body.decode(errors="replace").split())[:QUOTED_CHARACTERS]
    return error_from_status({"code": code, "message": f"HTTP {code}: {text}" if text else f"HTTP {code}"}, retry_after)


def error_from_status(status: dict[str, Any], retry_after: str = "") -> KubeError:
    """Build the error for a Kubernetes Status object."""
    code, reason = _code(status), str(status.get("reason") or "")
    message = str(status.get("message") or reason or f"status {code} without a message")
    if code == 429:
        return TooManyRequests(message, retry_after=_seconds(retry_after, status), reason=reason or "TooManyRequests")
    if code == 409 and reason == "AlreadyExists":
        return AlreadyExists(message, status=code, reason=reason)
    kind = _CLASSES.get(code, Unavailable if code >= 500 else KubeError)
    return kind(message, status=code, reason=reason)


def _parse(body: bytes) -> dict[str, Any]:
    try:
        status = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return status if isinstance(status, dict) else {}


def _code(status: dict[str, Any]) -> int:
    """Return the status code, 0 if it is not a number: then the sender is not an API server."""
    code = status.get("code")
    return code if isinstance(code, int) else 0


def _seconds(header: str, status: dict[str, Any]) -> float:
    details = status.get("details")
    text = header or str((details if isinstance(details, dict) else {}).get("retryAfterSeconds") or "")
    # A date is the header's other form; API servers send seconds.
    return float(text) if text.isdecimal() else RETRY_AFTER_DEFAULT
