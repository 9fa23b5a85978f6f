"""The HPA that a ScaledObject owns: created, renamed, brought back to what the spec says, or deleted.

Compared with the cache, written only where it differs. Behaviour reference, section 4.2.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keda_py.apis.foreign import map_at, name_of, texts_at
from keda_py.core.admission.scaled_object import NOT_OURS
from keda_py.core.hpa.manifest import Manifest, differs
from keda_py.core.spec import ScalingSpec, TargetSpec
from keda_py.errors import AlreadyExists, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.informers.cache import Cache
from keda_py.kube.resources import HORIZONTAL_POD_AUTOSCALERS, Obj
from keda_py.operator.cluster.caches import BY_TARGET, target_key, unpack_hpa

log = logging.getLogger(__name__)


MOST_RIVALS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """HPA of another owner over the workload of a ScaledObject. `to_zero`: it may set and wake a zero of its own."""

    name: str
    to_zero: bool

    def told(self, target: TargetSpec) -> str:
        """Say what is wrong, and what to do."""
        also = " and goes to zero by itself" if self.to_zero else ""
        return (
            f"HPA {self.name} scales {target.kind} {target.name}, too{also}: Kubernetes lets neither of two HPAs scale "
            "a workload; delete one of the two"
        )


class Hpas:
    """Writes HorizontalPodAutoscalers."""

    def __init__(self, client: KubeClient, cache: Cache) -> None:
        self._client, self._cache = client, cache

    async def ensure(self, spec: ScalingSpec, desired: Manifest, recorded_name: str) -> str:
        """Make the live HPA say what `desired` says. The version that was written, "" where nothing was."""
        name = desired["metadata"]["name"]
        # The old HPA goes first: two for one target would fight about its count. A crash in between leaves the target
        # without an HPA, until the next reconcile, which still finds the old name in the status, makes the new one.
        if recorded_name and recorded_name != name:
            await self.delete(spec.namespace, recorded_name)
        live = self._cache.get(spec.namespace, name)
        if live is None:
            return await self._create(spec, desired)
        if not differs(desired, unpack_hpa(live)):
            return ""
        try:
            return await self._replace(spec, desired)
        except NotFound:  # it went with a namesake of its owner, and the cache has not heard of it
            return await self._create(spec, desired)

    def is_new(self, namespace: str, name: str) -> bool:
        """Whether there is no HPA of that name, as far as is known."""
        return self._cache.get(namespace, name) is None

    async def _create(self, spec: ScalingSpec, desired: Manifest) -> str:
        try:
            made = await self._client.create(HORIZONTAL_POD_AUTOSCALERS, desired)
        except AlreadyExists:
            # The cache may lag behind our own write, or another client made it just now.
            path = HORIZONTAL_POD_AUTOSCALERS.named(spec.namespace, desired["metadata"]["name"])
            return await self._replace(spec, desired) if differs(desired, await self._client.get(path)) else ""
        log.info("created hpa", extra=_about(spec, desired))
        return str(made["metadata"].get("resourceVersion", ""))

    async def _replace(self, spec: ScalingSpec, desired: Manifest) -> str:
        path = HORIZONTAL_POD_AUTOSCALERS.named(spec.namespace, desired["metadata"]["name"])
        made = await self._client.update(path, desired)
        log.info("updated hpa", extra=_about(spec, desired))
        return str(made["metadata"].get("resourceVersion", ""))

    async def delete(self, namespace: str, name: str) -> None:
        """Delete it; one that is gone already is as good. Not trusted to the cache, which may lag behind a creation."""
        try:
            await self._client.delete(HORIZONTAL_POD_AUTOSCALERS.named(namespace, name))
        except NotFound:
            return
        log.info("deleted hpa", extra={"namespace": namespace, "hpa": name})

    def rivals_of(self, spec: ScalingSpec, uid: str) -> tuple[Rival, ...]:
        """HPAs of others over the workload of a ScaledObject; not those that an annotation declares to be no rival."""
        target = spec.target
        key = target_key(spec.namespace, target.api_version, target.kind, target.name)
        # Our own is nearly always the only one, and is not looked into.
        found = [live for live in self._cache.by_index(BY_TARGET, key) if live["metadata"]["name"] != spec.hpa_name]
        return tuple(
            Rival(name=name_of(hpa), to_zero=map_at(hpa, "spec").get("minReplicas") == 0)
            for hpa in map(unpack_hpa, found[:MOST_RIVALS])
            if not is_owned(hpa, uid) and texts_at(hpa, "metadata", "annotations").get(NOT_OURS) != "false"
        )

    def status_in(self, namespace: str, status: Mapping[str, Any]) -> dict[str, Any]:
        """Return the cached status of the HPA that the status of a ScaledObject names, empty if it is missing."""
        live = self._cache.get(namespace, status.get("hpaName", ""))
        return dict(live.get("status") or {}) if live else {}


def is_owned(hpa: Obj, uid: str) -> bool:
    """Is it the HPA of the ScaledObject with that uid?"""
    return any(owner.get("uid") == uid for owner in hpa["metadata"].get("ownerReferences") or ())


def _about(spec: ScalingSpec, desired: Manifest) -> dict[str, str]:
    return {"namespace": spec.namespace, "scaledobject": spec.name, "hpa": desired["metadata"]["name"]}
