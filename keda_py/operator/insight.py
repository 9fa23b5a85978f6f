"""`GET /apis/insight.keda-py.dev/v1alpha1/namespaces/NS/scaledobjects/NAME`: the decision record, served.

The metrics server answers it behind the same authentication and authorisation as external metrics; who may read a
ScaledObject's insight is RBAC's to say (`get` on `scaledobjects` of that group). `keda-py explain` prints it.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta

import orjson
from aiohttp import web

from keda_py.clock import Clock
from keda_py.metrics.discovery import INSIGHT
from keda_py.operator.queue import Key
from keda_py.operator.record import DecisionRecord, Entry, TriggerNote
from keda_py.operator.state import ObjectState
from keda_py.operator.telling import write_time
from keda_py.serving.statuses import StatusError, unavailable

Fields = Mapping[str, object]

PATH = f"{INSIGHT.root}{INSIGHT.path}"


class Insight:
    """`leads` is False on a replica that decides nothing: what it knows is not what happens."""

    def __init__(
        self, clock: Clock, record: DecisionRecord, states: Mapping[Key, ObjectState], leads: Callable[[], bool]
    ) -> None:
        self._clock, self._record, self._states, self._leads = clock, record, states, leads

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Raises StatusError: 404 for an object that is not there, 503 where another replica decides."""
        if not self._leads():
            raise unavailable("this replica does not hold the Lease; ask again, another one will answer")
        key = (request.match_info["namespace"], request.match_info["name"])
        state = self._states.get(key)
        if state is None:
            raise _not_found(key[1])
        return web.Response(body=orjson.dumps(self.describe(state)), content_type="application/json")

    def describe(self, state: ObjectState) -> Fields:
        """Everything known of one object; times are UTC, durations seconds, absent is unknown or does not apply."""
        last = self._record.last(state.key)
        namespace, name = state.key
        return {
            "kind": INSIGHT.kind,
            "apiVersion": INSIGHT.group_version,
            "metadata": {"namespace": namespace, "name": name, "uid": state.uid},
            "now": _present({"time": write_time(self._clock.now()), "nextPoll": self._next_poll(state)}),
            "conditions": list(state.status.get("conditions") or ()),
            "last": _describe_entry(last) if last else None,
            "changes": [_describe_entry(entry) for entry in self._record.changes(state.key)],
        }

    def _next_poll(self, state: ObjectState) -> str | None:
        """None while nothing is polled: paused, or not defined correctly."""
        if state.spec is None:
            return None
        left = max(state.next_look - self._clock.monotonic(), 0.0)
        return write_time(self._clock.now() + timedelta(seconds=left))


def _describe_entry(entry: Entry) -> Fields:
    return _present(
        {
            "time": write_time(entry.at),
            "reason": entry.reason.value,
            "triggers": [_present(dict(_trigger_fields(trigger))) for trigger in entry.triggers],
            "formula": entry.formula,
            "replicas": _present({"before": entry.before, "after": entry.after}),
            "error": entry.error or None,
            "cooldownLeftSeconds": _seconds(entry.cooldown_left),
            "nextChange": _time(entry.next_change),
            "notes": list(entry.notes) or None,
        }
    )


def _trigger_fields(trigger: TriggerNote) -> Iterator[tuple[str, object]]:
    yield "metric", trigger.metric
    yield "name", trigger.name or None
    yield "value", trigger.value
    yield "error", trigger.error or None
    yield "active", trigger.active
    yield "fallback", trigger.in_fallback or None
    yield "failures", trigger.failures or None


def _present(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}


def _time(at: datetime | None) -> str | None:
    return write_time(at) if at else None


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else round(duration.total_seconds(), 3)


def _not_found(name: str) -> StatusError:
    details = {"name": name, "group": INSIGHT.group, "kind": INSIGHT.resource}
    return StatusError(404, "NotFound", f'{INSIGHT.resource}.{INSIGHT.group} "{name}" not found', details)
