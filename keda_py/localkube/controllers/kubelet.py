"""The only node's agent: starts every pod that appears, makes it Ready when its start-up time is over, ends Jobs' pods.

Works on the pods that `replicasets.py`, `statefulsets.py`, `jobs.py` and users create; what it writes comes from
`shared/pods.py`.
"""

from collections.abc import Iterable

from keda_py.errors import ConfigError
from keda_py.localkube.controllers.shared import pods
from keda_py.localkube.controllers.shared.context import ControllerContext
from keda_py.localkube.controllers.shared.index import PODS
from keda_py.localkube.controllers.shared.loop import Key
from keda_py.localkube.controllers.shared.recorder import EventText
from keda_py.localkube.store.subscriptions import DELETED, Event
from keda_py.schema.resources import Obj

SOURCE = "kubelet"
ROUNDING = 1e-6  # seconds: a timer that fires a rounding error early must find its work due


class Kubelet:
    """Keeps the time of each pod; the clock's monotonic seconds, because the API's timestamps are whole ones."""

    storages = (PODS,)

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._pods = context.resource("v1", "Pod")
        self._ready_at: dict[str, float] = {}
        self._ends_at: dict[str, float] = {}

    def keys_of(self, event: Event) -> Iterable[Key]:
        """A pod that is new."""
        if event.type == DELETED:
            self._ready_at.pop(event.object["metadata"]["uid"], None)
            self._ends_at.pop(event.object["metadata"]["uid"], None)
            return ()
        return ((event.namespace, event.name),) if event.previous is None else ()

    def sync(self, key: Key) -> None:
        """Do what is due for the pod, and come back for the rest."""
        pod = self._context.store.find(self._pods, *key)
        if pod is None or not pods.is_active(pod):
            return
        try:
            if pod["status"].get("phase") == "Running":
                self._advance(key, pod)
            else:
                self._start(key, pod)
        except ConfigError as error:
            self._context.events.record(
                pod, EventText(type="Warning", reason="Failed", message=str(error), source=SOURCE)
            )

    def _start(self, key: Key, pod: Obj) -> None:
        now, uid = self._context.clock.monotonic(), pod["metadata"]["uid"]
        self._ready_at[uid] = now + pods.seconds_declared(pod, "startup-seconds", pods.STARTUP_SECONDS)
        if pod["spec"].get("restartPolicy", "Always") != "Always":
            runs = pods.seconds_declared(pod, "run-seconds", pods.RUN_SECONDS)
            self._ends_at[uid] = self._ready_at[uid] + runs
        if not pod["spec"].get("nodeName"):
            pod = self._context.store.update(self._pods, {**pod, "spec": {**pod["spec"], **pods.BOUND}})
        self._advance(key, self._context.set_status(self._pods, pod, pods.running_status(pod, self._context.now())))

    def _advance(self, key: Key, pod: Obj) -> None:
        """Ready, then finished, each when its time has come."""
        now, uid = self._context.clock.monotonic() + ROUNDING, pod["metadata"]["uid"]
        ends_at = self._ends_at.get(uid)
        if ends_at is not None and now >= ends_at:
            exit_code = int(pods.seconds_declared(pod, "exit-code", 0))
            self._context.set_status(self._pods, pod, pods.finished(pod, self._context.now(), exit_code)["status"])
            return
        ready_at = self._ready_at.get(uid, now)
        if now >= ready_at:
            pod = self._context.set_status(self._pods, pod, pods.made_ready(pod, self._context.now())["status"])
            due = ends_at
        else:
            due = ready_at
        if due is not None:
            self._context.loop.add_after(self, key, due + ROUNDING - now)
