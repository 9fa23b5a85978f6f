"""Informers of environments' own kinds, and of workloads trimmed to their counts.

Without the CRDs nothing is watched, and one log line says so. Workloads are watched once a first Environment exists: a
cluster without any pays nothing for them.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from keda_py.apis.foreign import map_at, maps_at, text_at, texts_at
from keda_py.core.admission.codes import IGNORE
from keda_py.core.gitops.flux import ANNOTATIONS as FLUX
from keda_py.core.gitops.flux import MARK
from keda_py.core.values.own_annotations import EXCLUDE
from keda_py.errors import KubeError, NotFound, Unavailable
from keda_py.kube.backoff import Backoff
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.informer import Informer
from keda_py.kube.informers.informer_spec import InformerSpec
from keda_py.kube.resources import (
    CALENDARS,
    CLUSTER_CALENDARS,
    CRON_JOBS,
    DEPLOYMENTS,
    ENVIRONMENTS,
    OVERRIDES,
    SCALING_SCHEDULES,
    STATEFUL_SETS,
    Obj,
)
from keda_py.kube.transport import Request
from keda_py.operator.cluster.caches import BLIND_SECONDS
from keda_py.operator.environments.known.further_kinds import FurtherKinds

MEMBERS = (DEPLOYMENTS, STATEFUL_SETS, CRON_JOBS)
ASK_AGAIN_SECONDS = 60.0
MOST_FAILURES = 5
"""Failed requests for the CRDs after which work begins without knowing whether they are installed."""
_KEPT = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "labels",
    "creationTimestamp",
    "deletionTimestamp",
)
_REVISION = "deployment.kubernetes.io/revision"
"""Annotation that the controller of Deployments writes at each rollout; StatefulSets have it in their status."""
_ANNOTATIONS = (EXCLUDE, IGNORE, MARK, *FLUX.values())
_OF_SCHEDULES = ("schedule", "timeZone", "startingDeadlineSeconds")

log = logging.getLogger(__name__)


def keep_member(live: Obj) -> Obj:
    """Trim a workload or CronJob to its identity, its count or suspension, its progress, and the field manager of the
    count.

    A CronJob also keeps its schedule, which admission compares with the hours.
    """
    meta, spec, status = live["metadata"], map_at(live, "spec"), map_at(live, "status")
    kept = {name: meta[name] for name in _KEPT if name in meta}
    annotations = texts_at(meta, "annotations")
    field = "f:suspend" if live["kind"] == CRON_JOBS.kind else "f:replicas"
    return {
        "kind": live["kind"],
        "metadata": kept | {"annotations": {name: annotations[name] for name in _ANNOTATIONS if annotations.get(name)}},
        "spec": {
            "replicas": spec.get("replicas", 1),
            "suspend": spec.get("suspend", False),
            **{name: spec[name] for name in _OF_SCHEDULES if name in spec},
        },
        "status": {name: status.get(name, 0) for name in ("replicas", "readyReplicas", "observedGeneration")},
        "revision": annotations.get(_REVISION) or text_at(status, "updateRevision"),
        "manager": _manager_of(meta, field),
        "podLabels": texts_at(spec, "template", "metadata", "labels"),
    }


def _manager_of(meta: Obj, field: str) -> str:
    """The manager that wrote the field of the spec last, according to `managedFields`; "" if that is not known."""
    entries = [one for one in maps_at(meta, "managedFields") if field in map_at(one, "fieldsV1", "f:spec")]
    return max(((text_at(one, "time"), text_at(one, "manager")) for one in entries), default=("", ""))[1]


class EnvironmentCaches:
    """Run the informers from the start; `tried` returns once all stored objects are known, or could not be listed."""

    def __init__(self, client: KubeClient, namespaces: Sequence[str]) -> None:
        self._client, where = client, tuple(namespaces) or ("",)
        self.environments = Informer(client, InformerSpec(resource=ENVIRONMENTS, namespaces=where))
        self.calendars = Informer(client, InformerSpec(resource=CALENDARS, namespaces=where))
        self.cluster_calendars = Informer(client, InformerSpec(resource=CLUSTER_CALENDARS))
        self.overrides = Informer(client, InformerSpec(resource=OVERRIDES, namespaces=where))
        self.schedules = Informer(client, InformerSpec(resource=SCALING_SCHEDULES, namespaces=where))
        self.members: Mapping[str, Informer] = {
            kind.kind: Informer(client, InformerSpec(resource=kind, namespaces=where, transform=keep_member))
            for kind in MEMBERS
        }
        self.further = FurtherKinds(client, client.clock, namespaces)
        self._needed, self._asked = asyncio.Event(), asyncio.Event()
        self.installed = False

    @property
    def own(self) -> tuple[Informer, ...]:
        """Informers of the kinds of `keda-py.dev`."""
        return (self.environments, self.calendars, self.cluster_calendars, self.overrides, self.schedules)

    async def run(self) -> None:
        """Watch until cancelled."""
        await self._wait_installed()
        async with asyncio.TaskGroup() as tasks:
            self.environments.subscribe(lambda old, new: self._needed.set())
            for informer in self.own:
                tasks.create_task(informer.run(), name=f"informer {informer.spec.resource.plural}")
            self._asked.set()
            await self._needed.wait()
            tasks.create_task(self.further.run())
            for informer in self.members.values():
                tasks.create_task(informer.run(), name=f"informer members {informer.spec.resource.plural}")

    async def _wait_installed(self) -> None:
        """Ask for the CRDs until they are installed; `tried` waits for the first answer or MOST_FAILURES failures."""
        backoff, reported, failures = Backoff(), False, 0
        request = Request(method="GET", path=ENVIRONMENTS.collection().rpartition("/")[0], resource="apis")
        while True:
            try:
                found = {text_at(one, "kind") for one in maps_at(await self._client.send(request), "resources")}
                if {informer.spec.resource.kind for informer in self.own} <= found:
                    self.installed = True
                    return
            except NotFound:
                pass
            except KubeError as error:
                failures += 1
                if failures == MOST_FAILURES:
                    log.warning("environments are not known yet", extra={"error": str(error)})
                    self._asked.set()
                await asyncio.sleep(backoff.next())
                continue
            if not reported:
                log.info("environments are off: their crds are not installed; `keda-py crds` prints them")
                reported = True
            self._asked.set()
            await asyncio.sleep(ASK_AGAIN_SECONDS)

    async def tried(self) -> None:
        """Return once every stored object is known, or could not be listed."""
        await self._asked.wait()
        if self.installed:
            for informer in self.own:
                await informer.wait_tried()

    async def wait_members(self) -> None:
        """Return once the caches of members have synced. Raises Unavailable if a kind cannot be listed."""
        for informer in self.members.values():
            await informer.wait_tried()
            if not informer.synced:
                raise Unavailable(f"{informer.spec.resource.plural} cannot be listed: {informer.error}")

    def in_contact(self) -> bool:
        """Whether all watches have had contact so recently that no change of a count can have been missed."""
        return all(one.synced and one.down_for() < BLIND_SECONDS for one in (*self.own, *self.members.values()))
