"""Routing: the fourth stage of `external_metrics/server.py` decides from values alone who answers a request.

Comes from `external_metrics/authorised_request.py`. Next is the answer: `external_metrics/upstream.py` (another
adapter), `operator/standby/forwarding.py` (the replica that holds the Lease), `external_metrics/metric_values.py`,
`operator/explain/insight.py` or `external_metrics/discovery.py`. Rules: every replica knows which metrics are ours, so
only those are forwarded to the holder; a forwarded request is never forwarded again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from keda_py.external_metrics.authorised_request import AuthorisedRequest
from keda_py.external_metrics.discovery import DOCUMENTS, INSIGHT, JOB_INSIGHT, METRICS
from keda_py.serving.api_request import ApiRequest
from keda_py.serving.statuses import method_not_allowed, misdirected, not_found, unavailable
from keda_py.serving.wake_endpoint import METHODS, is_report, is_wake

_READS = ("GET", "HEAD")
_PASSED_ON = tuple(f"{api.root}/namespaces/" for api in (METRICS, INSIGHT))
_INSIGHTS = {(api.group, api.version, api.resource) for api in (INSIGHT, JOB_INSIGHT)}
_SLASHES = METRICS.root.count("/") + METRICS.path.count("/")
_INSIGHT_SLASHES = INSIGHT.root.count("/") + INSIGHT.path.count("/")


class Route(StrEnum):
    """Where an answer comes from."""

    UPSTREAM = "upstream"
    HOLDER = "holder"
    METRIC = "metric"
    INSIGHT = "insight"
    DOCUMENT = "document"
    WAKE = "wake"


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """Decision who answers. `answers` tells whether this replica knows the answer; otherwise another replica is asked.

    `owns(namespace, metric)` raises StatusError 503 while it is unknown; it is None without another adapter.
    """

    answers: Callable[[AuthorisedRequest], bool]
    owns: Callable[[str, str], bool] | None = None

    def routes(self, question: AuthorisedRequest) -> tuple[Route, ...]:
        """Return where to ask, in this order, until one answers.

        Raises StatusError: 404 and 405 if the path or method is not served, 421 for a replica's request if we do not
        hold the Lease, 503 if the owner is unknown or the upstream leads back to us.
        """
        asked = question.asked
        if question.caller.is_replica and not self.answers(question):
            raise misdirected("this replica does not hold the Lease, or not the slot of this object")
        own = _find(asked)
        if own is Route.METRIC and self._is_upstreams(question):
            # The upstream's Service selects our own pods: without this check a request would circulate until it times
            # out.
            if "keda-py/" in asked.headers.get("Via", ""):
                raise unavailable(
                    "--external-metrics-upstream leads back to keda-py; name the other adapter's own Service"
                )
            return (Route.UPSTREAM,)
        return (own,) if not is_passed_on(asked) or self.answers(question) else (Route.HOLDER, own)

    def _is_upstreams(self, question: AuthorisedRequest) -> bool:
        if self.owns is None or question.selection.is_ours:
            return False
        return not self.owns(question.namespace, question.metric)


def is_passed_on(asked: ApiRequest) -> bool:
    """Return whether replicas forward such a request to each other."""
    return is_report(asked) or (asked.method == "GET" and asked.wanted.path.startswith(_PASSED_ON))


def _find(asked: ApiRequest) -> Route:
    """Return the part of our API that is requested. Raises StatusError 404 or 405."""
    if is_wake(asked):
        if asked.method not in METHODS:
            raise method_not_allowed()
        return Route.WAKE
    found = _resource(asked) if asked.wanted.resource else Route.DOCUMENT if asked.wanted.path in DOCUMENTS else None
    if found is None:
        raise not_found()
    if asked.method not in _READS:
        raise method_not_allowed()
    return found


def _resource(asked: ApiRequest) -> Route | None:
    """Return the route of a path that is literally one of ours; the number of slashes must match."""
    wanted, slashes = asked.wanted, asked.path.count("/")
    if not wanted.namespace or asked.path.endswith("/"):
        return None
    if (wanted.group, wanted.version) == (METRICS.group, METRICS.version) and slashes == _SLASHES:
        return Route.METRIC
    if (wanted.group, wanted.version, wanted.resource) in _INSIGHTS and slashes == _INSIGHT_SLASHES and wanted.name:
        return Route.INSIGHT
    return None
