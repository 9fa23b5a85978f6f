"""Kubernetes Status errors, in the API server's words."""

from collections.abc import Mapping

from keda_py.serving.caller import Caller, RequestAttributes


class StatusError(Exception):
    """Refusal that the client sees: HTTP code, Kubernetes reason and message."""

    def __init__(self, code: int, reason: str, message: str, details: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details

    def body(self) -> Mapping[str, object]:
        """Return the Status object for the wire."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **({} if self.details is None else {"details": dict(self.details)}),
            "code": self.code,
        }


def bad_request(message: str) -> StatusError:
    """Make a 400: the request is malformed, and repeating it is useless."""
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    """Make a 401: the credentials were not accepted."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(caller: Caller, wanted: RequestAttributes, reason: str = "") -> StatusError:
    """Make a 403 with the message that RBAC's users know."""
    because = f": {reason}" if reason else ""
    if not wanted.resource:
        message = f'forbidden: User "{caller.name}" cannot {wanted.verb} path "{wanted.path}"{because}'
        return StatusError(403, "Forbidden", message, {})
    full = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
    scope = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    kind = f"{wanted.resource}.{wanted.group}"
    subject = f'{kind} "{wanted.name}"' if wanted.name else kind
    message = (
        f'{subject} is forbidden: User "{caller.name}" cannot {wanted.verb} resource "{full}" '
        f'in API group "{wanted.group}" {scope}{because}'
    )
    name = {"name": wanted.name} if wanted.name else {}
    return StatusError(403, "Forbidden", message, {**name, "group": wanted.group, "kind": wanted.resource})


def not_found() -> StatusError:
    """Make a 404 for a path that is not served."""
    return StatusError(404, "NotFound", "the server could not find the requested resource")


def method_not_allowed() -> StatusError:
    """Make a 405: the API is read-only."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message)


def misdirected(message: str) -> StatusError:
    """Make a 421: another replica owns the object."""
    return StatusError(421, "MisdirectedRequest", message)


def internal_error(message: str) -> StatusError:
    """Make a 500, which KEDA answers for every failure of a metric."""
    return StatusError(500, "InternalError", message)


def unavailable(message: str) -> StatusError:
    """Make a 503: a retry, here or at another replica, may succeed."""
    return StatusError(503, "ServiceUnavailable", message)


def timed_out(message: str) -> StatusError:
    """Make a 504: the source did not answer in time."""
    return StatusError(504, "Timeout", message)
