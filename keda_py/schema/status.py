"""Refusals in the API server's own words: every error a client can see is built here.

Raised by the store, the patches and the routes; `localkube/apiserver/server.py` turns one into a `Status` body. Clients
branch on `reason` and `details`, people read `message`: both follow the recordings of a real API server.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keda_py.errors import KedaPyError
from keda_py.schema.resources import Obj, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One wrong field: `reason` as in metav1.CauseType, `message` without the field, `field` as a dotted path."""

    reason: str
    message: str
    field: str


class StatusError(KedaPyError):
    """A request is refused; `details` None leaves the key out, an empty dict does not."""

    def __init__(self, code: int, reason: str, message: str, details: Obj | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details

    def body(self) -> Obj:
        """The `Status` object on the wire."""
        head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message}
        details = {} if self.details is None else {"details": self.details}
        reason = {"reason": self.reason} if self.reason else {}
        return {**head, **reason, **details, "code": self.code}


def success(resource: Resource, name: str, uid: str) -> Obj:
    """What a completed DELETE answers."""
    details = _details(resource, name, resource.plural) | {"uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def not_found(resource: Resource, name: str) -> StatusError:
    """No object of that name."""
    message = f'{resource.qualified} "{name}" not found'
    return StatusError(404, "NotFound", message, _details(resource, name, resource.plural))


def unknown_resource() -> StatusError:
    """The group is served, the resource in it is not."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(resource: Resource, name: str) -> StatusError:
    """Create of a name that is taken."""
    message = f'{resource.qualified} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, _details(resource, name, resource.plural))


def conflict(resource: Resource, name: str) -> StatusError:
    """A write with a resourceVersion that is no longer the newest."""
    message = (
        f'Operation cannot be fulfilled on {resource.qualified} "{name}": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    return StatusError(409, "Conflict", message, _details(resource, name, resource.plural))


def uid_changed(resource: Resource, name: str, wanted: str, actual: str) -> StatusError:
    """A write to an object that was deleted and created again."""
    text = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {actual}"
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {text}'
    return StatusError(409, "Conflict", message, _details(resource, name, resource.plural))


def precondition_failed(resource: Resource, name: str, what: str, wanted: str, actual: str) -> StatusError:
    """A DELETE whose precondition (`what`: UID or ResourceVersion) names another object; it speaks of kinds."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    text = f"the {what} in the precondition ({wanted}) does not match the {what} in record ({actual})."
    message = f'Operation cannot be fulfilled on {kind} "{name}": {text} The object might have been deleted'
    message += " and then recreated" if what == "UID" else " or modified"
    return StatusError(409, "Conflict", message, _details(resource, name, resource.kind))


def invalid(group: str, kind: str, name: str, causes: Sequence[Cause]) -> StatusError:
    """The object breaks rules; one cause per rule, all of them in the message."""
    rows = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    qualified = f"{kind}.{group}" if group else kind
    details = {"name": name, **({"group": group} if group else {}), "kind": kind, "causes": rows}
    return StatusError(422, "Invalid", f'{qualified} "{name}" is invalid: {listed}', details)


def bad_request(message: str) -> StatusError:
    """The request itself cannot be understood."""
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    """Neither a known certificate nor a known token."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, plural: str, name: str, text: str) -> StatusError:
    """The request is understood and not allowed; the resource need not be one of ours."""
    qualified = f"{plural}.{group}" if group else plural
    what = f'{qualified} "{name}"' if name else qualified
    details = {**({"name": name} if name else {}), **({"group": group} if group else {}), "kind": plural}
    return StatusError(403, "Forbidden", f"{what} is forbidden: {text}", details)


def too_large(limit: int) -> StatusError:
    """A body of more bytes than the server reads."""
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def method_not_allowed() -> StatusError:
    """The resource does not know the verb."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, {})


def expired(wanted: int, oldest: int) -> StatusError:
    """A watch from a version that has been forgotten; the client lists again."""
    return StatusError(410, "Expired", f"too old resource version: {wanted} ({oldest})")


def continue_expired() -> StatusError:
    """A page token from a version that has been forgotten."""
    message = (
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter."
    )
    return StatusError(410, "Expired", message)


def version_too_large(wanted: int, newest: int) -> StatusError:
    """A read at a version that does not exist yet."""
    message = f"Timeout: Too large resource version: {wanted}, current: {newest}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return StatusError(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    """A body in a format the resource does not take; `accepted` empty is the router's own, shorter refusal."""
    if not accepted:
        return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    message = "the body of the request was in an unknown format - accepted media types include: "
    return StatusError(415, "UnsupportedMediaType", message + ", ".join(accepted))


def internal(message: str) -> StatusError:
    """Something the server depends on failed."""
    cause = {"message": message}
    return StatusError(500, "InternalError", f"Internal error occurred: {message}", {"causes": [cause]})


def unavailable(message: str) -> StatusError:
    """An aggregated API does not answer."""
    return StatusError(503, "ServiceUnavailable", message)


def _details(resource: Resource, name: str, kind: str) -> dict[str, Any]:
    group = {"group": resource.group} if resource.group else {}
    return {**({"name": name} if name else {}), **group, "kind": kind}
