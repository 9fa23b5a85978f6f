"""The HPA controller's queries to external.metrics.k8s.io, with the real controller's error texts."""

import orjson

from keda_py.core.hpa.external import ExternalSample
from keda_py.core.hpa.wire import read_target
from keda_py.errors import ConfigError
from keda_py.localkube.apiserver.aggregation import Aggregation, status_message
from keda_py.localkube.apiserver.scales import selector_text
from keda_py.localkube.controllers.shared import usage
from keda_py.localkube.model.calls import ApiAnswer, Call, User
from keda_py.schema.resources import Obj

GROUP, VERSION = "external.metrics.k8s.io", "v1beta1"
ASKING = User(
    name="system:serviceaccount:kube-system:horizontal-pod-autoscaler",
    groups=("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"),
)
FETCH_FAILED = "unable to fetch metrics from external metrics API: "
NONE_RETURNED = "no metrics returned from external metrics API"


class ExternalMetrics:
    """Queries one metric at a time."""

    def __init__(self, aggregation: Aggregation) -> None:
        self._aggregation = aggregation

    async def sample(self, namespace: str, source: Obj) -> ExternalSample:
        """Query an `external` metric source: its values, or an error."""
        name = source["metric"]["name"]
        selector = source["metric"].get("selector") or {}
        answer = await self._ask(namespace, name, selector)
        values, error = _read(answer, name)
        return ExternalSample(
            name=name,
            target=read_target(source["target"]),
            match_labels=selector.get("matchLabels") or {},
            values=values,
            error=error,
        )

    async def _ask(self, namespace: str, name: str, selector: Obj) -> ApiAnswer:
        path = f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{name}"
        labels = selector_text(selector)
        query = {"labelSelector": labels} if labels else {}
        headers = {"accept": "application/json"}
        return await self._aggregation.forward(Call(method="GET", path=path, query=query, headers=headers, user=ASKING))


def _read(answer: ApiAnswer, name: str) -> tuple[tuple[int, ...], str]:
    if answer.status != 200:
        return (), FETCH_FAILED + status_message(answer, f"get {name}.{GROUP}")
    try:
        items = orjson.loads(answer.encode())["items"]
        values = tuple(usage.milli(item["value"], field="value") for item in items)
    except (orjson.JSONDecodeError, KeyError, TypeError, ConfigError) as error:
        return (), f"{FETCH_FAILED}{error}"
    return values, "" if values else NONE_RETURNED
