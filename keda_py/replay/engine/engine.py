"""Moves time: from look to sync to pod to edit, whichever comes next, until the plan's end.

The order at one moment: an edit, pods that become Ready, a look, a sync. What happened is told to a `Recorder`.
"""

from typing import Protocol

from keda_py.replay.engine.autoscaler import Autoscaler
from keda_py.replay.engine.looks import Looks
from keda_py.replay.engine.meters import Meters
from keda_py.replay.engine.plan import Plan
from keda_py.replay.engine.pods import Pods
from keda_py.replay.engine.world import World


class Recorder(Protocol):
    """What is told of a simulation while it goes on."""

    def changed(self, at: float, world: World, why: str) -> None:
        """The count that is asked for, or of Ready pods, is another."""
        ...

    def passed(self, at: float, world: World) -> None:
        """Something was read, or became Ready; what is so now holds until the next call."""
        ...


def simulate(plan: Plan, recorder: Recorder) -> None:
    """Carry a plan out."""
    Engine(plan, recorder).run()


class Engine:
    """One run of one plan."""

    def __init__(self, plan: Plan, recorder: Recorder) -> None:
        created, subject = plan.versions[0]
        self._plan, self._recorder = plan, recorder
        self._edits = list(plan.versions[1:])
        meters = Meters(subject, plan.sources)
        pods = Pods(plan.replicas, plan.cluster.ready_after)
        self._world = World(plan=plan, subject=subject, meters=meters, pods=pods, changed=self._changed)
        self._looks, self._autoscaler = Looks(self._world), Autoscaler(self._world)
        self._stopped = True
        self._resume_or_stop(created)

    def run(self) -> None:
        """Until the end, which is not reached itself."""
        for at, _ in [*self._edits, (self._plan.end, None)]:
            self._run_until(min(at, self._plan.end))
            if at >= self._plan.end:
                return
            self._edit(at)

    def _run_until(self, end: float) -> None:
        world, looks, autoscaler, passed = self._world, self._looks, self._autoscaler, self._recorder.passed
        pods, walk = world.pods, autoscaler.walk
        while True:
            at = looks.next if looks.next <= walk.next else walk.next
            if pods.next_ready <= at:
                at = pods.next_ready
            if at >= end:
                return
            if pods.next_ready <= at:
                pods.settle(at)
                self._changed(at, "PodReady")
            elif looks.next <= at:
                looks.look(at)
            elif autoscaler.sync(at):
                looks.look(at, polled=False)
            passed(at, world)
            if not pods.replicas:
                looks.doze(min(end, walk.next))

    def _changed(self, at: float, why: str) -> None:
        self._autoscaler.walk.wake(at)
        self._recorder.changed(at, self._world, why)

    def _edit(self, at: float) -> None:
        """As a reconcile: the HPA is brought to what the new version says, and a look follows at once."""
        _, self._world.subject = self._edits.pop(0)
        self._world.meters.adopt(self._world.subject)
        self._autoscaler.adopt(at)
        self._resume_or_stop(at)

    def _resume_or_stop(self, at: float) -> None:
        pause = self._world.subject.spec.pause
        if pause.stopped:
            self._looks.stop()
            self._world.meters.forget()
            self._autoscaler.walk.delete()
            wanted = pause.replica_count()
            if wanted is not None:
                self._world.scale(wanted, at, "Paused")
        else:
            if self._stopped:
                self._autoscaler.walk.create(at)
            self._looks.start(at)
        self._stopped = pause.stopped
