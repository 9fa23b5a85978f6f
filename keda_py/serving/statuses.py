"""Kubernetes Status errors, as the API server would word them."""

from collections.abc import Mapping

from keda_py.serving.caller import Caller, Wanted


class StatusError(Exception):
    """A refusal that the client sees: HTTP code, Kubernetes reason and message."""

    def __init__(self, code: int, reason: str, message: str, details: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details

    def body(self) -> Mapping[str, object]:
        """The Status object."""
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
    """400: the client must ask otherwise."""
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    """401: who you are was not believed."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(caller: Caller, wanted: Wanted, reason: str = "") -> StatusError:
    """403: you may not."""
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
    """404: no such path."""
    return StatusError(404, "NotFound", "the server could not find the requested resource")


def method_not_allowed() -> StatusError:
    """405: only reading is served."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message)


def misdirected(message: str) -> StatusError:
    """421: another replica is to be asked."""
    return StatusError(421, "MisdirectedRequest", message)


def internal_error(message: str) -> StatusError:
    """500: also what KEDA answers for everything that a metric can fail with."""
    return StatusError(500, "InternalError", message)


def unavailable(message: str) -> StatusError:
    """503: not now, or not here."""
    return StatusError(503, "ServiceUnavailable", message)


def timed_out(message: str) -> StatusError:
    """504: the answer took too long."""
    return StatusError(504, "Timeout", message)
