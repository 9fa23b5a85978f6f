"""The stages of a metrics server that stands alone: it leads, and knows no other adapter."""

from collections.abc import Awaitable, Callable

from keda_py.external_metrics.authorised_request import ApiResponse, AuthorisedRequest
from keda_py.external_metrics.discovery import answer_document
from keda_py.external_metrics.routing import Route, Routing
from keda_py.external_metrics.server import Stages
from keda_py.serving.api_request import ApiRequest
from keda_py.serving.caller import Caller
from keda_py.serving.prompt import Prompt


def stages(
    authenticate: Callable[[ApiRequest], Awaitable[Caller]],
    authorise: Callable[[Caller, ApiRequest], Awaitable[None]],
    metrics: Callable[[AuthorisedRequest], Awaitable[ApiResponse]],
    at_once: Prompt = lambda _: None,
) -> Stages:
    """Answers metrics and documents."""
    return Stages(
        authenticate=authenticate,
        authorise=authorise,
        routes=Routing(answers=lambda _: True).routes,
        at_once=at_once,
        answers={Route.METRIC: metrics, Route.DOCUMENT: answer_document},
    )
