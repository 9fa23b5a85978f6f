"""Controller of Environments: decide, write the status, then scale, then wait for the next change.

The status is the memory, so it is written before anything is scaled: a process that is killed between any two writes
leaves a state from which the next process continues. The status is written over the resourceVersion that was read,
because a replica that takes over may have an old cache and would drop an original count that it has not seen yet. No
decision uses a count that may be older than our own last write (`state.py`). With several active replicas (`--shards`)
the leader does all of this; the others decide as well, but apply only overlays of ScaledObjects that follow from the
stored status.

In: `members.py` and `known/`; the decision is `core/environment/decision/`. Next: `actions.py`.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial

from keda_py.answers.fairness import TenantPlaces
from keda_py.apis.environments.environment import Environment
from keda_py.apis.foreign import map_at, name_of, namespace_of, texts_at
from keda_py.apis.parsing import parse_manifest
from keda_py.core.conditions import ConditionValue, with_condition
from keda_py.core.environment.decision.decision import EnvironmentDecision, decide
from keda_py.core.environment.decision.goal import GoalReason
from keda_py.core.environment.decision.members import SetReplicas
from keda_py.core.environment.decision.observation import EnvironmentSeen, MemberSeen, Role
from keda_py.core.environment.decision.report import COUNT_UNKNOWN, RELEASED, held_up
from keda_py.core.environment.decision.state import EnvironmentState
from keda_py.core.environment.decision.stored import StoredState, read_stored
from keda_py.core.environment.spec import EnvironmentSpec, build_environment
from keda_py.core.meaning.causes import by_environment
from keda_py.core.pacing.activations import read_priority
from keda_py.core.values.object_key import ObjectKey
from keda_py.errors import ConfigError, Conflict, KubeError
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import ENVIRONMENTS, Obj
from keda_py.operator.controller.activations import Ticket
from keda_py.operator.controller.controller import Controller
from keda_py.operator.controller.finalizer import ensure_finalizer, remove_finalizer
from keda_py.operator.controller.kind import Kind
from keda_py.operator.controller.state import LATE_SECONDS, about
from keda_py.operator.controller.troubles import StepError
from keda_py.operator.environments.actions import Writes
from keda_py.operator.environments.dependencies import EnvironmentDependencies
from keda_py.operator.environments.events import condition_events, events_of, loss_events, turn_events
from keda_py.operator.environments.job_warnings import REASON, running_jobs
from keda_py.operator.environments.known.changes import (
    DueEnvironments,
    change_of,
    change_of_environment,
    change_of_member,
)
from keda_py.operator.environments.known.further_kinds import READ_AGAIN_SECONDS, READ_SOON_SECONDS, FurtherKinds
from keda_py.operator.environments.known.native_hpas import NativeHpas, change_of_mark
from keda_py.operator.environments.members import Members
from keda_py.operator.environments.other_workloads import find_others, is_moving
from keda_py.operator.environments.overlays import laid_by, ruler
from keda_py.operator.environments.savings import account, stored_accounts
from keda_py.operator.environments.state import (
    EnvironmentMemory,
    ParsedEnvironment,
    releasing,
    told_of,
)
from keda_py.operator.environments.waking.settling import EnvironmentWaking

LONGEST_WAIT_SECONDS, FILES_SECONDS = 3600.0, 600.0
"""The longest waits between two looks: without a known change, and while files with holidays are to be read again."""
LONGEST_NOTE = 1000
"""Characters of an Event's note; an API server takes 1 024."""
RETRY_SECONDS = 1.0
"""Pause while it waits for wakers; what has changed about them makes it due as well."""
BEHIND_SECONDS = 1.0
"""Pause before the next attempt while our cache does not show yet what another replica, or a person, has written."""

ReadChange = Callable[[Obj | None, Obj | None], DueEnvironments | None]

log = logging.getLogger(__name__)


