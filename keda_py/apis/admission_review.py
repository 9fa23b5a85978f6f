"""AdmissionReview v1, the part of the question that the webhook reads."""

from typing import Annotated, Any

from pydantic import Field

from keda_py.apis.wire import Wire


class UserInfo(Wire):
    """Who writes, as the API server knows them."""

    username: Annotated[str, Field(max_length=1024)] = ""


class AdmissionRequest(Wire):
    """One write that the API server is about to store."""

    uid: Annotated[str, Field(min_length=1, max_length=128)]
    """Echoed: it tells the API server which of its questions is answered."""
    operation: Annotated[str, Field(max_length=16)]
    """CREATE or UPDATE, as registered; anything else is allowed."""
    namespace: Annotated[str, Field(max_length=63)] = ""
    new: Annotated[dict[str, Any] | None, Field(alias="object")] = None
    old: Annotated[dict[str, Any] | None, Field(alias="oldObject")] = None
    dry_run: bool | None = None
    user_info: UserInfo = UserInfo()


class AdmissionReview(Wire):
    """The envelope."""

    request: AdmissionRequest
