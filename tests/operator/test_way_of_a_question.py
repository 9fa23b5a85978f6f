"""One question of the HPA controller, followed from file to file: it comes back to none that it has left."""

from itertools import groupby

from keda_py.kube.transport import Request
from tests.operator.standby.test_sharing import OWN, ROOT, Neighbourhood, neighbourhood
from tests.operator.way import watched_way

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


async def test_a_question_passes_each_stage_once_and_in_order(neighbourhood: Neighbourhood) -> None:
    client = neighbourhood.world.client
    query = {"labelSelector": "scaledobject.keda.sh/name=app"}
    request = Request(method="GET", path=f"{ROOT}/namespaces/default/{OWN}", query=query)
    await client.send(request)  # now the callers' rights are remembered
    with watched_way() as way:
        await client.send(request)
    until_query = way.files[: way.files.index("external_metrics/query.py") + 1]
    serving = [file for file, _ in groupby(one for one in until_query if one in STAGES or one in LOOKED_UP)]
    assert [file for file in serving if file in STAGES] == STAGES
    assert len(serving) == len(set(serving)), serving
