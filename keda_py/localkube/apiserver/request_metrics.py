"""What the API server counts of itself, under the real one's metric names: `/metrics`."""

from prometheus_client import CollectorRegistry, Counter, generate_latest

from keda_py.localkube.model.calls import APPLY, Answer, Call, Target

_LABELS = ("verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component", "code")
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class RequestMetrics:
    """Counts requests as they are answered; a watch counts when it opens."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._total = Counter(
            "apiserver_request_total", "Requests by verb, resource and code.", _LABELS, registry=self._registry
        )

    def count(self, call: Call, target: Target, verb: str, answer: Answer) -> None:
        """One request of a resource."""
        resource = target.resource
        scope = "resource" if target.name else "namespace" if target.namespace else "cluster"
        dry_run = "All" if call.query.get("dryRun") == "All" else ""
        self._total.labels(
            _verb(call, verb),
            dry_run,
            resource.group,
            resource.version,
            resource.plural,
            target.subresource,
            scope,
            "apiserver",
            str(answer.status),
        ).inc()

    def answer(self) -> Answer:
        """The exposition."""
        return Answer(body=generate_latest(self._registry), content_type=CONTENT_TYPE)


def _verb(call: Call, verb: str) -> str:
    if verb == "patch" and call.content_type == APPLY:
        return "APPLY"
    return {"create": "POST", "update": "PUT", "deletecollection": "DELETECOLLECTION"}.get(verb, verb.upper())
