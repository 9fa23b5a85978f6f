"""Gives the remembered counts of an Environment back by hand, also where no operator runs.

Counts go by /scale with the version that was read, under a field manager of our own, so that an operator that runs
takes it for a person's wish and leaves it alone until the next change. An HPA whose controller had set a zero gets the
mark of it back, or nothing would end that zero. What is remembered stays in the status. An
Environment that is being deleted loses our finalizer once all is given back, so that it can go; so does each where no
operator is left.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from keda_py.apis.environments.environment import Environment, MemberStatus
from keda_py.apis.foreign import map_at, maps_at, name_of, text_at
from keda_py.core.environment.decision.state import Stage
from keda_py.core.gitops.flux import MARK, change_of_annotations
from keda_py.core.gitops.truce import Truce, read_truces, without_truce
from keda_py.core.hpa.conditions import ZeroMark, scaled_to_zero
from keda_py.core.hpa.wire import read_zero_mark
from keda_py.core.waking.rules import LABEL, LABEL_VALUE
from keda_py.core.waking.slices import read_slice
from keda_py.environments.requests import read_environment
from keda_py.errors import ConfigError, Conflict, Forbidden, KubeError, NotFound
from keda_py.kube.client import KubeClient, PatchKind
from keda_py.kube.discovery import Discovery, ScaleTarget
from keda_py.kube.resources import (
    APPLICATIONS,
    CRON_JOBS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    ENVIRONMENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    SCALED_OBJECTS,
    STATEFUL_SETS,
    Obj,
    Selection,
)
from keda_py.kube.scale import read_scale
from keda_py.kube.transport import Request
from keda_py.operator.controller.finalizer import remove_finalizer

# Field manager of these writes: the operator takes them for a person's, not for its own.
FIELD_MANAGER = "kubectl-keda_py"
ATTEMPTS = 3
_WORKLOADS = {kind.kind: kind.api_version for kind in (DEPLOYMENTS, STATEFUL_SETS)}
_OURS = Selection(labels=f"{LABEL}={LABEL_VALUE}")
_NO_WAKERS = "is deleted: requests go to pods alone"
_TAKEN = (Stage.FALLING, Stage.DOWN, Stage.RISING, Stage.PINNED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseResult:
    """Result for one member; `failed`: its count was not given back."""

    environment: str
    member: str
    outcome: str
    failed: bool = False


class Releasing:
    """Release of Environments of a cluster. `dry_run`: only report; `last`: no operator is left."""

    def __init__(self, client: KubeClient, *, dry_run: bool = False, last: bool = False) -> None:
        self._client, self._dry_run, self._last = client, dry_run, last
        self._discovery = Discovery(client)

    async def release(self, live: Obj) -> Sequence[ReleaseResult]:
        """Release one Environment; a failure does not stop the others. Raises ConfigError if it cannot be read."""
        environment = read_environment(live)
        meta = environment.metadata
        where = f"{meta.namespace}/{meta.name}"
        done = []
        for key, remembered in environment.status.members.items():
            if remembered.stage not in _TAKEN:
                continue
            try:
                outcome, failed = await self._give_back(environment, key, remembered), False
            except NotFound:
                outcome, failed = "is gone", False
            except (KubeError, ConfigError) as error:
                outcome, failed = str(error), True
            done.append(ReleaseResult(environment=where, member=key, outcome=outcome, failed=failed))
        if (self._last or meta.deletion_timestamp) and not self._dry_run:
            done += await self._delete_slices(where, environment)
        done += await self._end_truces(where, environment)
        if environment.spec.gitops is not None and environment.spec.gitops.flux:
            done += await self._end_flux(where, meta.namespace)
        # The finalizer goes last: while it stays, the status still remembers each count that is to be given back.
        if (self._last or meta.deletion_timestamp) and not self._dry_run and not any(one.failed for one in done):
            done += await self._remove_finalizer(where, live)
        return done

    async def _delete_slices(self, where: str, environment: Environment) -> Sequence[ReleaseResult]:
        """Delete the slices that lead its Services to wakers: without an operator they would point at dead addresses.

        Counts are given back first, so that requests find pods. A refusal is only reported.
        """
        meta = environment.metadata
        if environment.spec.wake_on_request is None and environment.status.wake_on_request is None:
            return []
        done = []
        try:
            for live in await self._client.list(ENDPOINT_SLICES, meta.namespace, _OURS):
                seen = read_slice(live)
                if seen.owner_uid == meta.uid:
                    await self._client.delete(ENDPOINT_SLICES.named(meta.namespace, seen.name), uid=seen.uid)
                    member = f"EndpointSlice/{seen.name}"
                    done.append(ReleaseResult(environment=where, member=member, outcome=_NO_WAKERS))
        except KubeError as error:
            told = f"its EndpointSlices with the label {LABEL} stay; delete them by hand: {error}"
            done.append(ReleaseResult(environment=where, member="", outcome=told))
        return done

    async def _end_truces(self, where: str, environment: Environment) -> Sequence[ReleaseResult]:
        """Take our lines out of Argo CD's Applications, whose members are up by now."""
        done = []
        for key, truce in read_truces(environment.status.truces, environment.metadata.namespace).items():
            name = f"Application {'/'.join(key)}"
            try:
                await _retry_on_conflict(lambda truce=truce: self._end_truce(truce, where))  # type: ignore[misc]
            except NotFound:
                outcome, failed = "is gone", False
            except KubeError as error:
                outcome, failed = f"our ignoreDifferences stay; take them out by hand: {error}", not self._last
            else:
                outcome, failed = "puts counts back again", False
            done.append(ReleaseResult(environment=where, member=name, outcome=outcome, failed=failed))
        return done

    async def _end_flux(self, where: str, namespace: str) -> Sequence[ReleaseResult]:
        """Take our annotations for Flux off the members, which are up by now."""
        done = []
        for resource in (DEPLOYMENTS, STATEFUL_SETS, CRON_JOBS):
            try:
                for live in await self._client.list(resource, namespace):
                    annotations = change_of_annotations(live, asleep=False)
                    if annotations is not None and not self._dry_run:
                        path = resource.named(namespace, live["metadata"]["name"])
                        await self._client.patch(path, {"metadata": {"annotations": annotations}})
            except NotFound:
                continue
            except KubeError as error:
                told = f"annotations with {MARK} stay on {resource.plural}; take them off by hand: {error}"
                done.append(ReleaseResult(environment=where, member="", outcome=told, failed=not self._last))
        return done

    async def _end_truce(self, truce: Truce, holder: str) -> str:
        path = APPLICATIONS.named(*truce.application)
        live = await self._client.get(path)
        change = without_truce(live, truce, holder)
        if change is not None and not self._dry_run:
            change["metadata"] = {**change.get("metadata", {}), "resourceVersion": live["metadata"]["resourceVersion"]}
            await self._client.patch(path, change)
        return ""

    async def delete_other_slices(self, namespace: str) -> Sequence[ReleaseResult]:
        """Delete the slices of ScaledObjects, for the same reason; their counts stay, as at any uninstall.

        `namespace` "" is the cluster. Without wakers this process may have no right to slices, and there are none.
        """
        done = []
        try:
            for live in await self._client.list(ENDPOINT_SLICES, namespace, _OURS):
                seen = read_slice(live)
                owner = next((text_at(one, "name") for one in maps_at(live, "metadata", "ownerReferences")), "")
                await self._client.delete(ENDPOINT_SLICES.named(seen.namespace, seen.name), uid=seen.uid)
                where, member = f"{seen.namespace}/{owner}", f"EndpointSlice/{seen.name}"
                done.append(ReleaseResult(environment=where, member=member, outcome=_NO_WAKERS))
        except Forbidden:
            return done
        except KubeError as error:
            told = f"EndpointSlices with the label {LABEL} may be left; delete them by hand: {error}"
            done.append(ReleaseResult(environment=namespace, member="", outcome=told))
        return done

    async def _remove_finalizer(self, where: str, live: Obj) -> Sequence[ReleaseResult]:
        """Remove the finalizer, now that all counts are given back; without an operator a refusal is only reported."""
        try:
            await remove_finalizer(self._client, ENVIRONMENTS, live)
        except KubeError as error:
            if not self._last:
                raise
            return [
                ReleaseResult(
                    environment=where, member="", outcome=f"its finalizer stays; take it off by hand: {error}"
                )
            ]
        return []

    async def _give_back(self, environment: Environment, key: str, remembered: MemberStatus) -> str:
        kind, _, name = key.partition("/")
        namespace = environment.metadata.namespace
        if kind == CRON_JOBS.kind:
            return await self._resume(namespace, name, remembered)
        api_versions = _WORKLOADS | {one.kind: one.api_version for one in environment.spec.kinds}
        api_version = api_versions.get(kind, "")
        if kind == SCALED_OBJECTS.kind:
            api_version, kind, name = await self._workload(namespace, name, remembered)
        if not api_version:
            raise ConfigError(f"{key}: kind {kind!r} is not in spec.kinds any more; scale it to {remembered.replicas}")
        target = await self._discovery.scale_target(api_version, kind)
        # A status write of the workload between our read and our write is a Conflict: the new count is judged afresh.
        outcome = await _retry_on_conflict(lambda: self._scale(target, namespace, name, remembered))
        marked = await _retry_on_conflict(lambda: self._mark_zero(namespace, (api_version, kind, name)))
        return f"{outcome}; {marked}" if marked else outcome

    async def _mark_zero(self, namespace: str, workload: tuple[str, str, str]) -> str:
        """Give back the mark that an HPA of its owner has lost for the night; "" if no HPA has lost one."""
        for hpa in await self._client.list(HORIZONTAL_POD_AUTOSCALERS, namespace):
            reference = map_at(hpa, "spec", "scaleTargetRef")
            target = tuple(text_at(reference, field) for field in ("apiVersion", "kind", "name"))
            if target != workload or read_zero_mark(hpa) is not ZeroMark.HELD:
                continue
            if not self._dry_run:
                from keda_py.operator.environments.known.native_hpas import write_mark  # heavy, and seldom needed

                await write_mark(self._client, hpa, scaled_to_zero(by_controller=True))
            return f"HPA {name_of(hpa)} wakes it again"
        return ""

    async def _workload(self, namespace: str, name: str, remembered: MemberStatus) -> tuple[str, str, str]:
        """Find the workload of a ScaledObject; of a deleted one, as it is remembered. Raises NotFound if it is not."""
        try:
            scaled_object = await self._client.get(SCALED_OBJECTS.named(namespace, name))
        except NotFound:
            api_version, kind, name = ["", "", *remembered.workload.rsplit("/", 2)][-3:]
            if not api_version:
                raise
            return api_version, kind, name
        reference = map_at(scaled_object, "spec", "scaleTargetRef")
        api_version = text_at(reference, "apiVersion") or DEPLOYMENTS.api_version
        return api_version, text_at(reference, "kind") or DEPLOYMENTS.kind, text_at(reference, "name")

    async def _scale(self, target: ScaleTarget, namespace: str, name: str, remembered: MemberStatus) -> str:
        seen = await read_scale(self._client, target, namespace, name)
        count = remembered.replicas
        if seen.replicas == count:
            return f"has its {count} already"
        # Another count was set by a person or an autoscaler since: the remembered one must not lower it.
        if seen.replicas not in (0, remembered.to):
            return f"is left at {seen.replicas}: it was scaled up meanwhile"
        if not self._dry_run:
            meta = {"namespace": namespace, "name": name, "resourceVersion": seen.resource_version}
            body = {"kind": "Scale", "metadata": meta, "spec": {"replicas": count}}
            path = target.rest.named(namespace, name, "scale")
            await self._write("PUT", path.path, {"apiVersion": target.scale_api_version, **body}, path.label)
        return f"{seen.replicas} -> {count}"

    async def _resume(self, namespace: str, name: str, remembered: MemberStatus) -> str:
        live = await self._client.get(CRON_JOBS.named(namespace, name))
        if not remembered.replicas or not map_at(live, "spec").get("suspend"):
            return "is left suspended, as it was" if not remembered.replicas else "runs already"
        if not self._dry_run:
            path = CRON_JOBS.named(namespace, name)
            await self._write("PATCH", path.path, {"spec": {"suspend": False}}, path.label)
        return "runs again"

    async def _write(self, method: str, path: str, body: Mapping[str, object], label: str) -> None:
        headers = {"Content-Type": PatchKind.MERGE.value} if method == "PATCH" else {}
        query = {"fieldManager": FIELD_MANAGER}
        request = Request(method=method, path=path, query=query, body=dict(body), headers=headers, resource=label)
        await self._client.send(request)


async def _retry_on_conflict(write: Callable[[], Awaitable[str]]) -> str:
    """Return the answer of `write`, which reads and writes once more after a Conflict. Raises KubeError."""
    for _ in range(ATTEMPTS - 1):
        try:
            return await write()
        except Conflict:
            continue
    return await write()
