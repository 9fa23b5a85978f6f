"""Moves time for one ScaledObject: from look to sync to pod, whichever comes next.

Preview and simulation run this engine; they differ in their sources (`Setting`) and in what they record. The order at
one moment: another version, pods that become Ready, a look, a sync.
"""

from typing import Protocol

from keda_py.core.activity import ActivityState
from keda_py.core.hpa.walk import RescaleDecision
from keda_py.replay.engine.autoscaler import Autoscaler
from keda_py.replay.engine.looks import Looks
from keda_py.replay.engine.meters import Meters
from keda_py.replay.engine.pods import Pods
from keda_py.replay.engine.setting import Setting
from keda_py.replay.engine.subject import Subject
from keda_py.replay.engine.world import Cause, World


class Recorder(Protocol):
    """Records a replay while it goes on."""

    def changed(self, at: float, world: World, cause: Cause) -> None:
        """Record that the count that is asked for, or that of Ready pods, is another."""
        ...

    def passed(self, at: float, world: World) -> None:
        """Record that something was read, or became Ready; what is so now holds until the next call."""
        ...


class ObjectEngine:
    """One object; nothing happens before its first version is adopted. `looks.taken` counts its looks."""

    def __init__(
        self, subject: Subject, setting: Setting, recorder: Recorder, activity: ActivityState | None = None
    ) -> None:
        self._recorder = recorder
        meters = Meters(subject, setting.sources, keeps=not setting.foreseen)
        pods = Pods(setting.replicas, setting.cluster.ready_after)
        self.world = World(setting=setting, subject=subject, meters=meters, pods=pods, changed=self._changed)
        self.looks = Looks(self.world, activity or ActivityState())
        self._autoscaler = Autoscaler(self.world)
        self._runs = False

    @property
    def next(self) -> float:
        """The second of the next event; infinity: none before another version is adopted."""
        return min(self.looks.next, self._autoscaler.walk.next, self.world.pods.next_ready)

    def adopt(self, subject: Subject, at: float) -> None:
        """Bring the HPA to what another version says, and look at once, as a reconcile does."""
        world, walk = self.world, self._autoscaler.walk
        world.subject = subject
        world.meters.adopt(subject)
        self._autoscaler.adopt(at)
        pause = subject.spec.pause
        if pause.stopped:
            self.looks.stop()
            world.meters.forget()
            world.judgement = None
            walk.delete()
            wanted = pause.replica_count()
            if wanted is not None:
                world.scale(wanted, at, "Paused")
        else:
            if not self._runs:
                walk.create(at)
            if not subject.native:
                self.looks.start(at)
        self._runs = not pause.stopped

    def step(self, at: float) -> None:
        """Let the first of the events happen that are due."""
        world, looks = self.world, self.looks
        if world.pods.next_ready <= at:
            world.pods.settle(at)
            self._changed(at, "PodReady")
        elif looks.next <= at:
            self._look(at)
        elif self._autoscaler.sync(at) and not world.subject.native:
            looks.look(at, polled=False)
        self._recorder.passed(at, world)

    def run_until(self, end: float) -> None:
        """Let all happen that comes before that second."""
        pods, looks, walk, foreseen = self.world.pods, self.looks, self._autoscaler.walk, self.world.setting.foreseen
        while (at := self.next) < end:
            self.step(at)
            # A trace at zero has a poll each interval, and no sync that could come between: they are read ahead.
            if not pods.replicas and not foreseen:
                looks.doze(min(end, walk.next))

    def _look(self, at: float) -> None:
        self.looks.look(at)
        if self.world.setting.foreseen and self.world.judgement is not None:
            self._autoscaler.foresee(self.world.judgement.evaluation, at)

    def _changed(self, at: float, cause: Cause) -> None:
        self._autoscaler.walk.wake(at)
        # A look knows its own change of the count. A change by the HPA may ask for another decision (a minimum,
        # an idle count), which the operator makes at its next poll: that one cannot be left out.
        if self.world.setting.foreseen and isinstance(cause, RescaleDecision):
            self.looks.poll_by(at)
        self._recorder.changed(at, self.world, cause)
