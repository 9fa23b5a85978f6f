"""The kind for `Controller`: plan each namespace, write what differs, then the sums of all of them.

Each look compares everything that is covered with what is stored, so that a process that is killed after any write
continues with the next one. Environments whose deletion begins give their counts back by their own finalizer, so that a
ClusterEnvironment needs none: its deletion lets the garbage collector of the cluster delete its Environments.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from keda_py.apis.environments.cluster_environment import ClusterEnvironmentStatus
from keda_py.apis.foreign import map_at, name_of, namespace_of, texts_at
from keda_py.core.environment.namespaces.coverage import (
    NamespacePlan,
    NamespaceSeen,
    Write,
    digest_of,
    labels_of,
    plan_namespace,
)
from keda_py.core.environment.namespaces.report import invalid_status, status_of
from keda_py.core.environment.namespaces.spec import CLUSTERS_OWN, ClusterEnvironmentSpec
from keda_py.errors import ConfigError, Conflict, KubeError, NotFound
from keda_py.kube.resources import NAMESPACES, Obj
from keda_py.operator.cluster_environments.writes import EnvironmentWrites
from keda_py.operator.controller.component import Component
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.kind import Kind
from keda_py.operator.controller.state import Remembered, about
from keda_py.operator.controller.troubles import StepError
from keda_py.operator.environments.dependencies import EnvironmentDependencies
from keda_py.operator.environments.known.policies import Policies, read_policy
from keda_py.operator.environments.parts import EnvironmentParts
from keda_py.operator.environments.state import LONGEST_RETRY
from keda_py.operator.environments.wire import fields_of
from keda_py.operator.sharding.tenures import Tenures
from keda_py.settings.settings import Settings
from keda_py.settings.surroundings import service_account_namespace

PAUSE_SECONDS = 1.0
"""Shortest time between two looks: while many namespaces fall asleep, the sums change with each of their writes."""
LONGEST_WAIT_SECONDS = 3600.0
AT_A_TIME = 100
"""Namespaces that are planned before the loop may do something else: less than 5 ms."""

WORKERS = 1
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ParsedPolicy:
    """A ClusterEnvironment as decisions use it."""

    spec: ClusterEnvironmentSpec
    polling_interval: timedelta = LONGEST_RETRY


@dataclass(slots=True)
class PolicyMemory(Remembered):
    """State of one ClusterEnvironment between two looks; nothing of it has to survive.

    `plans` are those of the last look, by namespace; `to_plan` are the namespaces that changed since (None: all may
    have): while five hundred fall asleep, each look would else plan five hundred for a few that have changed. `errors`
    are by namespace, with the time of the next try. `pruned` are specs as the API server stored them where it did not
    store all of the template, by namespace: to write such a one again would never end.
    """

    spec: ParsedPolicy | None = None
    looked: float = float("-inf")
    plans: dict[str, NamespacePlan] = field(default_factory=dict)
    to_plan: set[str] | None = None
    planned: float = float("-inf")
    errors: dict[str, tuple[str, float]] = field(default_factory=dict)
    pruned: dict[str, tuple[str, Any]] = field(default_factory=dict)


class ClusterEnvironments(Kind[PolicyMemory]):
    """The kind for `Controller`; `own` is the operator's namespace, which is never covered."""

    new = PolicyMemory

    def __init__(self, parts: EnvironmentDependencies, policies: Policies, own: str) -> None:
        self._parts, self._shared = parts, parts.shared
        self._policies, self.live = policies, policies.live
        self._never = (*CLUSTERS_OWN, own)
        self._writes = EnvironmentWrites(parts)

    async def reconcile(self, state: PolicyMemory, live: Obj) -> None:
        """Parse the object. Raises StepError for an invalid one: the Environments stay as they are."""
        try:
            spec = read_policy(live)
        except ConfigError as error:
            conditions = [one.model_dump(by_alias=True) for one in invalid_status(state.status, str(error))]
            await self._shared.status.write(state, {"conditions": conditions})
            state.stop()
            raise StepError("ClusterEnvironment cannot be read", error) from error
        state.spec, state.to_plan = ParsedPolicy(spec), None
        state.due.look_now()
        state.reconciled.finish(live)

    async def look(self, state: PolicyMemory) -> None:
        """Plan, write the Environments, then the status. Raises KubeError."""
        if state.spec is None:
            return
        clock, spec = self._shared.clock, state.spec.spec
        state.looked = clock.monotonic()
        state.due.look_at(state.looked + LONGEST_WAIT_SECONDS)  # a change meanwhile sets an earlier time
        if problem := self._policies.problem:
            state.due.look_at(state.looked + PAUSE_SECONDS)
            log.debug("namespaces are not known yet", extra=about(state) | {"error": problem})
            return
        await self._plan(state, spec)
        plans = [state.plans[name] for name in sorted(state.plans)]
        state.errors = {name: one for name, one in state.errors.items() if name in state.plans}
        due = [plan for plan in plans if plan.write and state.errors.get(plan.namespace, ("", 0.0))[1] <= state.looked]
        # Environments are written before the status, so that a status never tells of a coverage that is not there.
        # After a crash in between the next look finds what is written in the caches, and writes the status alone.
        for plan, error in await self._writes.write_all(spec, due, state.pruned):
            self._note(state, plan, error)
        groups = {plan.namespace: self._group(spec, plan) for plan in plans} if spec.order else {}
        errors = {name: text for name, (text, _) in state.errors.items()}
        status = status_of(spec, plans, groups, errors)
        self._record_news(state, status)
        await self._shared.status.write(state, fields_of(ClusterEnvironmentStatus, status))
        if state.errors:
            state.due.look_by(min(at for _, at in state.errors.values()))

    async def _plan(self, state: PolicyMemory, spec: ClusterEnvironmentSpec) -> None:
        """Plan the namespaces that have changed since the last look; all of them once an hour."""
        if state.to_plan is None or state.looked - state.planned >= LONGEST_WAIT_SECONDS:
            state.plans, state.planned = {}, state.looked
            state.to_plan = {name_of(live) for live in self._policies.every_namespace()}
        specs = self._policies.specs()
        older = [one for one in specs if (one.created, one.uid) < (spec.created, spec.uid)]
        number = 0
        while state.to_plan:  # a change during a pause adds to it, and may replace it by None
            name, number = state.to_plan.pop(), number + 1
            if number % AT_A_TIME == 0:
                await asyncio.sleep(0)
            live = self._policies.namespace(name)
            if live is None:
                state.plans.pop(name, None)
                continue
            plan = plan_namespace(spec, older, self._seen(live), self._never)
            if plan.write is Write.PUT_BACK and self._is_pruned(state, spec, plan):
                plan = NamespacePlan(namespace=plan.namespace, coverage=plan.coverage, live=plan.live)
            state.plans[name] = plan

    def _seen(self, live: Obj) -> NamespaceSeen:
        name = name_of(live)
        return NamespaceSeen(
            name=name,
            labels=texts_at(live, "metadata", "labels"),
            terminating=bool(live["metadata"].get("deletionTimestamp")),
            environments=self._parts.caches.environments.objects(name),
        )

    @staticmethod
    def _is_pruned(state: PolicyMemory, spec: ClusterEnvironmentSpec, plan: NamespacePlan) -> bool:
        known = state.pruned.get(plan.namespace)
        return known == (digest_of(spec.template), map_at(plan.live, "spec"))

    def _group(self, spec: ClusterEnvironmentSpec, plan: NamespacePlan) -> int:
        live = self._policies.namespace(plan.namespace) or {"metadata": {"name": plan.namespace}}
        return spec.group_of(labels_of(self._seen(live)))

    def _note(self, state: PolicyMemory, plan: NamespacePlan, error: KubeError | None) -> None:
        """Note what became of a write; another client that was quicker is no failure, the next look sees its write."""
        now = self._shared.clock.monotonic()
        if error is None:
            state.errors.pop(plan.namespace, None)
        elif isinstance(error, Conflict | NotFound):
            state.due.look_by(now + PAUSE_SECONDS)
        else:
            state.errors[plan.namespace] = (str(error), now + LONGEST_RETRY.total_seconds())
            log.warning("environment not written", extra=about(state) | {"where": plan.namespace, "error": str(error)})

    def _record_news(self, state: PolicyMemory, status: ClusterEnvironmentStatus) -> None:
        """Record an Event for each condition that was not there before."""
        live = self.live.get("", state.key.name)
        before = {(one.get("type"), one.get("message")) for one in state.status.get("conditions") or ()}
        told = {
            "Protected": "NamespaceProtected",
            "Conflict": "NamespacesRuledByOlder",
            "OwnEnvironments": "OwnEnvironments",
        }
        for one in status.conditions if live is not None else ():
            if one.type in told and (one.type, one.message) not in before:
                self._shared.events.record(live or {}, "Warning", told[one.type], one.message)

    async def finalize(self, state: PolicyMemory, live: Obj) -> None:
        """Stop the work; the garbage collector deletes the Environments, which give their counts back first."""
        state.stop()

    def watches(self, controller: Controller[PolicyMemory]) -> Iterable[Callable[[], None]]:
        """Subscribe to namespaces, Environments and other ClusterEnvironments."""
        sources = (*self._policies.namespaces, self._parts.caches.environments, self.live)
        for informer in sources:
            yield informer.follow(partial(self._on_change, controller))

    def _on_change(self, controller: Controller[PolicyMemory], old: Obj | None, new: Obj | None) -> None:
        if old is not None and new is not None and _relevant_fields(old) == _relevant_fields(new):
            return
        now, live = self._shared.clock.monotonic(), new or old or {}
        namespace = name_of(live) if live.get("kind") == NAMESPACES.kind else namespace_of(live)
        for state in controller.states.values():
            if not namespace:
                state.to_plan = None  # another ClusterEnvironment may cover any of them
            elif state.to_plan is not None:
                state.to_plan.add(namespace)
            if state.spec is not None:
                # Each look goes over all namespaces, and each phase of each Environment would cause one: a hundred of
                # them that wake together cause one in a pause.
                wait = max(state.looked + PAUSE_SECONDS - now, 0.0)
                state.due.look_by(now + wait if wait else 0.0)
                controller.queue.add(state.key, wait)


def _relevant_fields(live: Obj) -> Sequence[object]:
    meta, status = live["metadata"], map_at(live, "status")
    meant = [meta.get(name) for name in ("labels", "annotations", "deletionTimestamp", "ownerReferences")]
    if not namespace_of(live):
        return [*meant, live.get("spec")]  # the status of a ClusterEnvironment is our own
    return [*meant, live.get("spec"), status.get("phase"), status.get("conditions"), status.get("transition")]


def assemble_cluster_environments(
    environments: EnvironmentParts, settings: Settings, tenures: Tenures
) -> tuple[Component, ...]:
    """Assemble the controller, which only the leader runs, while every replica knows the order.

    It is () without `--cluster-environments`.
    """
    policies = environments.policies
    if policies is None:
        return ()
    own = service_account_namespace() or settings.cluster.pod_namespace
    kind = ClusterEnvironments(environments.dependencies, policies, own)
    controller = Controller(environments.dependencies.shared, kind, WORKERS, tenures)
    policies.on_turn(environments.environments.on_turn)
    return (Component(background=(policies.run,), prepare=(policies.tried,), lead=(controller.run,)),)
