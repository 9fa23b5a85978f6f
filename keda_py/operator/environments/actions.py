"""Apply decisions to workloads and CronJobs; each write carries the resourceVersion that the decision was based on.

A Conflict is not an error: another client wrote meanwhile, and the next look takes its write into account.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping

from keda_py.apis.foreign import namespace_of
from keda_py.core.environment.decision.members import MemberDecision, Resume, SetReplicas, Suspend
from keda_py.errors import Conflict, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.discovery import ScaleTarget
from keda_py.kube.resources import CRON_JOBS, Obj
from keda_py.kube.scale import write_scale
from keda_py.operator.controller.state import about, version_of
from keda_py.operator.environments.known.caches import MEMBERS
from keda_py.operator.environments.known.further import TARGET
from keda_py.operator.environments.state import EnvironmentMemory, Written

AT_ONCE = 20

log = logging.getLogger(__name__)

_TARGETS = {
    kind.kind: ScaleTarget(group=kind.group, version=kind.version, kind=kind.kind, resource=kind.plural)
    for kind in MEMBERS
    if kind != CRON_JOBS
}


async def act(
    client: KubeClient, state: EnvironmentMemory, decisions: Iterable[MemberDecision], objects: Mapping[str, Obj]
) -> None:
    """Apply all decisions, AT_ONCE at a time; raise the first KubeError after all were tried.

    `state.write_error` keeps the text of the first error while errors go on, so that the status does not flap.
    """
    at_once = asyncio.Semaphore(AT_ONCE)
    errors: list[KubeError] = []

    async def one(decision: MemberDecision) -> None:
        async with at_once:
            try:
                await _apply(client, state, decision, objects[decision.key])
            except (Conflict, NotFound) as error:
                fields = about(state) | {"member": decision.key, "error": str(error)}
                log.debug("member changed meanwhile", extra=fields)
            except KubeError as error:
                errors.append(error)

    async with asyncio.TaskGroup() as tasks:
        for decision in decisions:
            if isinstance(decision.action, SetReplicas | Suspend | Resume):
                tasks.create_task(one(decision))
    state.write_error = (state.write_error or str(errors[0])) if errors else ""
    if errors:
        raise errors[0]


async def _apply(client: KubeClient, state: EnvironmentMemory, decision: MemberDecision, live: Obj) -> None:
    namespace, name, key = namespace_of(live), live["metadata"]["name"], decision.key
    version = _version(state, key, live)
    match decision.action:
        case SetReplicas(replicas=count):
            target = live.get(TARGET) or _TARGETS[live["kind"]]
            scale = await write_scale(client, target, namespace, name, count, version)
            state.written[key] = Written(int(scale.resource_version or 0), scale.replicas)
        case Suspend() | Resume():
            suspend = isinstance(decision.action, Suspend)
            change = {"metadata": {"resourceVersion": version}, "spec": {"suspend": suspend}}
            answer = await client.patch(CRON_JOBS.named(namespace, name), change)
            state.written[key] = Written(version_of(answer), 0 if suspend else 1)
            count = 0 if suspend else 1
        case _:
            return
    fields = about(state) | {"member": key, "replicas": count, "reason": decision.reason.value}
    log.info("member scaled", extra=fields)


def _version(state: EnvironmentMemory, key: str, live: Obj) -> str:
    """Return the resourceVersion to write over: the cache's, or that of our own last write if it is newer."""
    known, written = version_of(live), state.written.get(key)
    return str(max(known, written.version if written is not None else 0))
