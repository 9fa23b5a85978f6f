"""The Override that follows from a request to an Environment that sleeps or wakes. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from keda_py.core.environment.overrides import OverrideSpec, OverrideState, reason_of
from keda_py.core.values.times import write_time
from keda_py.core.waking.requests import WakeRequest

_SHARE, _LEAST = 10, timedelta(seconds=30)
"""A later request moves the end of an Override by a tenth of its stay or 30 s at least: not one write a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOverride:
    """Create an Override that keeps the Environment awake."""

    body: dict[str, Any]
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LongerOverride:
    """Move the end of an Override."""

    name: str
    until: datetime


def override_for(
    request: WakeRequest, environment: dict[str, Any], stay: timedelta, rules: OverrideSpec | None, now: datetime
) -> NewOverride | LongerOverride | None:
    """Return what to write for a request to an Environment that sleeps or wakes; None if nothing.

    `environment` is the object, `rules` the Override in force. One by an earlier request is made longer, instead of a
    new one for each request; a person's own Override Awake is enough. Any other is older than the request, which
    therefore rules.
    """
    until = (now + stay).replace(microsecond=0)
    if rules is None or rules.state is not OverrideState.AWAKE:
        return NewOverride(body=_override(request, environment, until, now), until=until)
    if not rules.request or rules.ends is None or until - rules.ends < max(stay / _SHARE, _LEAST):
        return None
    return LongerOverride(name=rules.name, until=until)


def _override(request: WakeRequest, environment: dict[str, Any], until: datetime, now: datetime) -> dict[str, Any]:
    meta = environment["metadata"]
    owner = {name: environment[name] for name in ("apiVersion", "kind")} | {"name": meta["name"], "uid": meta["uid"]}
    return {
        "apiVersion": environment["apiVersion"],
        "kind": "Override",
        "metadata": {
            "namespace": meta["namespace"],
            # Of two leaders in the same second one finds the name taken, and the wake asked for already.
            "name": f"request-{meta['name'][:200]}-{now:%Y%m%d-%H%M%S}",
            "ownerReferences": [owner],
        },
        "spec": {
            "target": {"kind": "Environment", "name": meta["name"]},
            "state": "Awake",
            "until": write_time(until),
            "reason": reason_of(request.title),
        },
    }
