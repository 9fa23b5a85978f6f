"""What the webhook judged and denied, under KEDA's names and labels. Behaviour reference, section 14.1."""

from prometheus_client import CollectorRegistry, Counter


class AdmissionMetrics:
    """Every `record_...` is cheap and never waits."""

    def __init__(self, registry: CollectorRegistry) -> None:
        judged, denied = ("namespace", "action"), ("namespace", "action", "reason")
        self._validations = Counter(
            "keda_webhook_scaled_object_validations", "ScaledObjects judged by the webhook", judged, registry=registry
        )
        self._denials = Counter(
            "keda_webhook_scaled_object_validation_errors",
            "objects that the webhook denied",
            denied,
            registry=registry,
        )

    def record_validation(self, namespace: str, action: str) -> None:
        """A ScaledObject that the webhook judged; `action` is create or update."""
        self._validations.labels(namespace, action).inc()

    def record_denial(self, namespace: str, action: str, reason: str) -> None:
        """One that it denied, or a ScaledJob."""
        self._denials.labels(namespace, action, reason).inc()
