"""Deletions of namespaces by `deleteAfter`: planned at each look, stored in the status, announced, and done.

The order makes a kill at any point harmless. A count that ends leaves the ConfigMap before the status says so. An
announcement stands in the status first, then its Event is recorded, then it is stored that it was made: killed in
between, the next process announces again, and a day passes from then. The deletion itself reads everything anew.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from keda_py.apis.foreign import name_of
from keda_py.core.environment.decision.decision import EnvironmentDecision
from keda_py.core.environment.decision.deletion import (
    DeletionPlan,
    DeletionStep,
    IdleCount,
    announcement,
    count_idle,
    is_near,
    is_protected,
    plan_deletion,
)
from keda_py.core.environment.decision.goal import State
from keda_py.core.environment.decision.state import Activity, Phase
from keda_py.core.environment.spec import EnvironmentSpec
from keda_py.core.values.durations import in_words
from keda_py.core.values.times import write_time
from keda_py.errors import Conflict, KubeError
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import NAMESPACES, Obj
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.environments.deletion.counts import IdleCounts, problem_of
from keda_py.operator.environments.deletion.obstacles import Obstacles

READ_SECONDS = 600.0
"""For how long the labels of a namespace are taken as they were read; right before a deletion they are read anew."""
NOT_PERMITTED = "the operator may not delete namespaces; the chart permits it with environments.deleteNamespaces"

log = logging.getLogger(__name__)


@dataclass(slots=True)
class DeletionMemory:
    """What this process knows of one Environment; `looked` and `read` are monotonic times.

    `refusal` says why the namespace itself may not be deleted, as it was read last.
    """

    looked: float | None = None
    read: float = float("-inf")
    refusal: str = ""
    told: bool = False
    plan: DeletionPlan | None = None


class NamespaceDeletions:
    """Deletions of all namespaces; `own` is the operator's, and without `permitted` nothing is deleted."""

    def __init__(self, shared: Dependencies, environments: Informer, own: str, *, permitted: bool) -> None:
        self._shared, self._environments, self._own, self._permitted = shared, environments, own, permitted
        self._counts = IdleCounts(shared.client, shared.clock, own)
        self._obstacles = Obstacles(shared.client)
        self._memories: dict[str, DeletionMemory] = {}

    def begin(self) -> None:
        """Begin a term as the leader."""
        self._memories.clear()
        self._counts.begin()

    async def plan(self, spec: EnvironmentSpec, decision: EnvironmentDecision) -> EnvironmentDecision:
        """Return the decision with the deletion in its status, and the time of its next step. Raises no KubeError:
        nothing about a deletion may keep an Environment from waking.
        """
        if spec.delete_after is None or spec.deleting:
            await self._end(spec.uid)
            return decision
        memory = self._memories.setdefault(spec.uid, DeletionMemory())
        problem = ""
        try:
            count = await self._count(spec, memory, decision.state.activity)
        except KubeError as error:
            problem = problem_of(error)
            count = count_idle(None, decision.state.activity, timedelta(0), self._shared.clock.now())
        if count is None:
            memory.plan = None
            return decision
        obstacle = problem or await self._obstacle(spec, memory, count, asleep=_is_asleep(decision))
        plan = self._plan(spec, decision, count, obstacle)
        if plan.step is DeletionStep.DELETE and (obstacle := await self._last_obstacle(spec)):
            plan = self._plan(spec, decision, count, obstacle)
        # A count that is not known is neither stored nor acted on.
        memory.plan = None if problem else plan
        return _with(decision, plan, self._shared.clock.now())

    def _plan(
        self, spec: EnvironmentSpec, decision: EnvironmentDecision, count: IdleCount, obstacle: str
    ) -> DeletionPlan:
        memory = self._memories[spec.uid]
        shown = memory.plan.at if memory.plan is not None else None
        after, now = spec.delete_after or timedelta(0), self._shared.clock.now()
        return plan_deletion(count, after, obstacle, now, asleep=_is_asleep(decision), shown=shown)

    async def _count(
        self, spec: EnvironmentSpec, memory: DeletionMemory, activity: Activity | None
    ) -> IdleCount | None:
        """Count the time since the last look. Raises KubeError."""
        clock = self._shared.clock
        if not self._permitted:
            if activity is None or activity.in_use:
                return None
            idle = max(clock.now() - activity.last, timedelta(0))  # only shown
            return IdleCount(span=write_time(activity.last), idle=idle, seen=clock.now())
        await self._counts.load()
        known, before = self._counts.get(spec.uid), memory.looked
        if obstacle := next(self._known_obstacles(spec), ""):
            # All counts are in one object: of Environments that may delete nothing, a tenant could make too many.
            if known is not None:
                self._tell_kept(spec, known, obstacle)
            await self._counts.drop(spec.uid)
            return count_idle(None, activity, timedelta(0), clock.now())
        memory.looked = clock.monotonic()
        elapsed = timedelta(seconds=0 if before is None else memory.looked - before)
        count = count_idle(known, activity, elapsed, clock.now())
        if known is not None and (count is None or count.span != known.span):
            self._tell_kept(spec, known, "it is used")
            await self._counts.drop(spec.uid)
        if count is not None:
            await self._counts.put(spec.uid, spec.namespace, count)
        return count

    async def _obstacle(self, spec: EnvironmentSpec, memory: DeletionMemory, count: IdleCount, *, asleep: bool) -> str:
        """Find the first obstacle: the cheap ones first, and those that are read only once the deletion is near."""
        for obstacle in self._known_obstacles(spec):
            return obstacle
        now = self._shared.clock.monotonic()
        if now - memory.read >= READ_SECONDS:
            _, memory.refusal = await self._obstacles.namespace(spec.namespace)
            memory.read = now
        if memory.refusal or spec.delete_after is None or not is_near(count, spec.delete_after):
            return memory.refusal
        return await self._contents(spec, asleep=asleep)

    def _known_obstacles(self, spec: EnvironmentSpec) -> Iterator[str]:
        if is_protected(spec.namespace, self._own):
            yield f"namespace {spec.namespace} is the cluster's or the operator's own, and is never deleted"
        if not self._permitted:
            yield NOT_PERMITTED
        for live in self._environments.objects(spec.namespace):
            if name_of(live) != spec.name:
                yield f"Environment {name_of(live)} is in the namespace, too"

    async def _last_obstacle(self, spec: EnvironmentSpec) -> str:
        """Read everything anew, right before the deletion."""
        _, obstacle = await self._obstacles.namespace(spec.namespace)
        return obstacle or await self._contents(spec, asleep=True)

    async def _contents(self, spec: EnvironmentSpec, *, asleep: bool) -> str:
        """Find what is in the namespace and keeps it; while members are up, their pods do not count."""
        obstacle = "" if spec.delete_bound_volumes else await self._obstacles.volumes(spec.namespace)
        return obstacle or (await self._obstacles.pods(spec.namespace) if asleep else "")

    async def act(self, spec: EnvironmentSpec, live: Obj | None) -> None:
        """Announce, withdraw or delete what the stored status says. Raises no KubeError, as `plan`."""
        try:
            await self._act(spec, live)
        except Conflict:
            pass  # the namespace, or the counts, changed meanwhile: the next look reads them
        except KubeError as error:
            log.warning("deletion of a namespace failed", extra={"namespace": spec.namespace, "error": str(error)})
            memory = self._memories.setdefault(spec.uid, DeletionMemory())
            memory.refusal, memory.read = f"it failed: {error}", self._shared.clock.monotonic()

    async def _act(self, spec: EnvironmentSpec, live: Obj | None) -> None:
        memory = self._memories.get(spec.uid)
        if memory is None or memory.plan is None or spec.delete_after is None or live is None:
            return
        plan, count = memory.plan, memory.plan.count
        if plan.step is DeletionStep.DELETE:
            await self._delete(spec, live)
        elif plan.step is DeletionStep.WITHDRAW:
            self._tell_kept(spec, replace(count, announced=count.idle), plan.status.blocked)
            await self._counts.put(spec.uid, spec.namespace, count, at_once=True)
        elif count.announced is not None and (plan.step is DeletionStep.ANNOUNCE or not memory.told):
            note = announcement(spec.namespace, plan, spec.delete_after)
            self._shared.events.record(live, "Warning", "NamespaceDeletionAnnounced", note)
            memory.told = True
            if plan.step is DeletionStep.ANNOUNCE:
                log.warning("deletion of a namespace announced", extra={"namespace": spec.namespace})
                await self._counts.put(spec.uid, spec.namespace, count, at_once=True)

    def _tell_kept(self, spec: EnvironmentSpec, count: IdleCount, because: str) -> None:
        live = self._environments.get(spec.namespace, spec.name)
        if count.announced is None or live is None:
            return
        memory = self._memories.setdefault(spec.uid, DeletionMemory())
        memory.told = False
        note = f"namespace {spec.namespace} is not deleted: {because}"
        self._shared.events.record(live, "Normal", "NamespaceDeletionWithdrawn", note)

    async def _delete(self, spec: EnvironmentSpec, live: Obj) -> None:
        """Delete the namespace that was read, and no later one of its name. Raises KubeError."""
        found, obstacle = await self._obstacles.namespace(spec.namespace)
        if obstacle:
            return  # the next look says so
        meta = found["metadata"]
        note = f"not used for {in_words(spec.delete_after or timedelta(0))}, as Environment {spec.name} asks for"
        path = NAMESPACES.named("", spec.namespace)
        await self._shared.client.delete(path, uid=meta["uid"], resource_version=meta["resourceVersion"])
        log.warning("namespace deleted", extra={"namespace": spec.namespace, "environment": spec.name})
        self._shared.events.announce(live, "NamespaceDeleted", note)
        about = {"apiVersion": "v1", "kind": NAMESPACES.kind, "metadata": meta}
        self._shared.events.record(about, "Warning", "NamespaceDeleted", note)

    def forget(self, uid: str) -> None:
        """Drop what is known of an Environment that is gone."""
        self._memories.pop(uid, None)
        self._counts.forget(uid)

    async def _end(self, uid: str) -> None:
        """End the count of an Environment that deletes nothing, or is gone."""
        self._memories.pop(uid, None)
        if not self._permitted:
            return
        try:
            await self._counts.drop(uid)
        except KubeError as error:
            log.debug("count of a namespace not dropped", extra={"error": str(error)})


def _is_asleep(decision: EnvironmentDecision) -> bool:
    return decision.state.phase is Phase.ASLEEP and decision.goal.state is State.ASLEEP


def _with(decision: EnvironmentDecision, plan: DeletionPlan, now: datetime) -> EnvironmentDecision:
    looks = [decision.look_again_at, now + plan.look_after if plan.look_after is not None else None]
    return replace(
        decision,
        status=decision.status.model_copy(update={"deletion": plan.status}),
        look_again_at=min((at for at in looks if at is not None), default=None),
    )
