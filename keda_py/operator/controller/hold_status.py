"""The status of an object that is held back: a Ready condition, one Event, and a note for other replicas.

The controller calls it in place of a reconcile. Nothing of its spec is read here, for that may be what a process died
of. The Active condition stays as it is: after the hold it says whether a cooldown has to begin anew.
"""

import logging
from typing import Any

from keda_py.apis.foreign import map_at
from keda_py.core import conditions
from keda_py.core.conditions import ConditionValue, read_condition, with_condition
from keda_py.core.quarantine import HELD_BACK, write_held_back
from keda_py.core.values.times import write_time
from keda_py.kube.resources import Obj
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.controller.state import Remembered, about
from keda_py.operator.process.quarantine import HeldObject, shows_hold

log = logging.getLogger(__name__)


async def hold_back(parts: Dependencies, state: Remembered, live: Obj, held: HeldObject) -> None:
    """Stop its loop, close its scalers, and say so. Raises KubeError."""
    state.stop()
    await parts.readings.forget(state.key)
    current = state.status.get("conditions") or ()
    ready, known = ConditionValue("False", f"{state.key.kind}{HELD_BACK}", held.text), read_condition(current, "Ready")
    if held.from_status and known.reason == ready.reason:
        return  # another replica has written it, and knows more
    listed = list(current) if conditions.is_initialised(current) else list(conditions.INITIAL)
    fields: dict[str, Any] = {"conditions": with_condition(listed, "Ready", ready)}
    if not held.from_status:
        # A hold that is known from the status alone causes no Event and no note: a user may have written that status.
        fields["kedaPy"] = _note_of(parts, state, live, held)
        if known != ready:
            parts.events.record(live, "Warning", ready.reason, held.text, action=held.text)
            log.warning("object is held back", extra=about(state) | {"deaths": held.hold.deaths, "error": held.text})
    await parts.status.write(state, fields)


def _note_of(parts: Dependencies, state: Remembered, live: Obj, held: HeldObject) -> dict[str, Any]:
    """`status.kedaPy`, from which other replicas know of the hold."""
    before, generation = map_at(dict(state.status), "kedaPy"), live["metadata"].get("generation", 0)
    since = before.get("since", "") if before.get("reason") == HELD_BACK else write_time(parts.clock.now())
    return write_held_back(held.hold, held.until, generation, since)


async def show_release(parts: Dependencies, state: Remembered) -> None:
    """Remove the note of a hold once its object was worked on. Raises KubeError."""
    if shows_hold(state.status):
        own = state.status["kedaPy"]
        rest = {name: value for name, value in own.items() if name != "heldBack"}
        await parts.status.write(state, {"kedaPy": None if own.get("reason") == HELD_BACK else rest})
