"""The HPA controller's queries to custom.metrics.k8s.io, with the real controller's error texts.

They go through the aggregation: nothing in this package serves the group, an APIService names a server for it, as on
any cluster. A Pods metric is one query for all pods of the scale's selector, an Object metric one for the object.
"""

from collections.abc import Mapping

import orjson

from keda_py.core.hpa.custom import ObjectSample, PodsSample
from keda_py.core.hpa.metrics import MetricTarget, TargetType
from keda_py.core.hpa.wire import read_target
from keda_py.errors import ConfigError
from keda_py.localkube.apiserver.aggregation import Aggregation, status_message
from keda_py.localkube.apiserver.scales import selector_text
from keda_py.localkube.controllers.autoscaling.external_metrics import ASKING
from keda_py.localkube.controllers.shared import usage
from keda_py.localkube.model.calls import ApiAnswer, Call
from keda_py.localkube.store.store import Store
from keda_py.schema.resources import Obj

GROUP, VERSIONS = "custom.metrics.k8s.io", ("v1beta2", "v1beta1")
FETCH_FAILED = "unable to fetch metrics from custom metrics API: "
NONE_RETURNED = "no metrics returned from custom metrics API"


class CustomMetrics:
    """Queries one metric at a time."""

    def __init__(self, aggregation: Aggregation, store: Store) -> None:
        self._aggregation, self._store = aggregation, store

    async def pods(self, namespace: str, selector: str, source: Obj) -> PodsSample:
        """Query a `pods` metric source: a value for each pod of the scale's selector, or an error."""
        name = source["metric"]["name"]
        # The real controller uses averageValue even if `target.type` says otherwise.
        target = MetricTarget(
            type=TargetType.AVERAGE_VALUE, amount=usage.milli(source["target"]["averageValue"], field="averageValue")
        )
        path = f"namespaces/{namespace}/pods/*/{name}"
        items, error = await self._items(path, f"pods.{GROUP} *", _query(source, selector))
        try:
            values = {item["describedObject"]["name"]: _value(item) for item in items}
        except (KeyError, TypeError, ConfigError) as wrong:
            values, error = {}, f"{FETCH_FAILED}{wrong}"
        return PodsSample(name=name, target=target, values=values, error=error or ("" if values else NONE_RETURNED))

    async def object(self, namespace: str, source: Obj) -> ObjectSample:
        """Query an `object` metric source: its value, or an error."""
        described, metric = source["describedObject"], source["metric"]
        value, error = await self._value_of(namespace, source)
        selector = metric.get("selector")
        return ObjectSample(
            name=metric["name"],
            target=read_target(source["target"]),
            kind=described["kind"],
            object_name=described["name"],
            match_labels=None if selector is None else selector.get("matchLabels") or {},
            value=value,
            error=error,
        )

    async def _value_of(self, namespace: str, source: Obj) -> tuple[int, str]:
        described, name = source["describedObject"], source["metric"]["name"]
        group, _, version = described.get("apiVersion", "").rpartition("/")
        if (group, described["kind"]) == ("", "Namespace"):  # the real client asks for the HPA's own namespace
            path, what = f"namespaces/{namespace}/metrics/{name}", f"metrics.{GROUP} {name}"
        elif resource := self._resource(group, version, described["kind"]):
            path = f"namespaces/{namespace}/{resource}/{described['name']}/{name}"
            what = f"{resource}.{GROUP} {described['name']}"
        else:
            kind = f"{described['kind']}.{group}" if group else described["kind"]
            return 0, f'{FETCH_FAILED}unable to map kind {kind} to resource: no matches for kind "{kind}"'
        items, error = await self._items(path, what, _query(source, ""))
        if error:
            return 0, error
        # One object was named, so any other number is an error: to pick one would scale by a wrong value.
        if len(items) != 1:
            text = f"the custom metrics API server returned {len(items)} results when we asked for exactly one"
            return 0, f"{FETCH_FAILED}{text}"
        try:
            return _value(items[0]), ""
        except (KeyError, TypeError, ConfigError) as wrong:
            return 0, f"{FETCH_FAILED}{wrong}"

    def _resource(self, group: str, version: str, kind: str) -> str:
        """The qualified resource, as `ingresses.networking.k8s.io`; "" for a kind that is not served."""
        known = self._store.resources.group(group)
        versions = (version, *(known.versions if known is not None else ()))
        found = [resource for each in versions if (resource := self._store.resources.of_kind(group, each, kind))]
        return (f"{found[0].plural}.{group}" if group else found[0].plural) if found else ""

    async def _items(self, path: str, asked: str, query: Mapping[str, str]) -> tuple[list[Obj], str]:
        """The items of the answer, and an error text if it has none."""
        version = next((each for each in VERSIONS if self._aggregation.serves(GROUP, each)), "")
        if not version:
            return [], f"{FETCH_FAILED}no custom metrics API ({GROUP}) registered"
        call = Call(
            method="GET",
            path=f"/apis/{GROUP}/{version}/{path}",
            query=query,
            headers={"accept": "application/json"},
            user=ASKING,
        )
        answer = await self._aggregation.forward(call)
        if answer.status != 200:
            return [], FETCH_FAILED + status_message(answer, f"get {asked}")
        return _read(answer)


def _query(source: Obj, selector: str) -> dict[str, str]:
    labels = selector_text(source["metric"].get("selector"))
    query = {"labelSelector": selector, "metricLabelSelector": labels}
    return {key: value for key, value in query.items() if value}


def _read(answer: ApiAnswer) -> tuple[list[Obj], str]:
    try:
        items = orjson.loads(answer.encode())["items"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        return [], f"{FETCH_FAILED}{error}"
    return (items, "") if isinstance(items, list) else ([], f"{FETCH_FAILED}items: no list")


def _value(item: Obj) -> int:
    """The item's quantity in milli-units."""
    return usage.milli(item["value"], field="value")
