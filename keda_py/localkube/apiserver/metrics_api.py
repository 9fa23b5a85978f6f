"""metrics.k8s.io/v1beta1 for `kubectl top pods`, answered from the usage that pods declare.

A real cluster runs a metrics-server behind an APIService. Here the aggregation serves the group in this process, until
an APIService points elsewhere.
"""

from collections.abc import Iterable, Iterator, Sequence

from keda_py.errors import ConfigError
from keda_py.localkube.controllers.shared.usage import WINDOW, Usage, format_amount
from keda_py.localkube.model.calls import ApiAnswer, Call, refusal
from keda_py.localkube.model.selectors import FieldSelector, parse_labels
from keda_py.localkube.store.lifecycle import timestamp
from keda_py.localkube.store.store import Store
from keda_py.schema.resources import Obj, Resource
from keda_py.schema.status import StatusError, method_not_allowed, not_found, unknown_resource

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
POD_METRICS = Resource(
    group=GROUP,
    version=VERSION,
    kind="PodMetrics",
    plural="pods",
    singular="pod",
    namespaced=True,
    verbs=("get", "list"),
)
_HEAD = {"apiVersion": f"{GROUP}/{VERSION}"}


class MetricsApi:
    """Serves the metrics of one store's pods."""

    def __init__(self, store: Store, usage: Usage) -> None:
        self._store, self._usage = store, usage
        self._pods = store.resources.get("v1", "Pod")

    def answer(self, call: Call) -> ApiAnswer:
        """Answer a request below /apis/metrics.k8s.io/v1beta1."""
        try:
            return self._routed(call, [part for part in call.path.split("/") if part][3:])
        except StatusError as error:
            return refusal(error)

    def _routed(self, call: Call, parts: Sequence[str]) -> ApiAnswer:
        if call.method != "GET":
            raise method_not_allowed()
        match parts:
            case []:
                return ApiAnswer(body=_resource_list())
            case ["pods"]:
                return self._list(call, "")
            case ["namespaces", namespace, "pods"]:
                return self._list(call, namespace)
            case ["namespaces", namespace, "pods", name]:
                return self._get(namespace, name)
        raise unknown_resource()

    def _get(self, namespace: str, name: str) -> ApiAnswer:
        pod = self._store.find(self._pods, namespace, name)
        found = list(self._metrics([pod] if pod is not None else []))
        if not found:
            raise not_found(POD_METRICS, f"{namespace}/{name}")
        return ApiAnswer(body={"kind": "PodMetrics", **_HEAD, **found[0]})

    def _list(self, call: Call, namespace: str) -> ApiAnswer:
        labels = parse_labels(call.query.get("labelSelector", ""))
        fields = FieldSelector.parse(call.query.get("fieldSelector", ""))
        items = list(self._metrics(self._store.list(self._pods, namespace, labels=labels, fields=fields)))
        return ApiAnswer(body={"kind": "PodMetricsList", **_HEAD, "metadata": {}, "items": items})

    def _metrics(self, pods: Iterable[Obj]) -> Iterator[Obj]:
        """Yield the metrics of pods that have a sample; a metrics-server also omits pods that it has not scraped."""
        for pod in pods:
            try:
                sample = self._usage.of(pod)
            except ConfigError:  # the HPA controller reports it on the pod
                continue
            if sample is None:
                continue
            kept = ("name", "namespace", "labels")
            metadata = {key: pod["metadata"][key] for key in kept if key in pod["metadata"]}
            yield {
                "metadata": {**metadata, "creationTimestamp": timestamp(sample.timestamp)},
                "timestamp": timestamp(sample.timestamp),
                "window": f"{WINDOW.total_seconds():g}s",
                "containers": [
                    {
                        "name": name,
                        "usage": {resource: format_amount(resource, amount) for resource, amount in used.items()},
                    }
                    for name, used in sample.containers.items()
                ],
            }


def _resource_list() -> Obj:
    row = {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]}
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{VERSION}", "resources": [row]}
