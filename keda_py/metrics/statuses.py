"""Kubernetes Status errors, as the API server would word them."""

from collections.abc import Mapping


class StatusError(Exception):
    """A refusal that the client sees: HTTP code, Kubernetes reason and message."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message

    def body(self) -> Mapping[str, object]:
        """The Status object."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }


def bad_request(message: str) -> StatusError:
    """400: the client must ask otherwise."""
    return StatusError(400, "BadRequest", message)


def not_found() -> StatusError:
    """404: no such path."""
    return StatusError(404, "NotFound", "the server could not find the requested resource")


def method_not_allowed() -> StatusError:
    """405: only reading is served."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message)


def internal_error(message: str) -> StatusError:
    """500: also what KEDA answers for everything that a metric can fail with."""
    return StatusError(500, "InternalError", message)


def timed_out(message: str) -> StatusError:
    """504: the answer took too long."""
    return StatusError(504, "Timeout", message)
