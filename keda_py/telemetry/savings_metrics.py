"""Metrics of the savings by sleep: one family of series for everything that sleeps, so that their sum is the total.

ScaledObjects write sums that their status keeps across restarts; the other members of Environments begin at 0 with the
process, as `increase()` expects.
"""

from prometheus_client import CollectorRegistry

from keda_py.telemetry.series import Family

_LABELS = ("namespace", "kind", "name")


class SavingsMetrics:
    """Families of replica-seconds used and saved."""

    def __init__(self, registry: CollectorRegistry) -> None:
        used, saved = "replicas times seconds", "replicas that did not run asleep, times seconds"
        self.used = Family("gauge", "keda_py_replica_seconds", used, _LABELS, registry)
        self.saved = Family("gauge", "keda_py_saved_replica_seconds", saved, _LABELS, registry)
