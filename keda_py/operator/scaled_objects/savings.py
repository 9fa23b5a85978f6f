"""The account of what an object's sleep saves (`core/savings/`), carried from look to look.

It is stored with the writes that a changed reason causes (`status.py`), never by itself.
"""

from datetime import datetime

from keda_py.apis.foreign import map_at
from keda_py.core.savings.ledger import Ledger, note, read_ledger
from keda_py.core.spec import ScalingSpec
from keda_py.operator.scaled_objects.report import Look
from keda_py.operator.scaled_objects.state import ObjectState
from keda_py.operator.scaled_objects.status import SAVINGS


def account_look(state: ObjectState, look: Look) -> Ledger | None:
    """Up to a look; None while no count has been known."""
    seen = look.seen.replicas
    count = seen if look.scaled_to is None else look.scaled_to
    return _account(state, look.at, count, max(look.spec.min_replicas, 1), seen)


def account_pause(state: ObjectState, spec: ScalingSpec, now: datetime, replicas: int | None) -> Ledger | None:
    """Up to a pause at that count, None: as it was. What was its minimum before counts: an overlay's is 0."""
    stored = _stored(state)
    instead = stored.instead if stored is not None else max(spec.min_replicas, 1)
    return _account(state, now, replicas if replicas is not None or stored is None else stored.count, instead)


def _account(
    state: ObjectState, now: datetime, count: int | None, instead: int, before: int | None = None
) -> Ledger | None:
    stored = _stored(state)
    return stored if count is None else note(stored, now, count=count, instead=instead, before=before)


def _stored(state: ObjectState) -> Ledger | None:
    """What is remembered, after a start what the status says."""
    return state.ledger or read_ledger(map_at(dict(state.status), SAVINGS))
