"""Watches the cluster's store and turns writes into changes with their reasons.

A change of a Deployment's replicas is followed by an Event that says why, from the operator (activation,
deactivation) or from the HPA controller (SuccessfulRescale); a change is shown once that Event is there.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from keda_py.clock import Clock
from keda_py.core.hpa.rescale_note import read_rescale
from keda_py.demo.phases import Phases
from keda_py.demo.screen import Screen
from keda_py.demo.timeline import Timeline, TimelineChange
from keda_py.localkube.store.store import Store
from keda_py.localkube.store.subscriptions import Event
from keda_py.schema.resources import Obj

WORKLOADS = ("Deployment", "StatefulSet")
TELLING = ("KEDAScaleTargetActivated", "KEDAScaleTargetDeactivated", "SuccessfulRescale")


class Recorder:
    """Collects changes of the workloads named; `phases` tell why an Environment changes a count."""

    def __init__(self, store: Store, clock: Clock, names: Sequence[str], screen: Screen, phases: Phases) -> None:
        self._clock, self._names, self._screen, self._phases = clock, names, screen, phases
        self._replicas: dict[str, int] = {}
        self._first: dict[str, int] = {}
        self._waiting: dict[str, TimelineChange] = {}
        self._changes: list[TimelineChange] = []
        store.listen(self._on_event)

    def timeline(self, start: datetime, end: datetime) -> Timeline:
        """Everything recorded so far."""
        for name in list(self._waiting):
            self._finish(name, "", "")
        return Timeline(start=start, end=end, changes=sorted(self._changes, key=lambda c: c.at), first=self._first)

    def _on_event(self, event: Event) -> None:
        kind = event.resource.kind
        if kind in WORKLOADS and event.object["metadata"]["name"] in self._names:
            self._on_workload(event.object)
        elif kind == "Environment":
            for sentence in self._phases.take():
                self._screen.tell(sentence)
        elif kind == "Event":
            self._on_cluster_event(event.object)

    def _on_workload(self, live: Obj) -> None:
        name, after = live["metadata"]["name"], live["spec"]["replicas"]
        before = self._replicas.get(name)
        self._replicas[name] = after
        if before is None:
            self._first[name] = after
        elif before != after:
            self._finish(name, "", "")
            self._waiting[name] = TimelineChange(at=self._clock.now(), name=name, before=before, after=after)
            if reason := self._phases.reason(live):
                self._finish(name, "", reason)

    def _on_cluster_event(self, live: Obj) -> None:
        about = live.get("regarding") or live.get("involvedObject") or {}
        if live.get("reason") in TELLING:
            for name in self._names:
                if name in about.get("name", ""):
                    self._finish(name, *explain(live["reason"], live.get("note") or live.get("message", "")))

    def _finish(self, name: str, metric: str, reason: str) -> None:
        waiting = self._waiting.pop(name, None)
        if waiting is not None:
            change = replace(waiting, metric=metric, reason=reason)
            self._changes.append(change)
            self._screen.show(change)


def explain(reason: str, note: str) -> tuple[str, str]:
    """Read an Event as (metric behind it, the decision in a few words)."""
    if reason == "KEDAScaleTargetActivated":
        return note.rpartition("triggered by ")[2], "activated by keda-py: the trigger is active"
    if reason == "KEDAScaleTargetDeactivated":
        return "", "deactivated by keda-py: no trigger active for the whole cooldown"
    rescale = read_rescale(note)
    return rescale.metric, f"scaled by the HPA: {rescale.why}"
