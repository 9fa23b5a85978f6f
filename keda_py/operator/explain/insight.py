"""`GET /apis/insight.keda-py.dev/v1alpha1/namespaces/NS/scaledobjects/NAME`: the decision record, served.

The same for scaledjobs. The metrics server answers it behind the same authentication and authorisation as external
metrics; who may read an object's insight is RBAC's to say (`get` on `scaledobjects` or `scaledjobs` of that group).
`keda-py explain` prints it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any

import orjson

from keda_py.apis.foreign import map_at
from keda_py.core.admission.codes import ignored_codes, without_ignored
from keda_py.core.meaning.scaled_object import check_job_meaning, check_meaning
from keda_py.core.spec import ScalingSpec, TriggersSpec
from keda_py.core.values.object_key import ObjectKey
from keda_py.core.values.times import write_time
from keda_py.external_metrics.authorised_request import ApiResponse, AuthorisedRequest
from keda_py.external_metrics.discovery import INSIGHT, JOB_INSIGHT, Api
from keda_py.kube.resources import SCALED_JOBS, SCALED_OBJECTS
from keda_py.operator.controller.dependencies import Dependencies
from keda_py.operator.controller.state import Remembered
from keda_py.operator.decisions.history import has_scaled, in_full, read_history
from keda_py.operator.decisions.record import Fields, describe, present
from keda_py.serving.statuses import StatusError, unavailable

MOST_DOUBTS = 5

KINDS = {SCALED_OBJECTS.kind: INSIGHT, SCALED_JOBS.kind: JOB_INSIGHT}
_KINDS_OF = {api.resource: kind for kind, api in KINDS.items()}


class Insight:
    """`known` are the objects by kind. Beside what was decided stand the credentials that an object misses, and the
    warnings of `core/meaning/`.

    `owns` says of an object whether this replica decides about it: what another one knows of it is not what happens.
    `replica` is this one's name where several are active, each for its share.
    """

    def __init__(
        self,
        parts: Dependencies,
        known: Mapping[str, Mapping[ObjectKey, Remembered]],
        owns: Callable[[ObjectKey], bool],
        replica: str = "",
    ) -> None:
        self._clock, self._record, self._troubles = parts.clock, parts.record, parts.resolver.troubles
        self._known, self._owns, self._replica = known, owns, replica

    async def answer(self, question: AuthorisedRequest) -> ApiResponse:
        """Raises StatusError: 404 for an object that is not there, 503 where another replica decides."""
        kind = _KINDS_OF[question.metric]
        key = ObjectKey(kind, question.namespace, question.asked.wanted.name)
        if not self._owns(key):
            raise unavailable("only the replica that leads knows, and it cannot be asked now; try again")
        state = self._known[kind].get(key)
        if state is None:
            raise _not_found(KINDS[kind], key.name)
        return ApiResponse(body=orjson.dumps(self._describe(state)))

    def _describe(self, state: Remembered) -> Fields:
        """Everything known of one object; times are UTC, durations seconds, absent is unknown or does not apply."""
        key = state.key
        last = self._record.last(key)
        return {
            "kind": KINDS[key.kind].kind,
            "apiVersion": INSIGHT.group_version,
            "metadata": {"namespace": key.namespace, "name": key.name, "uid": state.uid},
            "now": present({"time": write_time(self._clock.now()), "nextPoll": self._next_poll(state)}),
            "conditions": list(state.status.get("conditions") or ()),
            "ruledBy": str(map_at(dict(state.status), "kedaPy").get("ruledBy") or ""),
            "defaults": [note.text for note in state.spec.defaults] if isinstance(state.spec, TriggersSpec) else [],
            **({"decidedBy": self._replica} if self._replica else {}),
            "troubles": [*self._troubles(key), *_doubts(state)],
            "last": describe(last) if last else None,
            "changes": _all_changes(state.status, self._record.changes(key)),
        }

    def _next_poll(self, state: Remembered) -> str | None:
        """None while nothing is polled: paused, or not defined correctly."""
        if state.spec is None:
            return None
        left = max(state.due.at - self._clock.monotonic(), 0.0)
        return write_time(self._clock.now() + timedelta(seconds=left))


def _all_changes(status: Mapping[str, Any], own: Sequence[Fields]) -> list[Fields]:
    """What earlier processes kept, then our own; that we first found what held already is no change."""
    if not own:
        return [in_full(change) for change in read_history(status)]
    earlier = [in_full(change) for change in read_history(status) if change["time"] < str(own[0]["time"])]
    found_again = earlier and earlier[-1]["reason"] == own[0]["reason"] and not has_scaled(own[0])
    return [*earlier, *(own[1:] if found_again else own)]


def _doubts(state: Remembered) -> Iterator[str]:
    """What the object does that its author may not mean, as admission said it; bounded, and made when asked for."""
    spec = state.spec
    if isinstance(spec, ScalingSpec):
        found = check_meaning(spec)
    elif isinstance(spec, TriggersSpec):
        found = check_job_meaning(spec.triggers, spec.annotations)
    else:
        return
    for warning in islice(without_ignored(found, ignored_codes(spec.annotations)), MOST_DOUBTS):
        yield f"{warning.message} [{warning.code}]"


def _not_found(api: Api, name: str) -> StatusError:
    details = {"name": name, "group": api.group, "kind": api.resource}
    return StatusError(404, "NotFound", f'{api.resource}.{api.group} "{name}" not found', details)
