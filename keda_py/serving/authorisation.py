"""Authorisation: third stage of a request to `external_metrics/server.py`, delegated to the cluster.

Anonymous callers are refused without a request to the API server. Other replicas forward requests that they have
authorised, and may send no others. Comes from `authentication.py`; next: `external_metrics/routing.py`. Behaviour
reference, section 7.1.
"""

from collections.abc import Callable

from keda_py.errors import KubeError
from keda_py.serving.api_request import ApiRequest
from keda_py.serving.caller import ANONYMOUS, Caller
from keda_py.serving.reviews import AccessReviews
from keda_py.serving.statuses import forbidden, internal_error


class Authorisation:
    """Checks callers. `passed_on` tells whether a request is one that replicas forward to each other."""

    def __init__(self, reviews: AccessReviews, passed_on: Callable[[ApiRequest], bool]) -> None:
        self._reviews, self._passed_on = reviews, passed_on

    async def check(self, caller: Caller, asked: ApiRequest) -> None:
        """Return if the caller may do this. Raises StatusError 403, or 500 if the API server cannot be asked."""
        if caller.is_replica:
            if not self._passed_on(asked):
                raise forbidden(caller, asked.wanted)
            return
        # Refused without a review: anonymous callers could otherwise cause one request to the API server each.
        if caller is ANONYMOUS:
            raise forbidden(caller, asked.wanted)
        try:
            verdict = await self._reviews.decide(caller, asked.wanted)
        except KubeError as error:
            raise internal_error(f"the API server cannot tell whether you may: {error}") from None
        if not verdict.allowed:
            raise forbidden(caller, asked.wanted, verdict.reason)