class Environments(Kind[EnvironmentMemory]):
    """The kind for `Controller`."""

    new = EnvironmentMemory

    def __init__(self, parts: EnvironmentDependencies) -> None:
        self._parts, self._shared = parts, parts.shared
        self.live = parts.caches.environments
        self._hpas = NativeHpas(parts.cluster.hpas)
        self._members = Members(parts.caches, parts.cluster, parts.owners, self._hpas, parts.shared.clock)
        self._turns, self._began = TenantPlaces(), parts.shared.clock.now()
        self._waking = EnvironmentWaking(parts.waking, parts.requests)

    async def reconcile(self, state: EnvironmentMemory, live: Obj) -> None:
        """Parse the object and add the finalizer, which keeps it until its members are up. Raises StepError and
        KubeError.
        """
        try:
            self._parts.owners.check_room(live)
            written = parse_manifest(Environment, live)
            spec = build_environment(written)
        except ConfigError as error:
            await self._refuse(state, str(error))
            raise StepError("Environment cannot be read", error) from error
        if self._parts.acts() and (held := await ensure_finalizer(self._shared.client, ENVIRONMENTS, live)) is not None:
            state.remember(held)
        async with state.without_worker():
            await self._parts.caches.wait_members()
        # Overlays that were restored from the stored status count as laid, so that the next look removes those of
        # objects that are gone.
        state.laid |= self._parts.overlays.names_by(state.uid)
        state.spec = ParsedEnvironment(written=written, spec=spec)
        state.due.look_now()
        state.reconciled.finish(live)

    async def _refuse(self, state: EnvironmentMemory, message: str) -> None:
        """Report an invalid spec and stop the work; all members keep their counts."""
        value = ConditionValue("False", "SpecInvalid", message)
        listed = with_condition(state.status.get("conditions") or (), "Valid", value)
        await self._shared.status.write(state, {"conditions": listed})
        state.stop()

    async def look(self, state: EnvironmentMemory) -> None:
        """Decide, write the status, then act. Raises KubeError."""
        if state.spec is None:
            return
        try:
            await self._decide(state, state.spec.spec, state.spec.written)
        except Conflict as error:
            state.due.look_at(self._shared.clock.monotonic() + BEHIND_SECONDS)
            log.debug("environment changed meanwhile", extra=about(state) | {"error": str(error)})

    async def finalize(self, state: EnvironmentMemory, live: Obj) -> None:
        """Give every count back; remove the finalizer once all of them were seen. Raises KubeError."""
        try:
            await self._parts.caches.wait_members()
        except KubeError as error:
            await self._hold_up(state, live, str(error))
            raise
        spec = releasing(live)
        decision = await self._decide(state, spec, None)
        state.spec = ParsedEnvironment(written=None, spec=spec)
        if not self._parts.acts():
            return
        given_back = decision.released and not decision.status.truces
        if given_back and await remove_finalizer(self._shared.client, ENVIRONMENTS, live):
            unreadable = read_stored(state.status).unreadable
            left = f", but of {', '.join(unreadable)}, which cannot be read: scale that by hand" if unreadable else ""
            told = f"every count is given back{left}"[:LONGEST_NOTE]
            self._shared.tell(live, "Warning" if left else "Normal", "EnvironmentReleased", told)
            log.info("environment deleted", extra=about(state))

    async def _hold_up(self, state: EnvironmentMemory, live: Obj, problem: str) -> None:
        """Report that the deletion waits because the counts cannot be read. Raises KubeError."""
        text = f"the counts of its members cannot be read: {problem}; it is deleted as soon as that works"
        self._report_held_up(state, live, text)
        listed = with_condition(
            state.status.get("conditions") or (), RELEASED, ConditionValue("False", COUNT_UNKNOWN, text)
        )
        await self._shared.status.write(state, {"conditions": listed})

    def _report_held_up(self, state: EnvironmentMemory, live: Obj | None, text: str) -> None:
        if not self._parts.acts():
            return  # the leader records it
        if live is not None and text and text != state.held_up:
            self._shared.events.record(live, "Warning", "EnvironmentHeldUp", text)
        state.held_up = text

    def _plan(self, state: EnvironmentMemory, decision: EnvironmentDecision, *, awaited: bool, unseen: bool) -> None:
        """Plan the next look by what the decision waits for; no watch reports changes of what is `unseen`."""
        wait = READ_SOON_SECONDS if awaited or is_moving(decision.state) else READ_AGAIN_SECONDS
        pending = decision.goal.reason is GoalReason.WAKERS_PENDING
        longest = RETRY_SECONDS if pending else wait if unseen else LONGEST_WAIT_SECONDS
        times = (decision.look_again_at, self._members.next_resume(state.key.namespace))
        state.due.look_by(self._shared.clock.monotonic() + min(longest, *map(self._seconds_to, times)))

    async def _decide(
        self, state: EnvironmentMemory, spec: EnvironmentSpec, written: Environment | None
    ) -> EnvironmentDecision:
        clock = self._shared.clock
        state.looked = clock.monotonic()
        state.due.look_at(state.looked + LONGEST_WAIT_SECONDS)  # a change meanwhile sets an earlier time
        calendar, problem = await self._parts.calendars.try_environment(written)
        state.due.look_by(clock.monotonic() + self._longest_wait(spec, written))
        overrides = await self._parts.overriding.of_namespace(spec.namespace)
        stored = read_stored(state.status)
        before = stored.state
        others = await find_others(self._parts.caches.further, self._parts.cluster, spec, before)
        # One decision of a namespace at a time: each reads all objects of the namespace, which takes milliseconds.
        async with self._turns.turn(spec.namespace):
            began = clock.monotonic()
            found = [
                (replace(one, count=None) if one.key in stored.unreadable else one, body)
                for one, body in self._members.see(spec, before, state, others)
            ]
            state.forget_all_but({one.key for one, _ in found})
            state.foreign = frozenset(one.key for one, _ in found if one.owned_by)
            errors = {"calendar_error": problem, "kinds_error": others.error, "status_error": told_of(stored)}
            seen = self._seen(state, [one for one, _ in found], errors)
            ask = partial(decide, spec, calendar, overrides, state=before, now=clock.now())
            decision = ask(seen=seen)
            if self._parts.acts():
                decision = self._waking.settle(spec, seen, decision, state, ask)
            state.pause = self._members.pause_in(spec.namespace, clock.monotonic() - began)
        awaited = any(one.heir for one, _ in found)
        if self._parts.acts():
            decision = await self._parts.deletions.plan(spec, decision)
        self._plan(state, decision, awaited=awaited, unseen=bool(others.unwatched or stored.unreadable or awaited))
        if self._parts.acts():
            await state.jobs.judge(spec, calendar, running_jobs(found, decision.state.members), clock.now())
            decision = await self._parts.truces.plan(spec, decision, seen, state.status)
            decision = self._parts.flux.tell(spec.uid, decision)
            if decision.status.gitops:  # no watch reports that an Application may be written again
                state.due.look_by(clock.monotonic() + READ_AGAIN_SECONDS)
            await self._do(state, decision, seen, stored, {one.key: body for one, body in found})
        else:
            self._follow(state, decision, seen, before)
        return decision

    def _seen(self, state: EnvironmentMemory, members: list[MemberSeen], errors: Mapping[str, str]) -> EnvironmentSeen:
        watch, turn = self._parts.sessions, self._parts.turn_of(state.key)
        state.sessions = None if watch is None else watch.of(state.key.namespace)
        return EnvironmentSeen(members=members, turn=turn, sessions=state.sessions, **errors)

    async def _do(
        self,
        state: EnvironmentMemory,
        decision: EnvironmentDecision,
        seen: EnvironmentSeen,
        stored: StoredState,
        objects: Mapping[str, Obj],
    ) -> None:
        """Store the decision, then apply it: killed in between, the next process still knows the original counts."""
        before = stored.state
        live = self.live.get(state.key.namespace, state.key.name)
        jobs = state.jobs.report(state.status, self._began)
        self._shared.instruments.environments.record(state.key, decision, self._shared.clock.monotonic())
        waits = self._waiting(state, live, seen, decision)
        known, now = stored_accounts(state.status), self._shared.clock.now()
        savings = account(known, seen, decision.state, now, first=not state.accounts)
        update = {"awaiting_turn": len(waits), "savings": savings, "jobs_never_run": jobs.stored}
        status = decision.status.model_copy(update=update)
        events = [
            *events_of(before, decision),
            *condition_events(state.status.get("conditions") or (), status.conditions),
            *turn_events(state.status.get("awaitingTurn", 0), len(waits)),
            *loss_events(state, stored),
            *(("Warning", REASON, note[:LONGEST_NOTE]) for note in jobs.notes),
        ]
        remembers = decision.state.members != before.members
        # `exactly` writes over the version that was read: a replica with an old cache gets a Conflict, instead of
        # dropping an original count that another replica has just stored.
        await self._shared.status.write(state, state.fields_of(status, stored), exactly=remembers)
        state.accounts = True
        state.jobs.note_told()
        if not self._parts.acts():
            return  # leadership was lost meanwhile: the status was not written, so nothing may be scaled
        self._report_held_up(state, live, held_up(decision.status))
        for kind, reason, note in events if live is not None else ():
            self._shared.events.record(live or {}, kind, reason, note)
        if state.spec is not None:
            await self._parts.deletions.act(state.spec.spec, live)
        # Argo CD is told after the status is stored, and before counts change. Earlier, a crash would leave lines in
        # its Application that no status knows of; later, Argo CD could put the counts back at once.
        await self._parts.truces.keep(state.uid)
        self._lay(state, decision, seen)
        acting = [one for one in decision.members if one.key not in waits]
        written = state.spec.spec if state.spec is not None else None
        held = self._parts.owners.holds(state.key.namespace, state.uid)
        objects = {**objects, **await self._parts.flux.keep(written, decision, state.key, held)}
        await Writes(client=self._shared.client, hpas=self._hpas, state=state, objects=objects).act(acting)
        if self._shared.activations.has_turn(state.key):  # the turn came during this look
            state.due.look_now()

    def _follow(
        self, state: EnvironmentMemory, decision: EnvironmentDecision, seen: EnvironmentSeen, before: EnvironmentState
    ) -> None:
        """Apply only those overlays that follow from the stored status: a member put to sleep before its original count
        is stored would be given back at 0.
        """
        self._shared.activations.withdraw(state.key)
        self._shared.instruments.environments.forget(state.key)
        stored = tuple(one for one in decision.members if one.state == before.members.get(one.key))
        self._lay(state, replace(decision, members=stored), seen)

    def _waiting(
        self, state: EnvironmentMemory, live: Obj | None, seen: EnvironmentSeen, decision: EnvironmentDecision
    ) -> frozenset[str]:
        """Members at 0 that are to be scaled up but wait for their turn in the cluster's budget of activations."""
        down = {one.key for one in seen.members if one.count == 0 and one.role is Role.WORKLOAD}
        waking = [
            one.key
            for one in decision.members
            if one.key in down and isinstance(one.action, SetReplicas) and one.action.replicas
        ]
        activations = self._shared.activations
        activations.withdraw(state.key, frozenset(waking))
        priority = read_priority(texts_at(live or {}, "metadata", "annotations"))
        return frozenset(key for key in waking if not activations.ask(Ticket(state.key, key), priority))

    def _lay(self, state: EnvironmentMemory, decision: EnvironmentDecision, seen: EnvironmentSeen) -> None:
        """Set overlays on the ScaledObjects of this Environment and remove those of deleted ones; objects of another
        Environment are left to that one.
        """
        own = {one.key for one in seen.members if one.role is Role.SCALED_OBJECT and not one.owned_by}
        calendar = map_at(self.live.get(state.key.namespace, state.key.name), "spec", "calendarRef")
        by = ruler(state.key.name, decision.status, calendar)
        released = by_environment(state.key.name, decision.goal.because)
        until = decision.status.next_change.at if decision.status.next_change is not None else ""
        for member in decision.members:
            if member.key in own:
                laid = laid_by(by, member, released, until)
                self._parts.overlays.put(state.scaled_object(member.key), laid, state.uid)
        for gone in state.laid - {one.key for one in seen.members}:
            self._parts.overlays.put(state.scaled_object(gone), None, state.uid)
        state.laid = frozenset(own)

    def _longest_wait(self, spec: EnvironmentSpec, written: Environment | None) -> float:
        """Seconds until the next look, for changes that no watch reports."""
        if not self._parts.caches.in_contact():
            return READ_SOON_SECONDS
        if written is not None and self._parts.calendars.has_files(spec.namespace, spec.name, written.spec):
            return FILES_SECONDS
        return LONGEST_WAIT_SECONDS

    def _seconds_to(self, at: datetime | None) -> float:
        if at is None:
            return LONGEST_WAIT_SECONDS
        return min(max((at - self._shared.clock.now()).total_seconds(), 0.0) + LATE_SECONDS, LONGEST_WAIT_SECONDS)

    def forget(self, state: EnvironmentMemory) -> None:
        """Drop all that was cached for the Environment, and its overlays."""
        self._parts.owners.forget(state.uid)
        self._waking.forget(state.uid)
        self._parts.truces.forget(state.uid)
        self._parts.deletions.forget(state.uid)
        self._parts.flux.forget(state.uid)
        self._parts.caches.further.forget(state.uid)
        for key in state.laid:
            self._parts.overlays.put(state.scaled_object(key), None, state.uid)
        self._parts.calendars.forget(state.key)

    def watches(self, controller: Controller[EnvironmentMemory]) -> Iterable[Callable[[], None]]:
        """Subscribe to everything that may change a decision: members, calendars, Overrides and other Environments."""
        caches = self._parts.caches
        of_member = partial(change_of_member, self._parts.owners)
        kinds: tuple[tuple[Informer | FurtherKinds, ReadChange], ...] = (
            *((informer, of_member) for informer in (*caches.members.values(), self._parts.cluster.scaled_objects)),
            (caches.further, of_member),
            (self._parts.cluster.hpas, change_of_mark),
            *((informer, change_of) for informer in (caches.calendars, caches.cluster_calendars, caches.overrides)),
            (caches.environments, partial(change_of_environment, self._parts.acts)),
        )
        for watched, read in kinds:
            yield watched.follow(partial(self._on_change, controller, read))
        yield self._waking.subscribe(partial(_on_services, controller))
        for informer in caches.members.values():
            yield informer.on_restore(partial(_on_restore, controller))

    def _on_change(
        self, controller: Controller[EnvironmentMemory], read: ReadChange, old: Obj | None, new: Obj | None
    ) -> None:
        """Make the affected Environments due, each after its pause."""
        if (change := read(old, new)) is None:
            return
        now = self._shared.clock.monotonic()
        # By namespace: each of ten thousand workloads that fall asleep must not ask five hundred Environments.
        for live in self.live.objects(change.namespace):
            state = controller.states.get(ObjectKey(controller.kind, namespace_of(live), name_of(live)))
            if state is not None and state.spec is not None and change.member not in state.foreign:
                wait = max(state.looked + state.pause - now, 0.0)
                state.due.look_by(now + wait if wait else 0.0)
                controller.queue.add(state.key, wait)


def _on_restore(controller: Controller[EnvironmentMemory]) -> None:
    """Forget our own last writes after a cluster was restored from a backup: its versions may be lower than ours."""
    for state in controller.states.values():
        state.written.clear()
        state.due.look_now()
        controller.queue.add(state.key)


def _on_services(controller: Controller[EnvironmentMemory], uid: str) -> None:
    """Look again after the slices of an Environment's Services, or its Services, have changed."""
    for state in controller.states.values():
        if state.uid == uid and state.spec is not None:
            state.due.look_now()
            controller.queue.add(state.key)
