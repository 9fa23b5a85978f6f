"""The changes of the last day, kept in the object's own status: what outlives the process that decided.

In: entries of the decision record that changed something. Out: `status.kedaPyHistory`, which `explain/insight.py`
serves before what this process has seen itself, and `keda-py explain -A --since` reads of all objects. It needs no
right and no object more, and almost no write: it goes along with what is written anyhow (`controller/status.py`). An
object that changes all the time, and whatever writes nothing of its own, is written for it once in five minutes at
most. The bytes are bounded for each object; what is stored is only ever told of the object in whose status it stands.

A change has one form, the insight's (`record.py`), of which a few fields are stored. The cache, and what is remembered
of an object, keep its changes packed (`apis/squeezed.py`): parsed they take forty times as much room, and few looks
read them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import isfinite
from typing import Any

import orjson

from keda_py.apis.foreign import list_at, map_at, maps_at, text_at
from keda_py.apis.squeezed import LONG, pack, unpack
from keda_py.core.values.times import write_time
from keda_py.kube.status import list_in
from keda_py.operator.decisions.record import Entry, describe

HISTORY = "kedaPyHistory"
"""Of the status; beside `kedaPy`, which says what holds now and stays short."""
MOST_ENTRIES = 32
MOST_BYTES = 4096
MOST_TRIGGERS = 3
MOST_CHARACTERS = 120
PAUSE_SECONDS = 300.0
# An object with more changes than that in a pause has them written once at its end, not with every write.
LIVELY_CHANGES = 6

NO_CHANGES = pack(())
Change = Mapping[str, Any]
"""One change as it stands in the status; an entry of the insight with fewer fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionHistory:
    """The changes of one object; from `due` on (monotonic) they may cause a write of their own."""

    packed: bytes = NO_CHANGES
    due: float = 0.0

    @property
    def changes(self) -> tuple[Change, ...]:
        """Oldest first."""
        return tuple(unpack(self.packed))


def with_entry(history: DecisionHistory, entry: Entry, keep: timedelta) -> DecisionHistory:
    """Add a change to a history; nothing is added if the first decision after a start repeats the last one."""
    change, before = compact(entry), history.changes
    if before and before[-1]["reason"] == change["reason"] and not entry.scaled:
        return history
    oldest = write_time(entry.at - keep)
    kept = [one for one in (*before, change) if one["time"] >= oldest]
    return DecisionHistory(packed=pack(_bounded(kept)), due=history.due)


def as_stored(history: DecisionHistory, stored: object) -> DecisionHistory:
    """The history in the bytes of the status where that tells the same, so that memory and cache hold them once."""
    if stored is history.packed or not isinstance(stored, bytes):
        return history
    return replace(history, packed=stored) if stored == history.packed or is_same_history(history, stored) else history


def is_same_history(history: DecisionHistory, stored: object) -> bool:
    """Whether a packed list is the history in other words: an API server writes numbers in its own way."""
    return isinstance(stored, bytes) and len(stored) <= LONG and unpack(stored) == unpack(history.packed)


def compact(entry: Entry) -> Change:
    """A change in the few fields that "why did it wake at three?" needs: triggers that were active or failed."""
    telling = [note for note in entry.triggers if note.active or note.error or note.in_fallback][:MOST_TRIGGERS]
    # The one who put it to sleep, or woke it, is told; any other cause is told by the reason.
    notes = [entry.because] if entry.ruled and entry.because else []
    return _stored_form({**describe(replace(entry, triggers=tuple(telling))), "notes": notes}) or {}


def _bounded(changes: list[Change]) -> list[Change]:
    """Drop changes until the rest fits: those that changed no count first, the oldest of them before others."""
    while len(changes) > MOST_ENTRIES or (len(changes) > 1 and len(orjson.dumps(changes)) > MOST_BYTES):
        quiet = (number for number, one in enumerate(changes[:-1]) if not has_scaled(one))
        del changes[next(quiet, 0)]
    return changes


def has_scaled(change: Change) -> bool:
    """Whether it changed a count."""
    counts = map_at(change, "replicas")
    return bool(counts.get("before") != counts.get("after") or map_at(change, "jobs").get("created"))


def is_lively(history: DecisionHistory, now: datetime) -> bool:
    """Whether it changes so often that not every write carries it."""
    recent = write_time(now - timedelta(seconds=PAUSE_SECONDS))
    return len([change for change in history.changes if change["time"] > recent]) > LIVELY_CHANGES


def read_history(status: Mapping[str, Any]) -> tuple[Change, ...]:
    """The history in a status, oldest first. Any client may have written it: entries of another form are left out."""
    forms = map(_stored_form, list_in(status, HISTORY)[-MOST_ENTRIES:])
    return tuple(sorted((form for form in forms if form), key=lambda form: str(form["time"])))


def _stored_form(change: Any) -> Change | None:
    """Return the fields of a change that are stored, cut to their bounds; None if it has no time or no reason."""
    reason = text_at(change, "reason")[:MOST_CHARACTERS]
    if (at := _instant(text_at(change, "time"))) is None or not reason:
        return None
    form: dict[str, Any] = {"time": at, "reason": reason}
    if triggers := list(_triggers_of(change)):
        form["triggers"] = triggers
    if isinstance(change.get("jobs"), dict):
        form["jobs"] = {name: _count(change["jobs"].get(name)) or 0 for name in ("running", "created")}
    else:
        counts = ((name, _count(map_at(change, "replicas").get(name))) for name in ("before", "after"))
        form["replicas"] = {name: count for name, count in counts if count is not None}
    if notes := [note[:MOST_CHARACTERS] for note in list_at(change, "notes")[:1] if isinstance(note, str)]:
        form["notes"] = notes
    error = text_at(change, "error")[:MOST_CHARACTERS]
    return form | ({"error": error} if error else {})


def _triggers_of(change: Any) -> Iterator[Change]:
    for _, one in zip(range(MOST_TRIGGERS), maps_at(change, "triggers"), strict=False):
        form: dict[str, Any] = {"metric": text_at(one, "metric")[:MOST_CHARACTERS], "active": one.get("active") is True}
        value, error = one.get("value"), text_at(one, "error")[:MOST_CHARACTERS]
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            form["value"] = value
        form |= {"error": error} if error else {}
        yield form | ({"fallback": True} if one.get("fallback") is True else {})


def in_full(change: Change) -> dict[str, Any]:
    """A change in the fields of the insight API, where the note of who asked for it is its cause."""
    document = {"triggers": [], **{name: value for name, value in change.items() if name != "notes"}}
    return document | ({"because": change["notes"][0], "ruled": True} if change.get("notes") else {})


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _instant(text: str) -> str | None:
    """The instant as we write it, None for an invalid one."""
    try:
        at = datetime.fromisoformat(text[:MOST_CHARACTERS])
        return write_time(at) if at.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
