"""Scale targets: which kind they are, how many replicas they have, and the one write that changes that.

Deployments, StatefulSets and ReplicaSets are read from the cache; every other scalable kind through GET /scale, when a
loop starts, before a scale and once a minute. A scale is a PUT of /scale with the resourceVersion that was observed:
another client's write in between makes it fail instead of being overwritten.
"""

from dataclasses import dataclass

from keda_py.clock import Clock
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import CountMissing, Forbidden, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.discovery import Discovery, ScaleTarget
from keda_py.kube.scale import Scale, read_scale, write_scale
from keda_py.operator.cluster.caches import Caches
from keda_py.operator.controller.state import version_of
from keda_py.operator.scaled_objects.state import ObjectState

READ_AGAIN_SECONDS = 60.0


class TargetError(KubeError):
    """The scale target cannot be scaled; `event_reason` and `event_note` say so in KEDA's words."""

    def __init__(self, error: KubeError, *, event_reason: str, event_note: str) -> None:
        super().__init__(str(error), status=error.status, reason=error.reason)
        self.event_reason, self.event_note = event_reason, event_note


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """Replicas as last seen, and the resourceVersion that a write must name."""

    replicas: int
    resource_version: str


class Targets:
    """Reads and writes scale targets."""

    def __init__(self, client: KubeClient, caches: Caches, discovery: Discovery, clock: Clock) -> None:
        self._client, self._caches, self._discovery, self._clock = client, caches, discovery, clock
        self._read: dict[ObjectKey, tuple[float, Count]] = {}

    async def resolve(self, spec: ScalingSpec) -> tuple[ScaleTarget, Count]:
        """The target's kind and count; a real read even where a cache would do. Raises TargetError, KubeError."""
        try:
            kind = await self._discovery.scale_target(spec.target.api_version, spec.target.kind)
        except NotFound as error:
            raise TargetError(error, event_reason="ScaledObjectUpdateFailed", event_note=str(error)) from error
        cached = self._caches.workload(kind, spec.namespace, spec.target.name)
        if cached is not None:
            # Without a version, so that no scale can be based on it: callers that write read the count again first.
            return kind, Count(replicas=cached["spec"]["replicas"], resource_version="")
        try:
            return kind, _count(await read_scale(self._client, kind, spec.namespace, spec.target.name))
        except NotFound as error:
            raise await self._explain(error, kind, spec) from error
        except CountMissing as error:
            raise TargetError(error, event_reason="ScaledObjectCheckFailed", event_note=str(error)) from error

    async def _explain(self, error: NotFound, kind: ScaleTarget, spec: ScalingSpec) -> TargetError:
        try:
            await self._client.get(kind.rest.named(spec.namespace, spec.target.name))
        except NotFound as missing:
            note = "Target resource doesn't exist"
            return TargetError(missing, event_reason="ScaledObjectCheckFailed", event_note=note)
        except Forbidden:  # a role may give */scale, and not the right to read what it belongs to
            note = "Target resource doesn't exist, or doesn't expose /scale subresource"
            return TargetError(error, event_reason="ScaledObjectCheckFailed", event_note=note)
        note = "Target resource doesn't expose /scale subresource"
        return TargetError(error, event_reason="ScaledObjectCheckFailed", event_note=note)

    async def count(self, state: ObjectState, spec: ScalingSpec, kind: ScaleTarget) -> Count:
        """The replicas now. Raises KubeError when they cannot be known."""
        if not self._caches.watches(kind):
            return await self._count_unwatched(state, spec, kind)
        cached = self._caches.workload(kind, spec.namespace, spec.target.name)
        if cached is None:
            raise NotFound(f'{kind.resource}.{kind.group} "{spec.target.name}" not found', status=404)
        version = version_of(cached)
        # The cache does not show our own last scale yet: a decision on its count would repeat that scale.
        if state.written is not None and version < state.written[0]:
            return Count(replicas=state.written[1], resource_version=str(state.written[0]))
        state.written = None
        return Count(replicas=cached["spec"]["replicas"], resource_version=cached["metadata"]["resourceVersion"])

    async def _count_unwatched(self, state: ObjectState, spec: ScalingSpec, kind: ScaleTarget) -> Count:
        now = self._clock.monotonic()
        if state.key in self._read and now - self._read[state.key][0] < READ_AGAIN_SECONDS:
            return self._read[state.key][1]
        return await self.read_again(state, spec, kind)

    async def read_again(self, state: ObjectState, spec: ScalingSpec, kind: ScaleTarget) -> Count:
        """The replicas as the API server knows them, past every cache."""
        count = _count(await read_scale(self._client, kind, spec.namespace, spec.target.name))
        self._note(state, kind, count)
        return count

    async def write(self, state: ObjectState, spec: ScalingSpec, kind: ScaleTarget, wanted: Count) -> None:
        """PUT /scale. Raises Conflict when the target changed since it was observed, and other KubeErrors."""
        scale = await write_scale(
            self._client, kind, spec.namespace, spec.target.name, wanted.replicas, wanted.resource_version
        )
        self._note(state, kind, _count(scale))

    def _note(self, state: ObjectState, kind: ScaleTarget, count: Count) -> None:
        """Until the cache shows that version, the count is the one we were just told."""
        if self._caches.watches(kind):
            state.written = (int(count.resource_version or 0), count.replicas)
        else:
            self._read[state.key] = (self._clock.monotonic(), count)

    def forget(self, state: ObjectState) -> None:
        """The object is gone."""
        self._read.pop(state.key, None)


def _count(scale: Scale) -> Count:
    return Count(replicas=scale.replicas, resource_version=scale.resource_version)
