"""Truces of Environments with Applications of Argo CD: planned, stored in the status, written, and taken back.

The order makes a kill at any write harmless. Before members go to sleep, the truce is stored in the Environment's
status, then the Application is patched, then counts are written. When all members are awake, the Application is
patched, then the truce leaves the status. So a line of ours in an Application always stands in a status, and what to
add and to take out follows from the two alone.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from keda_py.apis.environments.environment import TruceStatus
from keda_py.apis.foreign import maps_at, name_of, namespace_of
from keda_py.apis.parsing import parse_object
from keda_py.clock import Clock
from keda_py.core.environment.decision.decision import EnvironmentDecision
from keda_py.core.environment.decision.observation import EnvironmentSeen, Role
from keda_py.core.environment.decision.state import EnvironmentState, Stage
from keda_py.core.environment.spec import EnvironmentSpec
from keda_py.core.gitops.argocd import CountField, managed_places
from keda_py.core.gitops.truce import (
    Key,
    Truce,
    generator_of,
    plan_truces,
    read_truces,
    with_truce,
    without_truce,
    write_truces,
)
from keda_py.errors import ConfigError, Conflict, Forbidden, KubeError, NotFound
from keda_py.kube.client import KubeClient
from keda_py.kube.resources import APPLICATIONS, DEPLOYMENTS, Obj

ATTEMPTS = 5
"""Tries to patch one Application: Argo CD writes its status over the same resourceVersion every few seconds."""
LISTED_SECONDS = 30.0
"""For how long one list of Applications serves all Environments: five hundred may fall asleep in one minute."""
LONGEST_ERROR = 500
_ASLEEP = (Stage.FALLING, Stage.DOWN)

log = logging.getLogger(__name__)


@dataclass(slots=True)
class TruceMemory:
    """What this process knows of the truces of one Environment.

    `planned` are those to store, for the counts `wanted`; `kept` are the counts for which all of it was written since
    the start of the process.
    """

    planned: Mapping[Key, Truce] = field(default_factory=dict)
    wanted: frozenset[CountField] = frozenset()
    holder: str = ""
    kept: frozenset[CountField] = frozenset()
    error: str = ""


@dataclass(slots=True)
class _Listed:
    at: float = float("-inf")
    applications: list[Obj] = field(default_factory=list)


class Truces:
    """Truces of all Environments. One truce is written at a time: two Environments may share an Application."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._memories: dict[str, TruceMemory] = {}
        self._listed, self._lock = _Listed(), asyncio.Lock()

    async def plan(
        self, spec: EnvironmentSpec, decision: EnvironmentDecision, seen: EnvironmentSeen, status: Mapping[str, object]
    ) -> EnvironmentDecision:
        """Return the decision with the truces to store before anything is scaled, and why one cannot be made.

        Truces that are not needed any more are taken back first: while one is stored, it may still be in its
        Application. `status` is the stored one.
        """
        stored = read_truces(_stored(status), spec.namespace)
        wanted = frozenset(_counts(spec, decision.state, seen)) if spec.argocd else frozenset()
        if not wanted and not stored:
            self.forget(spec.uid)
            return decision
        memory = self._memories.setdefault(spec.uid, TruceMemory())
        memory.planned, memory.wanted, memory.holder = stored, wanted, _holder(spec)
        async with self._lock:
            try:
                if not wanted and not (spec.argocd and decision.state.members):
                    memory.planned = await self._take_back(spec, stored)
                elif not wanted <= memory.kept:
                    memory.planned, memory.error = plan_truces(await self._applications(), wanted, stored), ""
            except KubeError as error:
                memory.error = str(error)[:LONGEST_ERROR]
        fields = {
            "truces": write_truces(memory.planned),
            "gitops": memory.error or self._generated(wanted),
        }
        return replace(decision, status=decision.status.model_copy(update=fields))

    async def keep(self, uid: str) -> None:
        """Write the truces that are stored by now. Members go to sleep all the same where that fails: an Environment
        notices a controller that puts counts back, and leaves the member to it.
        """
        memory = self._memories.get(uid)
        if memory is None or memory.wanted <= memory.kept or memory.error:
            return
        async with self._lock:
            for truce in memory.planned.values():
                try:
                    await self._patch(truce, memory.holder, taken_back=False)
                except KubeError as error:
                    memory.error = str(error)[:LONGEST_ERROR]
                    fields = {"application": "/".join(truce.application), "error": str(error)}
                    log.warning("application not told to ignore counts", extra=fields)
                    return
        memory.kept = memory.wanted

    def forget(self, uid: str) -> None:
        """Drop what is known of an Environment."""
        self._memories.pop(uid, None)

    async def _take_back(self, spec: EnvironmentSpec, stored: Mapping[Key, Truce]) -> Mapping[Key, Truce]:
        for key, truce in stored.items():
            try:
                await self._patch(truce, _holder(spec), taken_back=True)
            except Forbidden:
                if not spec.deleting:
                    raise
                log.error("application keeps lines of ours: the right is gone", extra={"application": "/".join(key)})
        self.forget(spec.uid)
        return {}

    async def _patch(self, truce: Truce, holder: str, *, taken_back: bool) -> None:
        """Patch over the version that was read, so that no change of a person is lost. Raises KubeError."""
        path = APPLICATIONS.named(*truce.application)
        for attempt in range(ATTEMPTS):
            try:
                live = await self._client.get(path)
                change = (without_truce if taken_back else with_truce)(live, truce, holder)
                if change is not None:
                    version = live["metadata"]["resourceVersion"]
                    change["metadata"] = {**change.get("metadata", {}), "resourceVersion": version}
                    self._note(await self._client.patch(path, change))
                    fields = {"application": "/".join(truce.application), "taken_back": taken_back}
                    log.info("ignored counts of an application changed", extra=fields)
                return
            except NotFound:
                return
            except Conflict:
                if attempt == ATTEMPTS - 1:
                    raise

    def _note(self, written: Obj) -> None:
        """Put what we wrote into the list: an Environment that sleeps again at once must not find old lines of ours."""
        key = namespace_of(written), name_of(written)
        listed = self._listed.applications
        self._listed.applications = [written if (namespace_of(one), name_of(one)) == key else one for one in listed]

    async def _applications(self) -> list[Obj]:
        """List the Applications of the cluster; none where Argo CD is not installed. Raises KubeError."""
        now = self._clock.monotonic()
        if now - self._listed.at >= LISTED_SECONDS:
            try:
                found = await self._client.list(APPLICATIONS)
            except NotFound:
                found = []
            self._listed = _Listed(at=now, applications=found)
        return self._listed.applications

    def _generated(self, wanted: frozenset[CountField]) -> str:
        """Name an Application that gets no lines because an ApplicationSet would take them away; "" without one."""
        places = {count.place for count in wanted}
        for application in self._listed.applications if wanted else ():
            generator = generator_of(application)
            if generator and places.intersection(managed_places(application)):
                name = f"{namespace_of(application)}/{name_of(application)}"
                return (
                    f"Application {name} is generated by ApplicationSet {generator}, which would take the lines away: "
                    "add them to its template; `keda-py doctor` prints them"
                )
        return ""


def _stored(status: Mapping[str, object]) -> list[TruceStatus]:
    """Read the stored truces one by one: the status is input, and an unreadable entry hides no other."""
    found = []
    for one in maps_at(status, "truces"):
        try:
            found.append(parse_object(TruceStatus, one))
        except ConfigError:
            continue
    return found


def _holder(spec: EnvironmentSpec) -> str:
    return f"{spec.namespace}/{spec.name}"


def _counts(spec: EnvironmentSpec, state: EnvironmentState, seen: EnvironmentSeen) -> Iterator[CountField]:
    """Yield the fields of members that sleep or fall asleep; of a ScaledObject that of its workload."""
    for member in seen.members:
        known = state.members.get(member.key)
        if known is None or known.stage not in _ASLEEP:
            continue
        kind, _, name = member.key.partition("/")
        api_version = DEPLOYMENTS.api_version
        if member.workload:
            api_version, kind, name = member.workload.rsplit("/", 2)
        elif member.role is Role.CRON_JOB:
            api_version = "batch/v1"
        group = api_version.rpartition("/")[0]
        is_job = member.role is Role.CRON_JOB
        yield CountField(
            group=group, kind=kind, namespace=spec.namespace, name=name, field="suspend" if is_job else "replicas"
        )
