"""Metrics of the webhook, under KEDA's names and labels. Behaviour reference, section 14.1.

Any client of the webhook's port chooses the content of a review. Therefore a label is a word of ours or an existing
namespace, as `exists` tells by our caches; all other values share one label. The series of a namespace end with it.
"""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter

from keda_py.core.values.object_key import ObjectKey
from keda_py.telemetry.series import Series

ELSEWHERE = "_unknown"
"""Label of unknown values; no namespace can have this name."""
_ACTIONS = ("create", "update")


class AdmissionMetrics:
    """Counters of the webhook. Every `record_...` is cheap and never waits."""

    def __init__(self, registry: CollectorRegistry) -> None:
        judged, denied = ("namespace", "action"), ("namespace", "action", "reason")
        self._series = Series()
        self._exists: Callable[[str], bool] = lambda namespace: False
        self._validations = Counter(
            "keda_webhook_scaled_object_validations", "ScaledObjects judged by the webhook", judged, registry=registry
        )
        self._denials = Counter(
            "keda_webhook_scaled_object_validation_errors",
            "objects that the webhook denied",
            denied,
            registry=registry,
        )

    def limit_namespaces(self, exists: Callable[[str], bool]) -> None:
        """Use `exists` to decide whether a namespace is a valid label."""
        self._exists = exists

    def record_validation(self, namespace: str, action: str) -> None:
        """Count a ScaledObject that the webhook judged; `action` is create or update."""
        namespace = self._namespace_label(namespace)
        self._series.of(_owner(namespace), self._validations, (namespace, _word(action))).inc()

    def record_denial(self, namespace: str, action: str, reason: str) -> None:
        """Count a denied object; `reason` is a word of ours."""
        namespace = self._namespace_label(namespace)
        self._series.of(_owner(namespace), self._denials, (namespace, _word(action), reason)).inc()

    def sweep(self) -> None:
        """End the series of deleted namespaces; called before each scrape."""
        for owner in self._series.owners:
            if self._namespace_label(owner.namespace) != owner.namespace:
                self._series.forget(owner)

    def _namespace_label(self, namespace: str) -> str:
        return namespace if self._exists(namespace) else ELSEWHERE


def _owner(namespace: str) -> ObjectKey:
    return ObjectKey("Namespace", namespace, "")


def _word(action: str) -> str:
    return action if action in _ACTIONS else ELSEWHERE
