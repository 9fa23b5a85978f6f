"""Writes of Environments for a ClusterEnvironment; each carries the version that the plan was made of.

So an edit that happens at the same time is never overwritten unseen, and an Environment that its namespace takes over
(by removing the owner reference) is never deleted.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator
from typing import Any

from keda_py.apis.foreign import map_at
from keda_py.core.environment.namespaces.coverage import Coverage, NamespacePlan, Write, body_of, digest_of
from keda_py.core.environment.namespaces.spec import ClusterEnvironmentSpec
from keda_py.errors import KubeError
from keda_py.kube.events import EventType
from keda_py.kube.resources import ENVIRONMENTS, Obj
from keda_py.operator.environments.dependencies import EnvironmentDependencies

AT_ONCE = 20

log = logging.getLogger(__name__)

Results = list[tuple[NamespacePlan, KubeError | None]]


class EnvironmentWrites:
    """Carries plans out, and records the Events that belong to them."""

    def __init__(self, parts: EnvironmentDependencies) -> None:
        self._shared = parts.shared

    async def write_all(
        self, spec: ClusterEnvironmentSpec, plans: Iterable[NamespacePlan], pruned: dict[str, tuple[str, Any]]
    ) -> Results:
        """Carry out all plans, several at once; the result of each is None or its error."""
        at_once, results = asyncio.Semaphore(AT_ONCE), Results()

        async def one(plan: NamespacePlan) -> None:
            async with at_once:
                try:
                    answer = await self._write(spec, plan)
                except KubeError as error:
                    results.append((plan, error))
                    return
            results.append((plan, None))
            _note_pruned(pruned, spec, plan, answer)
            for kind, reason, note in _events(spec, plan):
                self._shared.events.record(dict(plan.live or {}), kind, reason, note)

        async with asyncio.TaskGroup() as tasks:
            for plan in plans:
                tasks.create_task(one(plan))
        return results

    async def _write(self, spec: ClusterEnvironmentSpec, plan: NamespacePlan) -> Obj:
        client, path = self._shared.client, ENVIRONMENTS.named(plan.namespace, spec.name)
        live = plan.live or {}
        meta = map_at(live, "metadata")
        log.info("environment of a policy written", extra={"where": plan.namespace, "write": plan.write.value})
        match plan.write:
            case Write.CREATE:
                return await client.create(ENVIRONMENTS, body_of(spec, plan.namespace))
            case Write.DELETE:
                return await client.delete(path, uid=meta["uid"], resource_version=meta["resourceVersion"])
            case _:
                return await client.update(path, body_of(spec, plan.namespace, live))


def _note_pruned(
    pruned: dict[str, tuple[str, Any]], spec: ClusterEnvironmentSpec, plan: NamespacePlan, answer: Obj
) -> None:
    pruned.pop(plan.namespace, None)
    if plan.write is not Write.DELETE and map_at(answer, "spec") != spec.template:
        pruned[plan.namespace] = (digest_of(spec.template), map_at(answer, "spec"))


def _events(spec: ClusterEnvironmentSpec, plan: NamespacePlan) -> Iterator[tuple[EventType, str, str]]:
    if plan.write is Write.PUT_BACK:
        note = (
            f"its spec was edited here and is that of ClusterEnvironment {spec.name} again; edit that one, or create "
            "an Environment of its own in this namespace, which is in force instead"
        )
        yield "Warning", "EnvironmentPutBack", note
    elif plan.write is Write.DELETE:
        reasons = {
            Coverage.OWN: f"Environment {plan.other} of this namespace is in force instead",
            Coverage.OLDER: f"ClusterEnvironment {plan.other} is older and covers this namespace",
        }
        why = reasons.get(plan.coverage, f"ClusterEnvironment {spec.name} does not select this namespace any more")
        yield "Normal", "EnvironmentLeaves", f"{why}; it gives every count back, then it is deleted"
