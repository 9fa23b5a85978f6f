"""A namespace over time: its ScaledObjects, what lies over their specs, and the members of its Environments.

Pure: instants come off a heap, all that is due at one is done, and again until nothing changes. As in the operator,
schedules lie below what Environments and Overrides lay.
"""

import heapq
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from keda_py.core.environment.decision.members import Overlay, OverlayAsleep, OverlayHold, OverlayReplicas
from keda_py.core.environment.overrides import Overrides
from keda_py.core.environment.scaling.overlays import overlay_of, paused_by_owner
from keda_py.core.environment.scaling.schedules import BoundsSpec, in_force, schedule_of
from keda_py.core.environment.spec import owner_of
from keda_py.core.meaning.causes import by_schedule
from keda_py.core.spec import ScalingSpec
from keda_py.core.values.own_annotations import PAUSED_UNTIL
from keda_py.replay.environments import EnvironmentReplay
from keda_py.replay.objects import ScaledObjectReplay
from keda_py.replay.plan import CurrentState, NamespacePlan
from keda_py.replay.subjects import Governed, Member, first_count, targets_of
from keda_py.replay.timeline import Step

# How long before its period a replay begins, the longest cooldown on top: a window of then is still felt in it.
WARM_UP, LONGEST_WARM_UP = timedelta(hours=6), timedelta(days=31)
# Rounds of decisions at one instant; it bounds Environments and objects that undo each other for ever.
_MOST_ROUNDS = 1_000


