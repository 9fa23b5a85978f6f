"""The stages of `external_metrics/server.py` for a question that needs no waiting.

The same stages in the same order, each by what it has cached; where one would have to wait, or to refuse, there is no
answer here, and the request goes through `server.py`, which waits and words refusals.
"""

from collections.abc import Callable
from dataclasses import dataclass

from keda_py.external_metrics.authorised_request import AuthorisedRequest, question_of
from keda_py.external_metrics.routing import Route
from keda_py.serving.api_request import ApiRequest
from keda_py.serving.caller import Caller, RequestAttributes
from keda_py.serving.statuses import StatusError


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedStages:
    """Answers questions for metrics. `authenticate` returns None for a caller that only a review could tell."""

    authenticate: Callable[[ApiRequest], Caller | None]
    is_allowed: Callable[[Caller, RequestAttributes], bool]
    routes: Callable[[AuthorisedRequest], tuple[Route, ...]]
    answer: Callable[[AuthorisedRequest], bytes | None]

    def __call__(self, asked: ApiRequest) -> bytes | None:
        """Return the JSON of an answer 200, else None."""
        caller = self.authenticate(asked)
        if caller is None or caller.is_replica or not self.is_allowed(caller, asked.wanted):
            return None
        question = question_of(caller, asked)
        try:
            routes = self.routes(question)
        except StatusError:
            return None
        return self.answer(question) if routes == (Route.METRIC,) else None
