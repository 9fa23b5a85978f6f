"""One question of the HPA controller, followed from file to file: it comes back to none that it has left."""

from dataclasses import replace
from itertools import groupby

from keda_py.kube.transport import Request
from keda_py.serving.prompt import LONGEST_HEAD
from tests.operator.standby.test_sharing import OWN, ROOT, Neighbourhood, neighbourhood
from tests.operator.way import CALLBACKS, Way, watched_way

__all__ = ["neighbourhood"]

STAGES = [
    "external_metrics/server.py",
    "serving/api_request.py",
    "serving/authentication.py",
    "serving/authorisation.py",
    "external_metrics/authorised_request.py",
    "external_metrics/routing.py",
    "external_metrics/metric_values.py",
    "external_metrics/query.py",
]
AT_ONCE = [
    "serving/api_request.py",
    "external_metrics/server.py",
    "serving/authentication.py",
    "serving/reviews.py",
    "external_metrics/authorised_request.py",
    "external_metrics/routing.py",
    "external_metrics/metric_values.py",
    "external_metrics/query.py",
]
"""Of a question that needs no waiting: `CachedStages`."""
LOOKED_UP = {
    "serving/peers.py",
    "serving/client_trust.py",
    "serving/front_proxy.py",
    "serving/reviews.py",
    "operator/serving.py",
    "operator/standby/metric_delegation.py",
    "telemetry/question_metrics.py",
    "operator/scaled_objects/parts.py",
}
"""Asked by one stage each, or put around the query; they call no stage."""


QUERY = {"labelSelector": "scaledobject.keda.sh/name=app"}


async def ask_twice(neighbourhood: Neighbourhood, **more: str) -> Way:
    """Ask once, after which the callers' rights are remembered, and watch the second time; `more` is in its query."""
    request = Request(method="GET", path=f"{ROOT}/namespaces/default/{OWN}", query=QUERY)
    await neighbourhood.world.client.send(request)
    with watched_way() as way:
        await neighbourhood.world.client.send(replace(request, query=QUERY | more))
    return way


def stages_of(files: list[str]) -> list[str]:
    """The files that serve, up to the query."""
    until_query = files[: files.index("external_metrics/query.py") + 1]
    return [file for file, _ in groupby(one for one in until_query if one in STAGES or one in LOOKED_UP)]


async def test_a_question_passes_each_stage_once_and_in_order(neighbourhood: Neighbourhood) -> None:
    way = await ask_twice(neighbourhood, pretty="x" * LONGEST_HEAD)  # too long to be answered at once
    serving = stages_of(way.files)
    assert [file for file in serving if file in STAGES] == STAGES
    assert len(serving) == len(set(serving)), serving


async def test_what_is_cached_passes_the_same_stages_without_a_task(neighbourhood: Neighbourhood) -> None:
    way = await ask_twice(neighbourhood, pretty="x")
    files = way.of(CALLBACKS)
    serving = stages_of(files[files.index("serving/prompt.py") :])
    assert [file for file in serving if file in AT_ONCE] == AT_ONCE
    assert len(serving) == len(set(serving)), serving


async def test_a_question_that_came_before_is_not_parsed_again(neighbourhood: Neighbourhood) -> None:
    await ask_twice(neighbourhood)
    way = await ask_twice(neighbourhood)
    files = way.of(CALLBACKS)
    serving = stages_of(files[files.index("serving/prompt.py") :])
    assert [file for file in serving if file in AT_ONCE] == AT_ONCE[1:]
    assert len(serving) == len(set(serving)), serving