class NamespaceReplay:
    """`run` it once; then `objects`, `members` and `environments` have their steps."""

    def __init__(self, plan: NamespacePlan, begins: datetime, ends: datetime) -> None:
        cooldown = max((each.spec.cooldown for each in plan.objects), default=timedelta())
        warm_up = timedelta() if plan.now is not None else min(WARM_UP + cooldown, LONGEST_WARM_UP)
        self.start, self.ends = begins - warm_up, ends
        self._schedules, self._overrides = plan.schedules, Overrides(plan.overrides)
        known = plan.now or {}
        self.objects = [
            Governed(ScaledObjectReplay(one.spec, _current_state(one.spec, known), self.start, ends - self.start))
            for one in plan.objects
        ]
        self.members = [
            Member(each, known.get(f"{each.kind}/{each.name}", CurrentState(replicas=each.replicas)).replicas, [])
            for each in plan.members
        ]
        self.environments = [
            EnvironmentReplay(each, self._overrides, self.start, resumes=plan.now is not None)
            for each in plan.environments
        ]
        self._owners = self._find_owners(self.start)
        self._heap: list[tuple[datetime, int]] = []
        self._queued: dict[int, datetime] = {}
        self._lays_at: datetime | None = self.start

    def _find_owners(self, now: datetime) -> dict[str, int]:
        """Map each member to the position of the Environment that has it; a workload is one by its ScaledObject."""
        specs = [each.spec for each in self.environments]
        scaling = [one for one in self.objects if not paused_by_owner(one.written_at(now))]
        marks = {one.key: (one.replay.written.labels, one.replay.written.annotations) for one in scaling}
        scaled = {f"{one.replay.written.target.kind}/{one.replay.written.target.name}" for one in scaling}
        marks |= {one.key: (one.plan.labels, one.plan.annotations) for one in self.members if one.key not in scaled}
        owners = {key: owner_of(specs, *mark) for key, mark in marks.items()}
        return {key: specs.index(owner) for key, owner in owners.items() if owner is not None}

    def owner_of(self, key: str) -> str:
        """Return the name of the Environment that has that member; "" if none has."""
        position = self._owners.get(key)
        return "" if position is None else self.environments[position].spec.name

    def run(self) -> None:
        for _ in self.instants():
            pass

    def instants(self) -> Iterator[datetime]:
        """Yield each instant at which something may change, once all that is due then is done."""
        for index in range(len(self.objects)):
            self._queue(index, self.start)
        now: datetime | None = self.start
        while now is not None and now < self.ends:
            self._step(now)
            yield now
            now = self._next(now)

    def steps_of(self, key: str) -> list[Step]:
        """Return the steps of KIND/NAME, which grow from instant to instant; empty for an object that is not here."""
        kept = {each.key: each.replay.steps for each in self.objects} | {each.key: each.steps for each in self.members}
        kept |= {f"Environment/{each.spec.name}": each.steps for each in self.environments}
        return kept.get(key, [])

    def _next(self, now: datetime) -> datetime | None:
        later = [each.due for each in self.environments if each.due is not None]
        later += [] if self._lays_at is None else [self._lays_at]
        while self._heap and self._queued.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        later += [max(self._heap[0][0], now)] if self._heap else []
        return min(later, default=None)

    def _queue(self, index: int, at: datetime | None) -> None:
        if at is None:
            self._queued.pop(index, None)
        elif self._queued.get(index) != at:
            self._queued[index] = at
            heapq.heappush(self._heap, (at, index))

    def _popped(self, now: datetime) -> Iterator[int]:
        while self._heap and self._heap[0][0] <= now:
            at, index = heapq.heappop(self._heap)
            if self._queued.get(index) == at:
                del self._queued[index]
                yield index

    def _step(self, now: datetime) -> None:
        due = set(self._popped(now))
        if self._lays_at is not None and self._lays_at <= now:
            due |= self._lay(now)
        deciding = {number for number, each in enumerate(self.environments) if each.due and each.due <= now}
        if any(one.replay.written.pause.until == now for one in self.objects):
            # A ScaledObject whose pause ends is a member from now on, and its workload is none.
            self._owners, deciding = self._find_owners(now), set(range(len(self.environments)))
        # What an Environment does to its members may ask it for another decision at once, as a watch event does.
        for _ in range(_MOST_ROUNDS):
            again = {number for number in deciding if self._decide(number, now, due)}
            moved = self._step_objects(due, now)
            again |= {number for number in moved if self.environments[number].moves}
            due, deciding = set(), again
            if not again:
                break

    def _lay(self, now: datetime) -> set[int]:
        """Lay schedules, and Overrides outside of Environments, over specs; return the objects whose spec changed."""
        changes: list[datetime | None] = []
        forces = {schedule.uid: in_force(schedule, now) for schedule in self._schedules}
        concerned = set()
        for index, governed in enumerate(self.objects):
            written = governed.replay.written
            schedule = schedule_of(self._schedules, written.name, written.labels)
            before: tuple[BoundsSpec | None, Overlay | None] | None = (governed.bounds, governed.overlay)
            because = ""
            resumes = written.pause.until
            if resumes is not None and resumes > now:
                changes.append(resumes)
            elif resumes is not None and not governed.resumed:
                governed.resumed, because = True, f"with the end of its pause ({PAUSED_UNTIL})"
                before = None
            if schedule is not None:
                force = forces[schedule.uid]
                governed.bounds, changed = force.bounds, governed.bounds != force.bounds
                because = by_schedule(schedule.name, force.period) if changed else ""
                changes.append(force.changes_at)
            if governed.key not in self._owners:
                verdict = self._overrides.verdict(targets_of(written), now)
                overlay, changed = overlay_of(verdict), governed.overlay != overlay_of(verdict)
                because = because if not changed else f"with {verdict.because or 'the end of its Override'}"
                governed.overlay = overlay
                changes.append(verdict.changes_at)
            if governed.laid is None or before != (governed.bounds, governed.overlay):
                governed.relay(because, now)
                concerned.add(index)
        self._lays_at = min((at for at in changes if at is not None), default=None)
        return concerned

    def _step_objects(self, due: set[int], now: datetime) -> set[int]:
        """Return the Environments whose members changed."""
        moved = set()
        for index in sorted(due):
            governed = self.objects[index]
            replay, before = governed.replay, governed.replay.replicas
            if governed.laid is not None:
                replay.step(governed.laid, now)
            if replay.replicas != before and governed.key in self._owners:
                moved.add(self._owners[governed.key])
            self._queue(index, replay.due)
        return moved

    def _decide(self, number: int, now: datetime, due: set[int]) -> bool:
        """Decide and act; return whether something changed. ScaledObjects with another overlay become due."""
        environment = self.environments[number]
        objects = [(at, each) for at, each in enumerate(self.objects) if self._owners.get(each.key) == number]
        members = {each.key: each for each in self.members if self._owners.get(each.key) == number}
        seen = [each.seen(environment.spec, asleep=environment.is_asleep(each.key)) for _, each in objects]
        seen += [each.seen(environment.spec) for each in members.values()]
        decision, changed = environment.decide(seen, now)
        decided = {each.key: each for each in decision.members}
        for at, governed in objects:
            action = decided[governed.key].action
            overlay = action if isinstance(action, OverlayAsleep | OverlayHold | OverlayReplicas) else None
            if overlay != governed.overlay:
                governed.overlay = overlay
                governed.relay(environment.because, now)
                due.add(at)
        for key, member in members.items():
            each = decided[key]
            changed |= member.act(each.action, now, each.reason.value, each.because or environment.because)
        return changed


def _current_state(spec: ScalingSpec, known: Mapping[str, CurrentState]) -> CurrentState:
    return known.get(f"ScaledObject/{spec.name}", CurrentState(replicas=first_count(spec)))
