"""The stages of a metrics server that stands alone: it leads, and knows no other adapter."""

from collections.abc import Awaitable, Callable

from keda_py.external_metrics.discovery import answer_document
from keda_py.external_metrics.question import Answer, Question
from keda_py.external_metrics.routing import Route, Routing
from keda_py.external_metrics.server import Stages
from keda_py.serving.asked import Asked
from keda_py.serving.caller import Caller


def stages(
    authenticate: Callable[[Asked], Awaitable[Caller]],
    authorise: Callable[[Caller, Asked], Awaitable[None]],
    metrics: Callable[[Question], Awaitable[Answer]],
) -> Stages:
    """Answers metrics and documents."""
    return Stages(
        authenticate=authenticate,
        authorise=authorise,
        routes=Routing(answers=lambda _: True).routes,
        answers={Route.METRIC: metrics, Route.DOCUMENT: answer_document},
    )
