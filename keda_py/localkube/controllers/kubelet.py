"""The only node's agent: starts each pod, makes it Ready after its start-up time, and finishes Jobs' pods.

It handles the pods that `replicasets.py`, `statefulsets.py`, `jobs.py` and users create; `shared/pods.py` has the
statuses that it writes.
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
ROUNDING = 1e-6  # seconds: a timer may fire early by a rounding error of floats


class Kubelet:
    """Runs each pod's timers, in monotonic seconds: the API's timestamps have whole seconds."""

    storages = (PODS,)

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._pods = context.resource("v1", "Pod")
        self._ready_at: dict[str, float] = {}
        self._ends_at: dict[str, float] = {}

    def keys_of(self, event: Event) -> Iterable[Key]:
        """Only new pods: timers bring the later steps."""
        if event.type == DELETED:
            self._ready_at.pop(event.object["metadata"]["uid"], None)
            self._ends_at.pop(event.object["metadata"]["uid"], None)
            return ()
        return ((event.namespace, event.name),) if event.previous is None else ()

    def sync(self, key: Key) -> None:
        """Start a new pod, or advance a running one."""
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
        # A status write stores nothing else, so the binding is a write of its own, before it.
        if not pod["spec"].get("nodeName"):
            pod = self._context.store.update(self._pods, {**pod, "spec": {**pod["spec"], **pods.BOUND}})
        self._advance(key, self._context.set_status(self._pods, pod, pods.running_status(pod, self._context.now())))

    def _advance(self, key: Key, pod: Obj) -> None:
        """Make the pod Ready, then finish it, each at its time; schedule the next step."""
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
