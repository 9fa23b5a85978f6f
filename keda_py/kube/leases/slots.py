"""What a slot's Lease says: its holder, and the view of all slots that the holder acts on. Plain dicts; no I/O.

Next in the flow: `membership.py`, which competes for slots; `core/sharding/share.py` says what follows from them.
"""

from dataclasses import replace
from datetime import datetime

from keda_py.core.sharding.share import Slot, View
from keda_py.kube.leases.lease_record import SLOT_SECONDS, LeaseSpec, Marks, held, holder_of, released
from keda_py.kube.resources import Obj

VIEW_ANNOTATION = "keda-py.dev/view"
DEADLINE_SECONDS, RETRY_SECONDS = 4.5, 1.0
UNKNOWN = "?"
"""The holder of a Lease that is not there: a replica that has not heard yet that it was deleted may act on it."""


def slot_spec(main: LeaseSpec, number: int) -> LeaseSpec:
    """Of a slot: shorter than the leader's, so that what a dead replica owned has a new owner in under ten seconds."""
    return replace(
        main,
        name=f"{main.name}-shard-{number}",
        duration=min(main.duration, SLOT_SECONDS),
        renew_deadline=min(main.renew_deadline, DEADLINE_SECONDS),
        retry_period=min(main.retry_period, RETRY_SECONDS),
    )


def shortest_write(main: LeaseSpec) -> float:
    """Seconds that a write may take, so that none lands after another replica may write the same."""
    return (slot_spec(main, 0) if main.shards else main).request_seconds


def read_slot(lease: Obj | None) -> Slot:
    """What is known of it; a view that cannot be read is none."""
    if lease is None:
        return Slot(holder=UNKNOWN)
    holder = holder_of(lease)
    if holder is None:
        return Slot()
    text = str((lease["metadata"].get("annotations") or {}).get(VIEW_ANNOTATION, ""))
    return Slot(holder=holder.identity, view=_view(text), address=holder.address)


def held_slot(lease: Obj | None, spec: LeaseSpec, address: str, now: datetime, view: View) -> Obj:
    """The slot taken or renewed by us, and the view that we act on."""
    return held(lease, spec, address, now, _marks(view))


def vacant_slot(lease: Obj | None, spec: LeaseSpec, now: datetime) -> Obj:
    """The slot free for any replica."""
    return released(lease, spec, now, _marks(frozenset()))


def _marks(view: View) -> Marks:
    return {VIEW_ANNOTATION: ",".join(str(number) for number in sorted(view))}


def _view(text: str) -> View:
    numbers = text.split(",") if text else []
    return frozenset(map(int, numbers)) if all(number.isdecimal() for number in numbers) else frozenset()
