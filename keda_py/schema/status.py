"""Refusals in the API server's words: every error that a client can get is built here.

Raised by the store, the patches and the routes; `localkube/apiserver/server.py` turns one into a `Status` body. Clients
branch on `reason` and `details`, people read `message`: both equal the recordings of a real API server.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keda_py.errors import KedaPyError
from keda_py.schema.resources import Obj, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """An invalid field: `reason` as in metav1.CauseType, `message` without the field, `field` as a dotted path."""

    reason: str
    message: str
    field: str


class StatusError(KedaPyError):
    """A refusal of a request; `details` None omits the key, an empty dict does not."""

    def __init__(self, code: int, reason: str, message: str, details: Obj | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details

    def body(self) -> Obj:
        """Build the `Status` object for the wire."""
        head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message}
        details = {} if self.details is None else {"details": self.details}
        reason = {"reason": self.reason} if self.reason else {}
        return {**head, **reason, **details, "code": self.code}


def success(resource: Resource, name: str, uid: str) -> Obj:
    """Build the answer to a completed DELETE."""
    details = _details(resource, name, resource.plural) | {"uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def not_found(resource: Resource, name: str) -> StatusError:
    """The refusal for a missing object."""
    message = f'{resource.qualified} "{name}" not found'
    return StatusError(404, "NotFound", message, _details(resource, name, resource.plural))


def unknown_resource() -> StatusError:
    """The refusal for an unknown resource of a served group."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(resource: Resource, name: str) -> StatusError:
    """The refusal to create an object whose name is taken."""
    message = f'{resource.qualified} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, _details(resource, name, resource.plural))


def conflict(resource: Resource, name: str) -> StatusError:
    """The refusal of a write whose resourceVersion is not the current one."""
    message = (
        f'Operation cannot be fulfilled on {resource.qualified} "{name}": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    return StatusError(409, "Conflict", message, _details(resource, name, resource.plural))


def uid_changed(resource: Resource, name: str, wanted: str, actual: str) -> StatusError:
    """The refusal of a write to an object that was deleted and created again."""
    text = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {actual}"
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {text}'
    return StatusError(409, "Conflict", message, _details(resource, name, resource.plural))


def precondition_failed(resource: Resource, name: str, what: str, wanted: str, actual: str) -> StatusError:
    """The refusal of a DELETE whose precondition (`what`: UID or ResourceVersion) fails."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    text = f"the {what} in the precondition ({wanted}) does not match the {what} in record ({actual})."
    message = f'Operation cannot be fulfilled on {kind} "{name}": {text} The object might have been deleted'
    message += " and then recreated" if what == "UID" else " or modified"
    return StatusError(409, "Conflict", message, _details(resource, name, resource.kind))


def invalid(group: str, kind: str, name: str, causes: Sequence[Cause]) -> StatusError:
    """The refusal of an object that breaks rules; the message has all causes."""
    rows = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    qualified = f"{kind}.{group}" if group else kind
    details = {"name": name, **({"group": group} if group else {}), "kind": kind, "causes": rows}
    return StatusError(422, "Invalid", f'{qualified} "{name}" is invalid: {listed}', details)


def bad_request(message: str) -> StatusError:
    """The refusal of a malformed request."""
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    """The refusal of a request without known credentials."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, plural: str, name: str, text: str) -> StatusError:
    """The refusal of a request that no role allows; the resource may be of an aggregated API."""
    qualified = f"{plural}.{group}" if group else plural
    what = f'{qualified} "{name}"' if name else qualified
    details = {**({"name": name} if name else {}), **({"group": group} if group else {}), "kind": plural}
    return StatusError(403, "Forbidden", f"{what} is forbidden: {text}", details)


def too_large(limit: int) -> StatusError:
    """The refusal of a body over the server's limit."""
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def method_not_allowed() -> StatusError:
    """The refusal of a verb that the resource does not support."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, {})


def expired(wanted: int, oldest: int) -> StatusError:
    """The refusal of a watch whose version has been dropped: the client lists again."""
    return StatusError(410, "Expired", f"too old resource version: {wanted} ({oldest})")


def continue_expired() -> StatusError:
    """The refusal of a page token whose version has been dropped."""
    message = (
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter."
    )
    return StatusError(410, "Expired", message)


def version_too_large(wanted: int, newest: int) -> StatusError:
    """The refusal of a read at a version that does not exist yet."""
    message = f"Timeout: Too large resource version: {wanted}, current: {newest}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return StatusError(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    """The refusal of a body's format; without `accepted` it has the router's shorter text."""
    if not accepted:
        return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    message = "the body of the request was in an unknown format - accepted media types include: "
    return StatusError(415, "UnsupportedMediaType", message + ", ".join(accepted))


def internal(message: str) -> StatusError:
    """The refusal after a failure of a part of the server."""
    cause = {"message": message}
    return StatusError(500, "InternalError", f"Internal error occurred: {message}", {"causes": [cause]})


def unavailable(message: str) -> StatusError:
    """The refusal if an aggregated API does not answer."""
    return StatusError(503, "ServiceUnavailable", message)


def _details(resource: Resource, name: str, kind: str) -> dict[str, Any]:
    group = {"group": resource.group} if resource.group else {}
    return {**({"name": name} if name else {}), **group, "kind": kind}
