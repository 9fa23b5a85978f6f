"""AdmissionReview v1, the part of the question that the webhook reads."""

from typing import Annotated, Any

from pydantic import Field

from keda_py.apis.wire import Wire


class AdmissionRequest(Wire):
    """One write that the API server is about to store."""

    uid: str
    operation: str
    """CREATE or UPDATE, as registered; anything else is allowed."""
    namespace: str = ""
    new: Annotated[dict[str, Any] | None, Field(alias="object")] = None
    old: Annotated[dict[str, Any] | None, Field(alias="oldObject")] = None
    dry_run: bool | None = None


class AdmissionReview(Wire):
    """The envelope."""

    request: AdmissionRequest
