"""Content of a slot's Lease: its holder, and the view of all slots that the holder acts on. Plain dicts; no I/O.

Next in the flow: `membership.py`, which competes for slots; `core/sharding/share.py` decides what follows from them.
"""

from dataclasses import replace
from datetime import datetime

from keda_py.core.sharding.share import Slot, View
from keda_py.kube.leases.lease_record import SLOT_SECONDS, LeaseSpec, Marks, held, holder_of, released
from keda_py.kube.resources import Obj

VIEW_ANNOTATION = "keda-py.dev/view"
DEADLINE_SECONDS, RETRY_SECONDS = 4.5, 1.0
# Holder of a missing Lease: a replica that has not noticed yet that it was deleted may still act on it.
UNKNOWN = "?"


def slot_spec(main: LeaseSpec, number: int) -> LeaseSpec:
    """Return the spec of a slot: shorter times than the leader's: a dead replica's objects have a new owner in 10 s."""
    return replace(
        main,
        name=f"{main.name}-shard-{number}",
        duration=min(main.duration, SLOT_SECONDS),
        renew_deadline=min(main.renew_deadline, DEADLINE_SECONDS),
        retry_period=min(main.retry_period, RETRY_SECONDS),
    )


def shortest_write(main: LeaseSpec) -> float:
    """Return the time limit of a write in seconds: none lands after another replica may write the same object."""
    return (slot_spec(main, 0) if main.shards else main).request_seconds


def read_slot(lease: Obj | None) -> Slot:
    """Read a slot; a malformed view counts as empty."""
    if lease is None:
        return Slot(holder=UNKNOWN)
    holder = holder_of(lease)
    if holder is None:
        return Slot()
    text = str((lease["metadata"].get("annotations") or {}).get(VIEW_ANNOTATION, ""))
    return Slot(holder=holder.identity, view=_view(text), address=holder.address)


def held_slot(lease: Obj | None, spec: LeaseSpec, address: str, now: datetime, view: View) -> Obj:
    """Return the slot taken or renewed by us, with the view that we act on."""
    return held(lease, spec, address, now, _marks(view))


def vacant_slot(lease: Obj | None, spec: LeaseSpec, now: datetime) -> Obj:
    """Return the slot without a holder."""
    return released(lease, spec, now, _marks(frozenset()))


def _marks(view: View) -> Marks:
    return {VIEW_ANNOTATION: ",".join(str(number) for number in sorted(view))}


def _view(text: str) -> View:
    numbers = text.split(",") if text else []
    return frozenset(map(int, numbers)) if all(number.isdecimal() for number in numbers) else frozenset()
