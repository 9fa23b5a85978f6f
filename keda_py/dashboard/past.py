"""Past day of an object, as far as it is on record: when it was up, and since when that is known. Pure.

An object's history has the changes of a day, of which the oldest make room for later ones, and none of a time in which
no operator ran; an Environment says since when it is as it is. What is older is unknown, and shown as unknown.
How many replicas there were between two changes is the HPA's, and not on record.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from keda_py.apis.foreign import map_at, text_at
from keda_py.core.environment.decision.state import Phase
from keda_py.core.values.times import parse_time, write_time
from keda_py.errors import ConfigError

BEHIND = timedelta(days=1)
Fields = Mapping[str, Any]
_UP = (Phase.AWAKE.value, Phase.WAKING.value, Phase.FALLING_ASLEEP.value)


def past_of_object(live: Fields, changes: Sequence[Fields], now: datetime) -> Fields:
    """Draw the past from `changes` of its history, oldest first, without those that have no counts (ScaledJobs)."""
    begins = now - BEHIND
    counted = [(at, one) for one in changes if (at := _time(one, "time")) and _count(one) is not None]
    known = max(counted[0][0], begins) if counted else now
    return _past(live, known, list(_spans(counted, begins, now)), now)


def past_of_environment(live: Fields, now: datetime) -> Fields:
    """Draw the past of an Environment since its last change of phase."""
    status = map_at(live, "status")
    since = _time(status, "phaseSince")
    if since is None or since > now:
        return _past(live, now, [], now)
    begins = max(since, now - BEHIND)
    up = text_at(status, "phase") in _UP
    return _past(live, begins, [_span(begins, now)] if up and begins < now else [], now)


def _past(live: Fields, known: datetime, up: list[Fields], now: datetime) -> Fields:
    """Build the past; `unknown` is the span from its creation to the first record, None if there is no such span."""
    created = _time(map_at(live, "metadata"), "creationTimestamp")
    begins = max(now - BEHIND, created or now - BEHIND)
    return {"up": up, "unknown": _span(begins, known) if begins < known else None}


def _spans(counted: Sequence[tuple[datetime, Fields]], begins: datetime, now: datetime) -> Iterator[Fields]:
    since: datetime | None = None
    for at, change in counted:
        up = bool(_count(change))
        if up and since is None:
            since = at
        elif not up and since is not None:
            if at > begins and at > since:
                yield _span(max(since, begins), at)
            since = None
    if since is not None and since < now:
        yield _span(max(since, begins), now)


def _span(begins: datetime, ends: datetime) -> Fields:
    return {"from": write_time(begins), "to": write_time(ends)}


def _count(change: Fields) -> int | None:
    count = map_at(change, "replicas").get("after")
    return count if isinstance(count, int) else None


def _time(body: Fields, name: str) -> datetime | None:
    try:
        return parse_time(text_at(body, name), field=name)
    except ConfigError:
        return None
