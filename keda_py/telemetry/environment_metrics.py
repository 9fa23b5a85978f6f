"""Metrics of Environments: phase, ready members, the last wake, and the savings of members that slept.

A ScaledObject reports its own savings (`core/savings/`) in the same family of series; so no sum counts it twice.
`keda_py_asleep` of a namespace inhibits alerts (`charts/keda-py/inhibition.yaml`): it ends when the last wave is ready,
or when waves have timed out, since people have to be told of a wake that fails.
`keda_py_environment_due` is 1 from the moment at which members should be ready, so that an alert can distinguish a late
morning from one that has just begun.
"""

from prometheus_client import CollectorRegistry

from keda_py.apis.environments.waking import WakeOnRequestStatus
from keda_py.core.environment.decision.decision import EnvironmentDecision
from keda_py.core.environment.decision.goal import GoalReason
from keda_py.core.environment.decision.state import Phase, Stage
from keda_py.core.values.object_key import ObjectKey
from keda_py.telemetry.savings_metrics import SavingsMetrics
from keda_py.telemetry.series import Family, Series

_ENVIRONMENT = ("namespace", "environment")
_DUE = (GoalReason.OPEN, GoalReason.OVERRIDE_AWAKE)
_ELSEWHERE = ("CronJob", "ScaledObject")
"""Kinds of members without replicas, or with savings of their own."""
_WAKE, _MEMBER = "wake", "member"


class EnvironmentMetrics:
    """Gauges of Environments. Every `record` is cheap and never waits."""

    def __init__(self, registry: CollectorRegistry, savings: SavingsMetrics) -> None:
        def gauge(name: str, text: str, *labels: str) -> Family:
            return Family("gauge", f"keda_py_environment_{name}", text, (*_ENVIRONMENT, *labels), registry)

        self._series = Series()
        self._asleep: dict[ObjectKey, tuple[float, dict[str, int]]] = {}
        self._quiet: dict[str, dict[ObjectKey, bool]] = {}
        text = "1 while all Environments of a namespace are asleep, fall asleep or wake"
        self._namespace = Family("gauge", "keda_py_asleep", text, ("namespace",), registry)
        self._phase = gauge("phase", "1 for the phase that an Environment is in, else 0", "phase")
        self._due = gauge("due", "1 while its members are to be ready")
        self._ready = gauge("members_ready", "members that are ready")
        self._up = gauge("members_up", "members that run, or whose pods have yet to end")
        self._members = gauge("members", "members")
        self._wake = gauge("wake_seconds", "how long the last wake took")
        self._override = gauge("override_active", "1 while an Override rules it")
        self._contested = gauge("contested", "1 while a controller such as Argo CD puts counts back")
        self._wakes = gauge("wakes_by_request", "wakes by requests so far")
        self._services = gauge("wake_services", "Services whose requests wake it")
        self._shown = gauge("wake_services_ready", "Services that lead to wakers now")
        self._unreached = gauge(
            "wake_services_without_waker", "Services whose requests wake nothing for want of a waker"
        )
        self._saved = savings.saved

    def record(self, key: ObjectKey, decision: EnvironmentDecision, monotonic: float) -> None:
        """Record a look at an Environment; what slept since the previous look is counted by the state of then."""
        state, status, labels = decision.state, decision.status, (key.namespace, key.name)
        of = self._series.of
        for phase in Phase:
            if phase:
                of(key, self._phase, (*labels, phase.value)).set(state.phase is phase)
        of(key, self._due, labels).set(decision.goal.reason in _DUE)
        of(key, self._ready, labels).set(status.members_ready)
        of(key, self._up, labels).set(status.members_up)
        of(key, self._members, labels).set(status.members_total)
        of(key, self._override, labels).set(decision.goal.override is not None)
        of(key, self._contested, labels).set(any(member.stage is Stage.CONTESTED for member in state.members.values()))
        if state.last_wake is not None:
            of(key, self._wake, labels, (_WAKE,)).set(state.last_wake.seconds)
        self._record_requests(key, status.wake_on_request or WakeOnRequestStatus())
        self._count_saved(key, decision, monotonic)
        self._quiet.setdefault(key.namespace, {})[key] = state.phase not in (Phase.AWAKE, Phase.UNKNOWN)
        self._show_namespace(key.namespace)

    def _show_namespace(self, namespace: str) -> None:
        """Show whether alerts about a namespace are expected: one Environment that is awake makes them matter."""
        key = ObjectKey("Namespace", "", namespace)
        if environments := self._quiet.get(namespace):
            self._series.of(key, self._namespace, (namespace,)).set(all(environments.values()))
        else:
            self._quiet.pop(namespace, None)
            self._series.forget(key)

    def _record_requests(self, key: ObjectKey, found: WakeOnRequestStatus) -> None:
        of, labels = self._series.of, (key.namespace, key.name)
        of(key, self._wakes, labels).set(found.wakes)
        of(key, self._services, labels).set(len(found.services))
        of(key, self._shown, labels).set(found.ready)
        of(key, self._unreached, labels).set(sum(one.reason == "NoWaker" for one in found.not_woken))

    def _count_saved(self, key: ObjectKey, decision: EnvironmentDecision, monotonic: float) -> None:
        # The interval since the previous look counts by what slept at its beginning, not by what sleeps now.
        since, slept = self._asleep.get(key, (monotonic, {}))
        for member, replicas in slept.items():
            kind, _, name = member.partition("/")
            labels = (key.namespace, kind, name)
            self._series.of(key, self._saved, labels, (_MEMBER,)).inc(replicas * max(monotonic - since, 0.0))
        members = decision.state.members.items()
        asleep = {
            name: member.replicas
            for name, member in members
            if member.stage is Stage.DOWN and member.replicas and name.partition("/")[0] not in _ELSEWHERE
        }
        self._asleep[key] = (monotonic, asleep)

    def forget(self, key: ObjectKey) -> None:
        """End the series of a deleted Environment."""
        self._series.forget(key)
        self._asleep.pop(key, None)
        if self._quiet.get(key.namespace, {}).pop(key, None) is not None:
            self._show_namespace(key.namespace)
