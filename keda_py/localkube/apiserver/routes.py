"""Routing: path and method alone decide which part of the API answers.

`/api` and `/apis` are resources, aggregated groups are forwarded, the rest are the server's own pages. Next in the
flow: `reads.py`, `watches.py`, `writes.py`, `deletes.py`, `reviews.py`.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from keda_py.localkube.access.admission import Admission
from keda_py.localkube.access.checks import Access, attributes_of, verb_of
from keda_py.localkube.apiserver import discovery, openapi, reads, scales, watches
from keda_py.localkube.apiserver.deletes import Deletes
from keda_py.localkube.apiserver.reviews import Reviews
from keda_py.localkube.apiserver.writes import Writes
from keda_py.localkube.model.calls import APPLY, ApiAnswer, Call, RequestTarget, refusal, text
from keda_py.localkube.store.store import Store
from keda_py.schema.resources import Registry, Resource
from keda_py.schema.status import StatusError, method_not_allowed, not_found, unknown_resource

_LABELS = ("verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component", "code")
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class RequestMetrics(Collector):
    """Counts answered requests by resource and verb; a watch counts when it opens."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, ...]] = Counter()

    def count(self, call: Call, target: RequestTarget, verb: str, answer: ApiAnswer) -> None:
        """Count one request of a resource."""
        resource = target.resource
        scope = "resource" if target.name else "namespace" if target.namespace else "cluster"
        dry_run = "All" if call.query.get("dryRun") == "All" else ""
        what = (resource.group, resource.version, resource.plural, target.subresource)
        self._counts[_verb(call, verb), dry_run, *what, scope, "apiserver", str(answer.status)] += 1

    def collect(self) -> Iterable[CounterMetricFamily]:
        """The counts as Prometheus has them; most clusters are never asked for them."""
        family = CounterMetricFamily("apiserver_request", "Requests by verb, resource and code.", labels=_LABELS)
        for labels, count in self._counts.items():
            family.add_metric(labels, count)
        return [family]

    def answer(self) -> ApiAnswer:
        """The counts in the Prometheus text format."""
        registry = CollectorRegistry()
        registry.register(self)
        return ApiAnswer(body=generate_latest(registry), content_type=CONTENT_TYPE)


def _verb(call: Call, verb: str) -> str:
    if verb == "patch" and call.content_type == APPLY:
        return "APPLY"
    return {"create": "POST", "update": "PUT", "deletecollection": "DELETECOLLECTION"}.get(verb, verb.upper())


VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.2",
    "gitCommit": "",
    "gitTreeState": "clean",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
_HEALTH = ("healthz", "livez", "readyz")
_STORED_PARTS = ("status", "scale", "finalize")


class AggregatedApis(Protocol):
    """Serves groups that this server does not."""

    def serves(self, group: str, version: str) -> bool:
        """Whether `forward` is responsible for this group version."""
        ...

    async def forward(self, call: Call) -> ApiAnswer:
        """Forward to the APIService's server; 503 if it does not answer."""
        ...


