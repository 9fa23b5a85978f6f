"""The end of a look of any kind: its entry in the decision record, its Events, and the time of the next look."""

from collections.abc import Iterable
from datetime import datetime

from keda_py.core.reading import Round
from keda_py.core.round import EventNote
from keda_py.kube.informers.informer import Informer
from keda_py.kube.resources import Obj
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.controller.state import Remembered
from keda_py.operator.decisions.record import Entry


def note_decision(parts: Dependencies, state: Remembered, entry: Entry) -> None:
    """Add a decision to the record, and a change of it to the history in the status, which outlives the process."""
    if parts.record.note(state.key, entry):
        parts.status.note(state, entry)


def record_events(parts: Dependencies, state: Remembered, cache: Informer, events: Iterable[EventNote]) -> None:
    """Record Events about the object as cached, or about its bare identity if it is just gone."""
    live: Obj | None = None
    for event in events:
        live = live or cache.get(state.key.namespace, state.key.name) or _identity(state)
        parts.events.record(live, event.type, event.reason, event.note)


def schedule_next(parts: Dependencies, state: Remembered, seen: Round, change_at: datetime | None) -> None:
    """Plan the next look: at the next poll of its source's grid, or earlier for a change that is known in advance.

    It is due at once if a source has reported work since the look read it.
    """
    now = parts.clock.monotonic()
    state.due.look_at(parts.readings.next_poll(state.key, seen, now))
    if change_at is not None:
        state.due.look_after(change_at - parts.clock.now(), now)


def _identity(state: Remembered) -> Obj:
    metadata = {"namespace": state.key.namespace, "name": state.key.name, "uid": state.uid}
    return {"apiVersion": state.resource.api_version, "kind": state.key.kind, "metadata": metadata}
