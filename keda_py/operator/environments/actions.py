"""Apply decisions to workloads and CronJobs; each write carries the resourceVersion that the decision was based on.

A Conflict is not an error: another client wrote meanwhile, and the next look takes its write into account.
The mark of an HPA's zero is taken off before the count is set: between the two, work could wake the member.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from keda_py.apis.foreign import namespace_of
from keda_py.core.environment.decision.members import MarkChange, MemberDecision, Resume, SetReplicas, Suspend
from keda_py.errors import Conflict, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.discovery import ScaleTarget
from keda_py.kube.resources import CRON_JOBS, Obj
from keda_py.kube.scale import write_scale
from keda_py.operator.controller.state import about, version_of
from keda_py.operator.environments.known.caches import MEMBERS
from keda_py.operator.environments.known.further_kinds import TARGET
from keda_py.operator.environments.known.native_hpas import NativeHpas
from keda_py.operator.environments.state import CountWrite, EnvironmentMemory

AT_ONCE = 20

log = logging.getLogger(__name__)

_TARGETS = {
    kind.kind: ScaleTarget(group=kind.group, version=kind.version, kind=kind.kind, resource=kind.plural)
    for kind in MEMBERS
    if kind != CRON_JOBS
}


@dataclass(slots=True, kw_only=True)
class Writes:
    """What one look writes, and what went wrong with it."""

    client: KubeClient
    hpas: NativeHpas
    state: EnvironmentMemory
    objects: Mapping[str, Obj]
    errors: list[tuple[str, KubeError]] = field(default_factory=list)

    async def act(self, decisions: Iterable[MemberDecision]) -> None:
        """Do all of it, so many at once; the first KubeError is raised when all were tried.

        Conflict is raised where the mark of an HPA was not written for it: no watch makes a look due for that.
        `state.write_errors` keeps a member's first error for as long as its errors go on: a status does not flap.
        """
        at_once = asyncio.Semaphore(AT_ONCE)

        async def one(decision: MemberDecision) -> None:
            async with at_once:
                if decision.mark is None or await self._change_mark(decision.mark, decision.key):
                    await self._scale(decision)

        async with asyncio.TaskGroup() as tasks:
            for decision in decisions:
                if decision.mark is not None or isinstance(decision.action, SetReplicas | Suspend | Resume):
                    tasks.create_task(one(decision))
        lasting = [(key, error) for key, error in self.errors if not isinstance(error, Conflict)]
        before = self.state.write_errors
        self.state.write_errors = {key: before.get(key) or str(error) for key, error in lasting}
        for _, error in (*lasting, *self.errors):
            raise error

    async def _change_mark(self, change: MarkChange, key: str) -> bool:
        """Whether the count may be written now."""
        try:
            await self.hpas.change_mark(self.client, change, self.objects[key], self.state.key.name)
        except NotFound:
            return True
        except KubeError as error:
            self.errors.append((key, error))
            return not isinstance(error, Conflict)  # where it may not be written, the member sleeps until work comes
        log.info("mark of the hpa changed", extra=about(self.state) | {"member": key, "mark": change.value})
        return True

    async def _scale(self, decision: MemberDecision) -> None:
        try:
            await _apply(self.client, self.state, decision, self.objects[decision.key])
        except (Conflict, NotFound) as error:
            fields = about(self.state) | {"member": decision.key, "error": str(error)}
            log.debug("member changed meanwhile", extra=fields)
        except KubeError as error:
            self.errors.append((decision.key, error))


async def _apply(client: KubeClient, state: EnvironmentMemory, decision: MemberDecision, live: Obj) -> None:
    namespace, name, key = namespace_of(live), live["metadata"]["name"], decision.key
    version = _version(state, key, live)
    match decision.action:
        case SetReplicas(replicas=count):
            target = live.get(TARGET) or _TARGETS[live["kind"]]
            scale = await write_scale(client, target, namespace, name, count, version)
            # Until the cache shows this version: a look on the old count would decide the same, and write it once more.
            state.written[key] = CountWrite(int(scale.resource_version or 0), scale.replicas)
        case Suspend() | Resume():
            suspend = isinstance(decision.action, Suspend)
            change = {"metadata": {"resourceVersion": version}, "spec": {"suspend": suspend}}
            answer = await client.patch(CRON_JOBS.named(namespace, name), change)
            state.written[key] = CountWrite(version_of(answer), 0 if suspend else 1)
            count = 0 if suspend else 1
        case _:
            return
    fields = about(state) | {"member": key, "replicas": count, "reason": decision.reason.value}
    log.info("member scaled", extra=fields)


def _version(state: EnvironmentMemory, key: str, live: Obj) -> str:
    """Return the resourceVersion to write over: the cache's, or that of our own last write if it is newer."""
    known, written = version_of(live), state.written.get(key)
    return str(max(known, written.version if written is not None else 0))
