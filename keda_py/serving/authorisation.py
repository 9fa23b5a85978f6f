"""What a caller may ask: the third stage of a question to `external_metrics/server.py`, delegated to the cluster.

Anonymous callers are refused without a question to the API server; other replicas pass on what they have authorised
themselves, and may ask nothing else. Comes from `authentication.py`; next: `external_metrics/routing.py`. Behaviour
reference, section 7.1.
"""

from collections.abc import Callable

from keda_py.errors import KubeError
from keda_py.serving.asked import Asked
from keda_py.serving.caller import ANONYMOUS, Caller
from keda_py.serving.reviews import AccessReviews
from keda_py.serving.statuses import forbidden, internal_error


class Authorisation:
    """`passed_on(asked)` says what replicas ask each other."""

    def __init__(self, reviews: AccessReviews, passed_on: Callable[[Asked], bool]) -> None:
        self._reviews, self._passed_on = reviews, passed_on

    async def check(self, caller: Caller, asked: Asked) -> None:
        """Return if the caller may do what is asked. Raises StatusError 403, or 500 when that is unknown."""
        if caller.is_replica:
            if not self._passed_on(asked):
                raise forbidden(caller, asked.wanted)
            return
        if caller is ANONYMOUS:
            raise forbidden(caller, asked.wanted)
        try:
            verdict = await self._reviews.decide(caller, asked.wanted)
        except KubeError as error:
            raise internal_error(f"the API server cannot tell whether you may: {error}") from None
        if not verdict.allowed:
            raise forbidden(caller, asked.wanted, verdict.reason)
