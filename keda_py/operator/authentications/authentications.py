"""Controller of TriggerAuthentications and ClusterTriggerAuthentications: finalizer, Events, and their users.

`status.scaledobjects` is derived from the caches and keeps no history: the names of the objects that refer to it now,
those already listed first. `keda_py/auth` reads their contents. Behaviour reference, section 11.5; one of its Events
looks odd and is parity: an update of either kind has the reason ClusterTriggerAuthenticationUpdated.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial

from keda_py.core.values.object_key import ObjectKey
from keda_py.kube.informers.cache import key_of
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import CLUSTER_TRIGGER_AUTHENTICATIONS, Obj, Resource
from keda_py.kube.status import patch_status
from keda_py.operator.cluster.references import BY_AUTHENTICATION, authentication_keys, authentication_value
from keda_py.operator.controller.finalizer import ensure_finalizer, remove_finalizer
from keda_py.operator.controller.retries import Retries
from keda_py.operator.controller.work_queue import DueQueue
from keda_py.operator.scaled_objects.dependencies import ScaledObjectDependencies


class Authentications:
    """Works on one object at a time; `users` are informers by the status field that lists their objects."""

    def __init__(self, parts: ScaledObjectDependencies, users: Mapping[str, Informer]) -> None:
        self._parts, self._users = parts, users
        self._shared = parts.shared
        self._queue = DueQueue(parts.shared.clock, self._work)
        self._reported: dict[ObjectKey, tuple[str, int]] = {}
        self._retries = Retries(interrupted="api request failed", failed="work on authentication failed")

    async def run(self) -> None:
        """Work until cancelled; the caches must have synced."""
        caches = self._parts.caches
        for informer in self._users.values():
            await informer.wait_synced()
        self._queue = DueQueue(self._shared.clock, self._work)
        with ExitStack() as subscriptions:
            for informer in (caches.authentications, caches.cluster_authentications):
                subscriptions.callback(informer.subscribe(partial(self._on_authentication, informer.spec.resource)))
            for informer in self._users.values():
                subscriptions.callback(informer.subscribe(self._on_user))
            await self._queue.run()

    def _on_authentication(self, resource: Resource, old: Obj | None, new: Obj | None) -> None:
        key = ObjectKey.of(resource.kind, new or old or {})
        if new is None:
            self._reported.pop(key, None)
        else:
            self._queue.add(key)

    def _on_user(self, old: Obj | None, new: Obj | None) -> None:
        before = set(authentication_keys(old)) if old else set()
        after = set(authentication_keys(new)) if new else set()
        for key in before ^ after:
            self._queue.add(key)

    async def _work(self, key: ObjectKey) -> None:
        informer = self._informer(key)
        live = informer.get(key.namespace, key.name)
        if live is None:
            self._retries.forget(key)
            return
        with self._retries.attempt(self._queue, key, _about(live)):
            if live["metadata"].get("deletionTimestamp"):
                await self._finalize(informer, live)
            else:
                await self._reconcile(informer, key, live)

    async def _reconcile(self, informer: Informer, key: ObjectKey, live: Obj) -> None:
        await ensure_finalizer(self._shared.client, informer.spec.resource, live)
        meta = live["metadata"]
        seen = (meta["uid"], meta.get("generation", 1))
        if self._reported.get(key) != seen:
            self._reported[key] = seen
            self._tell_change(live)
        status = dict(live.get("status") or {})
        for field, users in self._users.items():
            status[field] = self._listed(users, key, status.get(field, ""))
        wanted = {field: value for field, value in status.items() if value}
        await patch_status(self._shared.client, informer.spec.resource, live, wanted)

    def _tell_change(self, live: Obj) -> None:
        kind, name = live["kind"], live["metadata"]["name"]
        if live["metadata"].get("generation", 1) == 1:
            self._shared.tell(live, "Normal", f"{kind}Added", f"New {kind} configured")
        else:
            note = f"ClusterTriggerAuthentication {name} is updated"
            self._shared.tell(live, "Normal", "ClusterTriggerAuthenticationUpdated", note)

    def _listed(self, users: Informer, key: ObjectKey, listed: str) -> str:
        """Names joined by commas: first those already listed that still use it, then the others, the oldest first."""
        found = users.by_index(BY_AUTHENTICATION, authentication_value(key))
        by_age = sorted(found, key=lambda user: (user["metadata"].get("creationTimestamp", ""), key_of(user)))
        names = dict.fromkeys(user["metadata"]["name"] for user in by_age)
        return ",".join([*(name for name in listed.split(",") if names.pop(name, name) is None), *names])

    async def _finalize(self, informer: Informer, live: Obj) -> None:
        if await remove_finalizer(self._shared.client, informer.spec.resource, live):
            kind = live["kind"]
            self._shared.tell(live, "Normal", f"{kind}Deleted", f"{kind} was deleted")

    def _informer(self, key: ObjectKey) -> Informer:
        caches = self._parts.caches
        is_cluster_wide = key.kind == CLUSTER_TRIGGER_AUTHENTICATIONS.kind
        return caches.cluster_authentications if is_cluster_wide else caches.authentications


def _about(live: Obj) -> dict[str, str]:
    namespace, name = key_of(live)
    return {"kind": live["kind"], "namespace": namespace, "authentication": name}