class Routes:
    """Authorises each request and hands it to the part of the API that serves its path."""

    def __init__(self, store: Store, access: Access, admission: Admission, aggregation: AggregatedApis) -> None:
        self._store, self._access, self._aggregation = store, access, aggregation
        self._writes, self._deletes = Writes(store, admission), Deletes(store, admission)
        self._reviews = Reviews(store, access.identity, access.authorizer)
        self.metrics = RequestMetrics()

    @property
    def _registry(self) -> Registry:
        return self._store.resources

    async def answer(self, call: Call) -> ApiAnswer:
        """Answer any request. Raises StatusError for a refusal that concerns no resource."""
        call = self._access.impersonated(call)
        parts = [part for part in call.path.split("/") if part]
        if parts[:1] == ["api"] and len(parts) > 1:
            return await self._group_version(call, "", parts[1], parts[2:])
        if parts[:1] == ["apis"] and len(parts) > 2:
            return await self._group_version(call, parts[1], parts[2], parts[3:])
        self._access.check_path(call)
        return self._page(call, parts)

    def _page(self, call: Call, parts: list[str]) -> ApiAnswer:
        match parts:
            case ["version"]:
                return ApiAnswer(body=VERSION)
            case [health, *_] if health in _HEALTH:
                return text("ok")
            case ["metrics"]:
                return self.metrics.answer()
            case ["api"]:
                return discovery.core_versions(call, self._registry)
            case ["apis"]:
                return discovery.groups(call, self._registry)
            case ["apis", name] if (group := self._registry.group(name)) is not None:
                return discovery.group(group)
            case ["openapi", "v2"]:
                return openapi.v2(call)
            case ["openapi", "v3"]:
                return openapi.index(self._registry)
            case ["openapi", "v3", *rest]:
                return openapi.document(self._registry, "/".join(rest))
        return text("404 page not found\n", 404)

    async def _group_version(self, call: Call, group: str, version: str, rest: list[str]) -> ApiAnswer:
        if self._aggregation.serves(group, version):
            self._access.check_aggregated(call, group, rest)
            return await self._aggregation.forward(call)
        if not self._registry.resources(group, version):
            return text("404 page not found\n", 404)
        if not rest:
            self._access.check_path(call)
            return discovery.resources(self._registry, group, version)
        target = self._target(group, version, rest)
        verb = verb_of(call, target.name, target.subresource)
        try:
            self._access.check(call, attributes_of(target, verb, call))
            answer = await self._answer(call, target, verb)
        except StatusError as error:
            answer = refusal(error)
        self.metrics.count(call, target, verb, answer)
        return answer

    def _target(self, group: str, version: str, rest: list[str]) -> RequestTarget:
        # /namespaces/NAME/status is a subresource, /namespaces/NAME/pods a collection: only a served plural in third
        # place makes the first two parts a scope.
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2 and self._find(group, version, rest[2]) is not None:
            namespace, rest = rest[1], rest[2:]
        resource = self._find(group, version, rest[0])
        if resource is None or len(rest) > 3 or (namespace and not resource.namespaced):
            raise unknown_resource()
        name, subresource = (*rest[1:], "", "")[:2]
        return RequestTarget(resource=resource, namespace=namespace, name=name, subresource=subresource)

    def _find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._registry.find(group, version, plural)

    async def _answer(self, call: Call, target: RequestTarget, verb: str) -> ApiAnswer:
        resource = target.resource
        if target.subresource:
            return await self._answer_part(call, target, verb)
        if verb not in resource.verbs or not _suits(target, verb):
            raise method_not_allowed()
        if resource.verbs == ("create",):
            return self._reviews.create(call, target)
        match verb:
            case "get":
                return reads.get(call, target, self._store)
            case "list":
                return reads.list_objects(call, target, self._store)
            case "watch":
                return watches.open_watch(call, target, self._store)
            case "create":
                return await self._writes.create(call, target)
            case "delete":
                return await self._deletes.one(call, target)
            case "deletecollection":
                return await self._deletes.many(call, target)
        return await self._change(call, target, verb)

    async def _change(self, call: Call, target: RequestTarget, verb: str) -> ApiAnswer:
        if verb == "update":
            return await self._writes.replace(call, target)
        return await self._writes.patch(call, target)

    async def _answer_part(self, call: Call, target: RequestTarget, verb: str) -> ApiAnswer:
        resource, part = target.resource, target.subresource
        if part not in resource.subresources:
            raise not_found(resource, target.name) if resource.custom else unknown_resource()
        if part == "token" and verb == "create":
            return self._reviews.token(call, target)
        if part not in _STORED_PARTS:
            words = f"{resource.plural}/{part} is not available: no container runs in this cluster"
            raise StatusError(501, "NotImplemented", words)
        if verb in ("update", "patch"):
            return await self._change(call, target, verb)
        if verb != "get":
            raise method_not_allowed()
        if part == "scale":
            return ApiAnswer(body=scales.scale_of(resource, self._store.get(resource, target.namespace, target.name)))
        return reads.get(call, target, self._store)


def _suits(target: RequestTarget, verb: str) -> bool:
    """Whether the path supports the verb: some need a name; across all namespaces there are only list and watch."""
    if target.resource.namespaced and not target.namespace:
        return not target.name and verb in ("list", "watch")
    if verb in ("get", "update", "patch", "delete"):
        return bool(target.name)
    return verb == "watch" or not target.name
