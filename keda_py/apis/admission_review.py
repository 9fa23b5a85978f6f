"""AdmissionReview v1: the part of a request that the webhook reads."""

from typing import Annotated, Any

from pydantic import Field

from keda_py.apis.wire import Wire


class UserInfo(Wire):
    """User who sends the write, as the API server authenticated them."""

    username: Annotated[str, Field(max_length=1024)] = ""


class AdmissionRequest(Wire):
    """Write that the API server is about to store."""

    uid: Annotated[str, Field(min_length=1, max_length=128)]
    """Echoed in the response, which the API server matches by it."""
    operation: Annotated[str, Field(max_length=16)]
    """CREATE or UPDATE, as registered; anything else is allowed."""
    namespace: Annotated[str, Field(max_length=63)] = ""
    new: Annotated[dict[str, Any] | None, Field(alias="object")] = None
    old: Annotated[dict[str, Any] | None, Field(alias="oldObject")] = None
    dry_run: bool | None = None
    user_info: UserInfo = UserInfo()


class AdmissionReview(Wire):
    """Envelope of a request."""

    request: AdmissionRequest
