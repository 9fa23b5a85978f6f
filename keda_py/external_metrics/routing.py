"""Who answers a question: the fourth stage of `external_metrics/server.py`, decided from values alone.

Comes from `external_metrics/question.py`. Next is the answer: `external_metrics/upstream.py` (another adapter),
`operator/standby/forwarding.py` (the replica that holds the Lease), `external_metrics/metric_values.py`,
`operator/explain/insight.py` or `external_metrics/discovery.py`. Rules: every replica knows which names are ours, so
the holder is asked for those alone; what a replica has passed on is never passed on again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from keda_py.external_metrics.discovery import DOCUMENTS, INSIGHT, JOB_INSIGHT, METRICS
from keda_py.external_metrics.question import Question
from keda_py.serving.asked import Asked
from keda_py.serving.statuses import method_not_allowed, misdirected, not_found, unavailable

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """`answers` says whether what is asked is ours to know; else another replica is asked.

    `owns(namespace, metric)` raises StatusError 503 while it is unknown; None: there is no other adapter.
    """

    answers: Callable[[Question], bool]
    owns: Callable[[str, str], bool] | None = None

    def routes(self, question: Question) -> tuple[Route, ...]:
        """Where to ask, in this order, until there is an answer.

        Raises StatusError: 404 and 405 for what is not served, 421 for a replica's question when we do not hold the
        Lease, 503 where it is not known, or would go round in a circle.
        """
        asked = question.asked
        if question.caller.is_replica and not self.answers(question):
            raise misdirected("this replica does not hold the Lease, or not of what is asked for")
        own = _find(asked)
        if own is Route.METRIC and self._is_upstreams(question):
            if "keda-py/" in asked.headers.get("Via", ""):
                raise unavailable(
                    "--external-metrics-upstream leads back to keda-py; name the other adapter's own Service"
                )
            return (Route.UPSTREAM,)
        return (own,) if not is_passed_on(asked) or self.answers(question) else (Route.HOLDER, own)

    def _is_upstreams(self, question: Question) -> bool:
        if self.owns is None or question.selection.is_ours:
            return False
        return not self.owns(question.namespace, question.metric)


def is_passed_on(asked: Asked) -> bool:
    """Whether replicas ask each other for it."""
    return asked.method == "GET" and asked.wanted.path.startswith(_PASSED_ON)


def _find(asked: Asked) -> Route:
    """What of ours is asked for. Raises StatusError 404 or 405."""
    found = _resource(asked) if asked.wanted.resource else Route.DOCUMENT if asked.wanted.path in DOCUMENTS else None
    if found is None:
        raise not_found()
    if asked.method not in _READS:
        raise method_not_allowed()
    return found


def _resource(asked: Asked) -> Route | None:
    """What was authorised, taken literally: nothing but whole paths of ours, no slash too many."""
    wanted, slashes = asked.wanted, asked.path.count("/")
    if not wanted.namespace or asked.path.endswith("/"):
        return None
    if (wanted.group, wanted.version) == (METRICS.group, METRICS.version) and slashes == _SLASHES:
        return Route.METRIC
    if (wanted.group, wanted.version, wanted.resource) in _INSIGHTS and slashes == _INSIGHT_SLASHES and wanted.name:
        return Route.INSIGHT
    return None
